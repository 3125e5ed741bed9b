// A B+-tree of strings: inner nodes, leaves, and the strings that both point to, each placed by
// itself.
//
// A node has the head of each of its keys: the 8 bytes that follow the prefix which all keys have
// that a search can bring to the node (Graefe, "Modern B-tree techniques", 2011). A string is read
// where heads are equal, and at the end.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "database/btree.h"
#include "database/shares.h"
#include "database/string_keys.h"

namespace tierscope::database {

class StringBtree {
 public:
  using Options = BtreeOptions;
  static constexpr bool kOrdered = false;  // It does not scan.
  static constexpr std::array<std::string_view, 3> kParts{"inner", "leaves", "strings"};

  static std::array<std::size_t, 3> bytes(std::uint64_t count, const Options& options) {
    const Shape shape(options);
    const std::uint64_t leaves = rounded_up(count, shape.entries_loaded());
    std::uint64_t inner = 1;
    for (std::uint64_t nodes = leaves; nodes > 1; inner += nodes) {
      nodes = rounded_up(nodes, shape.children_loaded());
    }
    return {inner * options.inner_bytes, leaves * options.leaf_bytes,
            in_whole_lines(count * StringKey::kBytes)};
  }

  StringBtree(const std::array<std::byte*, 3>& memory, std::uint64_t /*count*/,
              const Options& options)
      : shape_(options),
        inner_(memory[0]),
        leaves_(memory[1]),
        strings_(reinterpret_cast<char*>(memory[2])) {}

  // Leaves of equally many entries; `slices` threads fill their shares of them. Strings lie in
  // random order.
  template <typename KeyAt>
  void load(std::uint64_t count, const KeyAt& key_at, std::size_t slice, std::size_t slices) {
    const Permutation order(count);
    const std::uint64_t leaves = rounded_up(count, shape_.entries_loaded());
    for (std::uint64_t at = leaves * slice / slices; at < leaves * (slice + 1) / slices; ++at) {
      const std::uint64_t first = count * at / leaves;
      const std::uint64_t end = count * (at + 1) / leaves;
      Leaf* const node = leaf(static_cast<std::uint32_t>(at));
      *node = {.count = static_cast<std::uint32_t>(end - first),
               .prefix = common_prefix(first == 0 ? kLeast : StringKey(key_at(first)),
                                       end == count ? kMost : StringKey(key_at(end)))};
      for (std::uint64_t i = first; i < end; ++i) {
        const StringKey key(key_at(i));
        const auto number = static_cast<std::uint32_t>(order.at(i));
        key.store(string(number));
        heads(node)[i - first] = key.head(node->prefix);
        values(node)[i - first] = value_of(key_at(i));
        strings(node)[i - first] = number;
      }
    }
    if (slice == 0) leaf_count_ = static_cast<std::uint32_t>(leaves);
  }

  // Inner nodes, a level after the other, over the leaves that were loaded.
  void finish_load() {
    std::uint32_t first = 0;  // Of the children, which are numbered in a row.
    for (std::uint32_t count = leaf_count_; count > 1; ++depth_) {
      const auto nodes = static_cast<std::uint32_t>(rounded_up(count, shape_.children_loaded()));
      const std::uint32_t level = inner_count_;
      const auto begin_of = [&](std::uint64_t at) {
        return static_cast<std::uint32_t>(count * at / nodes);
      };
      for (std::uint32_t at = 0; at < nodes; ++at) {
        const std::uint32_t begin = begin_of(at);
        const std::uint32_t end = begin_of(at + 1);
        Inner* const node = inner(inner_count_++);
        *node = {
            .count = end - begin - 1,
            .prefix = common_prefix(begin == 0 ? kLeast : StringKey(string(lowest(first + begin))),
                                    end == count ? kMost : StringKey(string(lowest(first + end))))};
        for (std::uint32_t child = begin; child < end; ++child) {
          children(node)[child - begin] = first + child;
          if (child == begin) continue;
          const std::uint32_t border = lowest(first + child);
          heads(node)[child - begin - 1] = StringKey(string(border)).head(node->prefix);
          strings(node)[child - begin - 1] = border;
        }
      }
      first = level;
      count = nodes;
    }
    root_ = first;
  }

  // The value of the string of a number; null where there is none.
  std::uint64_t* find(std::uint64_t number) const {
    const StringKey key(number);
    std::uint32_t at = root_;
    for (unsigned level = depth_; level > 0; --level) at = child_of(inner(at), key);
    Leaf* const node = leaf(at);
    const std::uint64_t head = key.head(node->prefix);
    const std::uint64_t* const held = heads(node);
    for (std::size_t place = below(held, node->count, head);
         place < node->count && held[place] == head; ++place) {
      if (key == StringKey(string(strings(node)[place]))) return values(node) + place;
    }
    return nullptr;
  }

 private:
  struct Inner {
    std::uint32_t count;   // Borders; one less than children.
    std::uint32_t prefix;  // Bytes that come before heads.
  };
  struct Leaf {
    std::uint32_t count;
    std::uint32_t prefix;
  };

  struct Shape {
    explicit Shape(const Options& options)
        : inner_bytes(options.inner_bytes),
          leaf_bytes(options.leaf_bytes),
          keys((options.inner_bytes - sizeof(Inner) - sizeof(std::uint32_t)) / 16),
          entries((options.leaf_bytes - sizeof(Leaf)) / 20) {}

    std::size_t children_loaded() const {
      return std::max<std::size_t>((keys + 1) * BtreeNodes::kFillPercent / 100, 2);
    }
    std::size_t entries_loaded() const {
      return std::max<std::size_t>(entries * BtreeNodes::kFillPercent / 100, 1);
    }

    std::size_t inner_bytes;
    std::size_t leaf_bytes;
    std::size_t keys;  // Of an inner node, at most: a head, a string's and a child's number each.
    std::size_t entries;  // Of a leaf, at most: a head, a value and a string's number each.
  };

  static constexpr StringKey kLeast{std::uint64_t{0}};
  static constexpr StringKey kMost{~std::uint64_t{0}};
  static constexpr std::size_t kAllCompared = 32;

  static std::uint64_t rounded_up(std::uint64_t count, std::uint64_t each) {
    return (count + each - 1) / each;
  }
  static std::size_t below(const std::uint64_t* held, std::size_t count, std::uint64_t head) {
    return count_before<kAllCompared>(count, [=](std::size_t i) { return held[i] < head; });
  }

  Inner* inner(std::uint32_t number) const {
    return reinterpret_cast<Inner*>(inner_ + number * shape_.inner_bytes);
  }
  Leaf* leaf(std::uint32_t number) const {
    return reinterpret_cast<Leaf*>(leaves_ + number * shape_.leaf_bytes);
  }
  char* string(std::uint32_t number) const {
    return strings_ + std::size_t{number} * StringKey::kBytes;
  }
  static std::uint64_t* heads(Inner* node) { return reinterpret_cast<std::uint64_t*>(node + 1); }
  static std::uint64_t* heads(Leaf* node) { return reinterpret_cast<std::uint64_t*>(node + 1); }
  std::uint32_t* strings(Inner* node) const {
    return reinterpret_cast<std::uint32_t*>(heads(node) + shape_.keys);
  }
  std::uint32_t* children(Inner* node) const { return strings(node) + shape_.keys; }
  std::uint64_t* values(Leaf* node) const { return heads(node) + shape_.entries; }
  std::uint32_t* strings(Leaf* node) const {
    return reinterpret_cast<std::uint32_t*>(values(node) + shape_.entries);
  }

  // Keys of a child are not below the border before it.
  std::uint32_t child_of(Inner* node, const StringKey& key) const {
    const std::uint64_t head = key.head(node->prefix);
    const std::uint64_t* const borders = heads(node);
    std::size_t place = below(borders, node->count, head);
    while (place < node->count && borders[place] == head &&
           key >= StringKey(string(strings(node)[place]))) {
      ++place;
    }
    return children(node)[place];
  }

  // The number of the least string below a node of the level that is loaded last.
  std::uint32_t lowest(std::uint32_t number) const {
    for (unsigned level = depth_; level > 0; --level) number = children(inner(number))[0];
    return strings(leaf(number))[0];
  }

  Shape shape_;
  std::byte* inner_;
  std::byte* leaves_;
  char* strings_;
  std::uint32_t root_ = 0;
  unsigned depth_ = 0;  // Levels of inner nodes; 0: the root is a leaf.
  std::uint32_t inner_count_ = 0;
  std::uint32_t leaf_count_ = 0;
};

using StringBtreeIndex = KeyedIndex<StringBtree>;

}  // namespace tierscope::database
