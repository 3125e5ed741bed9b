// A B+-tree: inner nodes in one stretch of memory, leaves in another, so that either can be placed.
//
// Nodes are numbered within their stretch and named by 32-bit numbers. A node begins on a cache
// line. All leaves have the same depth, so lookups that are interleaved go down in step.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "database/keyed_index.h"
#include "database/version_lock.h"
#include "protocol/constants.h"
#include "sizes.h"

namespace tierscope::database {

struct BtreeOptions {
  std::size_t inner_bytes = 256;  // Of a node: a multiple of 64.
  std::size_t leaf_bytes = 512;
  bool grows = false;  // Keys are inserted one by one, which may leave nodes half full.
};

// The number of keys among `count` ascending ones for which before(number of the key) holds.
//
// Up to kAll keys are all compared. Of more, the last one of each block of 8 is compared, then the
// keys of one block: an eighth of the comparisons, and only two loads that wait for each other,
// where a binary search has log2(count). No branch depends on a key, so that none is mispredicted,
// and compilers make vector instructions of the loops (see simd.h).
template <std::size_t kAll, typename Before>
std::size_t count_before(std::size_t count, const Before& before) {
  constexpr std::size_t kBlock = 8;
  std::size_t first = 0;
  std::size_t end = count;
  if (count > kAll) {
    std::size_t blocks = 0;
    for (std::size_t last = kBlock; last <= count; last += kBlock) {
      blocks += static_cast<std::size_t>(before(last - 1));
    }
    first = blocks * kBlock;
    end = std::min(first + kBlock, count);
  }
  std::size_t found = first;
  for (std::size_t i = first; i < end; ++i) found += static_cast<std::size_t>(before(i));
  return found;
}

// What is common to trees of one thread and of several: the layout of nodes, and loading them.
class BtreeNodes {
 public:
  using Options = BtreeOptions;
  static constexpr bool kOrdered = true;
  static constexpr std::array<std::string_view, 2> kParts{"inner", "leaves"};
  // Of the entries that fit a node, as many as bulk loading fills, in percent: what is usual where
  // insertions follow.
  static constexpr std::size_t kFillPercent = tables::kOpsFillPercent;

  // Inner nodes and leaves.
  static std::array<std::size_t, 2> bytes(std::uint64_t count, const Options& options) {
    const Shape shape(options);
    const std::uint64_t least = options.grows ? (shape.keys + 1) / 2 : shape.children_loaded();
    const std::uint64_t leaves =
        options.grows ? count / (shape.entries / 2) + 2 : rounded_up(count, shape.entries_loaded());
    std::uint64_t inner = options.grows ? kMaxDepth : 1;
    for (std::uint64_t nodes = leaves; nodes > 1;) {
      nodes = options.grows ? nodes / least + 1 : rounded_up(nodes, least);
      inner += nodes;
    }
    return {inner * options.inner_bytes, leaves * options.leaf_bytes};
  }

  BtreeNodes(const std::array<std::byte*, 2>& memory, const Options& options)
      : shape_(options), inner_(memory[0]), leaves_(memory[1]) {
    leaf_count_ = 1;
    *leaf(0) = {.version = 0, .count = 0, .next = kNone, .unused = 0};
  }

  // Leaves of equally many entries; `slices` threads fill their shares of them.
  template <typename KeyAt>
  void load(std::uint64_t count, const KeyAt& key_at, std::size_t slice, std::size_t slices) {
    if (count == 0) return;
    const std::uint64_t leaves = rounded_up(count, shape_.entries_loaded());
    for (std::uint64_t at = leaves * slice / slices; at < leaves * (slice + 1) / slices; ++at) {
      const std::uint64_t first = count * at / leaves;
      const std::uint64_t last = count * (at + 1) / leaves;
      Leaf* const node = leaf(static_cast<std::uint32_t>(at));
      const bool is_last = at + 1 == leaves;
      *node = {.version = 0,
               .count = static_cast<std::uint32_t>(last - first),
               .next = is_last ? kNone : static_cast<std::uint32_t>(at + 1),
               .unused = 0};
      for (std::uint64_t i = first; i < last; ++i) {
        const std::uint64_t key = key_at(i);
        keys(node)[i - first] = key;
        values(node)[i - first] = value_of(key);
      }
    }
    if (slice != 0) return;
    size_ = count;
    leaf_count_ = static_cast<std::uint32_t>(leaves);
  }

  // Of the entries that fit the leaves, the share that they have; while nobody changes any.
  double fill() const {
    std::uint64_t held = 0;
    for (std::uint32_t number = 0; number < leaf_count_; ++number) held += leaf(number)->count;
    return static_cast<double>(held) /
           (static_cast<double>(leaf_count_) * static_cast<double>(shape_.entries));
  }

 protected:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  static constexpr std::size_t kMaxDepth = tables::kOpsMaxDepth;
  static constexpr std::size_t kAllCompared = 32;  // More are as fast by blocks.

  // Keys follow; then come children or values, as many as fit.
  struct Inner {
    std::uint32_t version;  // Of trees that threads share (see shared_btree.h).
    std::uint32_t count;    // Keys; one less than children.
  };
  struct Leaf {
    std::uint32_t version;
    std::uint32_t count;
    std::uint32_t next;  // The leaf with the next keys.
    std::uint32_t unused;
  };
  static_assert(sizeof(Inner) == 8 && sizeof(Leaf) == 16);

  struct Shape {
    explicit Shape(const Options& options)
        : inner_bytes(options.inner_bytes),
          leaf_bytes(options.leaf_bytes),
          keys((options.inner_bytes - sizeof(Inner) - sizeof(std::uint32_t)) /
               (sizeof(std::uint64_t) + sizeof(std::uint32_t))),
          entries((options.leaf_bytes - sizeof(Leaf)) / (2 * sizeof(std::uint64_t))) {}

    // Of a node that bulk loading fills.
    std::size_t children_loaded() const {
      return std::max<std::size_t>((keys + 1) * kFillPercent / 100, 2);
    }
    std::size_t entries_loaded() const {
      return std::max<std::size_t>(entries * kFillPercent / 100, 1);
    }

    std::size_t inner_bytes;
    std::size_t leaf_bytes;
    std::size_t keys;     // Of an inner node, at most.
    std::size_t entries;  // Of a leaf, at most.
  };

  static std::uint64_t rounded_up(std::uint64_t count, std::uint64_t each) {
    return (count + each - 1) / each;
  }

  Inner* inner(std::uint32_t number) const {
    return reinterpret_cast<Inner*>(inner_ + number * shape_.inner_bytes);
  }
  Leaf* leaf(std::uint32_t number) const {
    return reinterpret_cast<Leaf*>(leaves_ + number * shape_.leaf_bytes);
  }
  static std::uint64_t* keys(Inner* node) { return reinterpret_cast<std::uint64_t*>(node + 1); }
  static std::uint64_t* keys(Leaf* node) { return reinterpret_cast<std::uint64_t*>(node + 1); }
  static const std::uint64_t* keys(const Leaf* node) {
    return reinterpret_cast<const std::uint64_t*>(node + 1);
  }
  std::uint32_t* children(Inner* node) const {
    return reinterpret_cast<std::uint32_t*>(keys(node) + shape_.keys);
  }
  std::uint64_t* values(Leaf* node) const { return keys(node) + shape_.entries; }
  const std::uint64_t* values(const Leaf* node) const { return keys(node) + shape_.entries; }

  // All lines of a node of a level, 0 a leaf, at once: a search would wait for them one by one
  // (Chen et al., "Improving index performance through prefetching", SIGMOD 2001).
  void fetch_node(std::uint32_t number, unsigned level) const {
    const std::size_t bytes = level > 0 ? shape_.inner_bytes : shape_.leaf_bytes;
    const std::byte* const first = (level > 0 ? inner_ : leaves_) + number * bytes;
    for (std::size_t line = 0; line < bytes; line += kCacheLine) __builtin_prefetch(first + line);
  }

  static std::uint32_t share(std::uint32_t count, std::uint32_t at, std::uint32_t nodes) {
    return static_cast<std::uint32_t>(std::uint64_t{count} * at / nodes);
  }

  // Inner nodes, a level after the other, over the leaves that were loaded.
  void load_inner() {
    // The children of a level are numbered in a row; first_key says where each of them begins.
    std::uint32_t first = 0;
    std::uint32_t count = leaf_count_;
    while (count > 1) {
      const auto nodes = static_cast<std::uint32_t>(rounded_up(count, shape_.children_loaded()));
      const std::uint32_t level = inner_count_;
      for (std::uint32_t at = 0; at < nodes; ++at) {
        const std::uint32_t begin = share(count, at, nodes);
        const std::uint32_t end = share(count, at + 1, nodes);
        Inner* const node = inner(inner_count_++);
        *node = {.version = 0, .count = end - begin - 1};
        for (std::uint32_t child = begin; child < end; ++child) {
          children(node)[child - begin] = first + child;
          if (child > begin) keys(node)[child - begin - 1] = lowest(first + child, depth_);
        }
      }
      first = level;
      count = nodes;
      ++depth_;
    }
    root_ = first;
  }

  // The lowest key below a node so many levels above the leaves.
  std::uint64_t lowest(std::uint32_t number, unsigned level) const {
    for (; level > 0; --level) number = children(inner(number))[0];
    return keys(leaf(number))[0];
  }

  // Moves the upper half of a leaf to a new one of this number; returns the first key there. What
  // others may read meanwhile is written by words (see version_lock.h), here and below.
  std::uint64_t split(Leaf* node, std::uint32_t number) const {
    Leaf* const right = leaf(number);
    const std::uint32_t kept = node->count / 2;
    *right = {.version = 0, .count = node->count - kept, .next = node->next, .unused = 0};
    std::copy_n(keys(node) + kept, right->count, keys(right));
    std::copy_n(values(node) + kept, right->count, values(right));
    put(node->count, kept);
    put(node->next, number);
    return keys(right)[0];
  }

  // Moves what is above the key in the middle to a new node of this number; returns that key.
  std::uint64_t split(Inner* node, std::uint32_t number) const {
    Inner* const upper = inner(number);
    const std::uint32_t kept = node->count / 2;
    *upper = {.version = 0, .count = node->count - kept - 1};
    std::copy_n(keys(node) + kept + 1, upper->count, keys(upper));
    std::copy_n(children(node) + kept + 1, upper->count + 1, children(upper));
    put(node->count, kept);
    return keys(node)[kept];
  }

  // An inner node with two children.
  void make_top(std::uint32_t number, std::uint32_t left, std::uint64_t border,
                std::uint32_t right) const {
    Inner* const top = inner(number);
    *top = {.version = 0, .count = 1};
    keys(top)[0] = border;
    children(top)[0] = left;
    children(top)[1] = right;
  }

  void put_child(Inner* node, std::uint64_t border, std::uint32_t right) const {
    const std::uint64_t* const borders = keys(node);
    const std::size_t place =
        count_before<kAllCompared>(node->count, [=](std::size_t i) { return borders[i] < border; });
    put_among(keys(node), node->count, place, border);
    put_among(children(node), node->count + 1, place + 1, right);
    put(node->count, node->count + 1);
  }

  Shape shape_;
  std::byte* inner_;
  std::byte* leaves_;
  std::uint32_t root_ = 0;
  unsigned depth_ = 0;  // Levels of inner nodes; 0: the root is a leaf.
  std::uint32_t inner_count_ = 0;
  std::uint32_t leaf_count_ = 0;
  std::uint64_t size_ = 0;
};

class Btree : public BtreeNodes {
 public:
  Btree(const std::array<std::byte*, 2>& memory, std::uint64_t /*count*/, const Options& options)
      : BtreeNodes(memory, options) {}

  std::uint64_t size() const { return size_; }

  void finish_load() { load_inner(); }

  std::uint64_t* find(std::uint64_t key) const { return find_in(leaf(leaf_of(key)), key); }

  // All go down a level at a time; each has the node that it comes to fetched meanwhile.
  void find_group(std::span<const std::uint64_t> wanted, std::uint64_t** found) const {
    std::array<std::uint32_t, kMaxInterleave> at;  // NOLINT: filled below
    std::fill_n(at.begin(), wanted.size(), root_);
    for (unsigned level = depth_; level > 0; --level) {
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        at[i] = child_of(inner(at[i]), wanted[i]);
        fetch_node(at[i], level - 1);
      }
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) found[i] = find_in(leaf(at[i]), wanted[i]);
  }

  // Adds a key or gives it another value.
  void insert(std::uint64_t key, std::uint64_t value) {
    std::array<std::uint32_t, kMaxDepth> path;  // NOLINT: filled below
    std::uint32_t at = root_;
    for (unsigned level = depth_; level > 0; --level) {
      path[level] = at;
      at = child_of(inner(at), key);
    }
    Leaf* node = leaf(at);
    std::size_t place = place_in(node, key);
    if (place < node->count && keys(node)[place] == key) {
      values(node)[place] = value;
      return;
    }
    if (node->count == shape_.entries) {
      const std::uint32_t right = leaf_count_++;
      const std::uint64_t border = split(node, right);
      add_child(path, 1, border, right);
      if (key >= border) node = leaf(right);
      place = place_in(node, key);
    }
    make_room(keys(node), node->count, place) = key;
    make_room(values(node), node->count, place) = value;
    ++node->count;
    ++size_;
  }

  // Up to `length` entries from the first key on that is not below this one, in order.
  Scanned scan(std::uint64_t key, std::uint64_t length) const {
    std::uint32_t at = leaf_of(key);
    std::size_t place = place_in(leaf(at), key);
    Scanned found;
    while (at != kNone && length > 0) {
      const Leaf* const node = leaf(at);
      at = node->next;
      if (at != kNone) fetch_node(at, 0);
      const std::size_t end = std::min<std::uint64_t>(node->count, place + length);
      for (std::size_t i = place; i < end; ++i) found.sum += keys(node)[i] + values(node)[i];
      found.entries += end - std::min(place, end);
      length -= end - std::min(place, end);
      place = 0;
    }
    return found;
  }

 private:
  // The leaf that has the key, if any has.
  std::uint32_t leaf_of(std::uint64_t key) const {
    std::uint32_t at = root_;
    for (unsigned level = depth_; level > 0; --level) {
      fetch_node(at, level);
      at = child_of(inner(at), key);
    }
    fetch_node(at, 0);
    return at;
  }

  // Keys of a child are not below the key before it.
  std::uint32_t child_of(Inner* node, std::uint64_t key) const {
    const std::uint64_t* const borders = keys(node);
    return children(node)[count_before<kAllCompared>(
        node->count, [=](std::size_t i) { return borders[i] <= key; })];
  }

  // Of the first key that is not below this one.
  static std::size_t place_in(Leaf* node, std::uint64_t key) {
    const std::uint64_t* const held = keys(node);
    return count_before<kAllCompared>(node->count, [=](std::size_t i) { return held[i] < key; });
  }

  std::uint64_t* find_in(Leaf* node, std::uint64_t key) const {
    const std::size_t place = place_in(node, key);
    return place < node->count && keys(node)[place] == key ? values(node) + place : nullptr;
  }

  // The place for a new one among `count`, made by moving those behind it.
  template <typename T>
  static T& make_room(T* all, std::size_t count, std::size_t place) {
    std::copy_backward(all + place, all + count, all + count + 1);
    return all[place];
  }

  // A child of the inner node that the path has on this level split: `right` has its keys from
  // `border` on.
  void add_child(const std::array<std::uint32_t, kMaxDepth>& path, unsigned level,
                 std::uint64_t border, std::uint32_t right) {
    for (; level <= depth_; ++level) {
      Inner* const node = inner(path[level]);
      if (node->count < shape_.keys) {
        put_child(node, border, right);
        return;
      }
      const std::uint32_t number = inner_count_++;
      const std::uint64_t middle = split(node, number);
      put_child(border < middle ? node : inner(number), border, right);
      border = middle;
      right = number;
    }
    make_top(inner_count_, root_, border, right);
    root_ = inner_count_++;
    ++depth_;
  }
};

using BtreeIndex = KeyedIndex<Btree>;

}  // namespace tierscope::database
