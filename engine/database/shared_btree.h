// A B+-tree that threads read and change at once, by optimistic lock coupling: each node has a
// version. Readers lock nothing; writers lock the leaf that they change, and where it splits its
// parent, too. A full node splits on the way down, so that its parent always has room.
//
// Nodes are never taken out, not even empty leaves: the keys of their range may come back, and
// keys are finitely many (see shared_index.h), which bounds the leaves as if none was deleted.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>

#include "database/btree.h"
#include "database/version_lock.h"

namespace tierscope::database {

class SharedBtree : public BtreeNodes {
 public:
  SharedBtree(const std::array<std::byte*, 2>& memory, std::uint64_t /*count*/,
              const Options& options)
      : BtreeNodes(memory, options) {}

  // Where keys were inserted in place of loading, inner nodes are there.
  void finish_load() {
    if (inner_count_ > 0) return;
    load_inner();
    top_ = packed(root_, depth_);
  }

  // The value of a key.
  std::optional<std::uint64_t> find(std::uint64_t key) const {
    for (;;) {
      const Seen at = leaf_of(key);
      const Place place = place_of(at, key);
      const std::uint64_t value = place.held ? peek(values(leaf(at.number))[place.number]) : 0;
      if (leaf_lock(at).is_still(at.version))
        return place.held ? std::optional(value) : std::nullopt;
    }
  }

  // Adds a key or gives it another value; returns whether it is new.
  bool insert(std::uint64_t key, std::uint64_t value) {
    for (;;) {
      const std::optional<Seen> at = leaf_with_room(key);
      if (!at) continue;
      const Place place = place_of(*at, key);
      const VersionLock lock = leaf_lock(*at);
      if (!lock.lock(at->version)) continue;
      Leaf* const node = leaf(at->number);
      if (place.held) {
        put(values(node)[place.number], value);
      } else {
        put_among(keys(node), node->count, place.number, key);
        put_among(values(node), node->count, place.number, value);
        put(node->count, node->count + 1);
      }
      lock.unlock();
      return !place.held;
    }
  }

  // Adds to a key's value; returns whether the key is there.
  bool add(std::uint64_t key, std::uint64_t amount) {
    return change(key, [this, amount](Leaf* node, std::size_t place) {
      put(values(node)[place], values(node)[place] + amount);
    });
  }

  // Takes a key out; returns whether it was there.
  bool erase(std::uint64_t key) {
    return change(key, [this](Leaf* node, std::size_t place) {
      take_out(keys(node), node->count, place);
      take_out(values(node), node->count, place);
      put(node->count, node->count - 1);
    });
  }

  // Up to `length` entries from the first key on that is not below this one. What a leaf has is of
  // one moment; what several have is not.
  Scanned scan(std::uint64_t key, std::uint64_t length) const {
    Seen at = leaf_of(key);
    Scanned found;
    while (length > found.entries) {
      const Leaf* const node = leaf(at.number);
      const std::uint32_t next = peek(node->next);
      const std::size_t place = found.entries == 0 ? place_of(at, key).number : 0;
      const std::size_t end =
          std::min<std::uint64_t>(count_of(node), place + length - found.entries);
      Scanned here;
      for (std::size_t i = place; i < end; ++i, ++here.entries) {
        here.sum += peek(keys(node)[i]) + peek(values(node)[i]);
      }
      const VersionLock lock = leaf_lock(at);
      if (!lock.is_still(at.version)) {  // Keys leave it to the right only: it is read again.
        at.version = lock.version();
        continue;
      }
      found = {found.entries + here.entries, found.sum + here.sum};
      if (next == kNone) break;
      fetch_node(next, 0);
      at = {next, VersionLock(leaf(next)->version).version()};
    }
    return found;
  }

  // What a tree of one thread needs to go on with it; while nobody changes any.
  const BtreeNodes& nodes() {
    const std::uint64_t top = top_.load(std::memory_order_acquire);
    root_ = static_cast<std::uint32_t>(top);
    depth_ = depth_of(top);
    return *this;
  }

 private:
  // A node as it was when it had this version.
  struct Seen {
    std::uint32_t number;
    std::uint32_t version;
  };
  struct Place {
    std::size_t number;  // Of the first key that is not below.
    bool held;           // It is the key.
  };

  // Words are compared one by one, so that few are best.
  static constexpr std::size_t kAllWords = 8;

  static std::uint64_t packed(std::uint32_t root, unsigned depth) {
    return std::uint64_t{depth} << 32 | root;
  }
  static unsigned depth_of(std::uint64_t top) { return static_cast<unsigned>(top >> 32); }

  VersionLock leaf_lock(Seen at) const { return VersionLock(leaf(at.number)->version); }
  VersionLock lock_of(std::uint32_t number, unsigned level) const {
    return VersionLock(level == 0 ? leaf(number)->version : inner(number)->version);
  }

  // What is read while others write may be any number.
  std::size_t count_of(const Leaf* node) const {
    return std::min<std::size_t>(peek(node->count), shape_.entries);
  }
  std::size_t count_of(const Inner* node) const {
    return std::min<std::size_t>(peek(node->count), shape_.keys);
  }

  Place place_of(Seen at, std::uint64_t key) const {
    const Leaf* const node = leaf(at.number);
    const std::uint64_t* const held = keys(node);
    const std::size_t count = count_of(node);
    const std::size_t place =
        count_before<kAllWords>(count, [=](std::size_t i) { return peek(held[i]) < key; });
    return {place, place < count && peek(held[place]) == key};
  }

  // The root, with the number that names it and its level; none: another one took its place.
  std::optional<Seen> root(std::uint64_t top) const {
    const auto number = static_cast<std::uint32_t>(top);
    const Seen at{number, lock_of(number, depth_of(top)).version()};
    return top_.load(std::memory_order_acquire) == top ? std::optional(at) : std::nullopt;
  }

  // The child that has the key of an inner node on this level; none: the node has changed.
  std::optional<Seen> child(Seen at, unsigned level, std::uint64_t key) const {
    Inner* const node = inner(at.number);
    const std::uint64_t* const borders = keys(node);
    const std::size_t place = count_before<kAllWords>(
        count_of(node), [=](std::size_t i) { return peek(borders[i]) <= key; });
    const std::uint32_t number = peek(children(node)[place]);
    const VersionLock lock(node->version);
    if (!lock.is_still(at.version)) return std::nullopt;
    fetch_node(number, level - 1);
    const Seen below{number, lock_of(number, level - 1).version()};
    return lock.is_still(at.version) ? std::optional(below) : std::nullopt;
  }

  // The leaf of a key, at a version at which it was.
  Seen leaf_of(std::uint64_t key) const {
    for (;;) {
      const std::uint64_t top = top_.load(std::memory_order_acquire);
      std::optional<Seen> at = root(top);
      for (unsigned level = depth_of(top); at && level > 0; --level) at = child(*at, level, key);
      if (at) return *at;
    }
  }

  // The same for a key that is inserted; none: a node on its way was full or has changed.
  std::optional<Seen> leaf_with_room(std::uint64_t key) {
    const std::uint64_t top = top_.load(std::memory_order_acquire);
    std::optional<Seen> above;
    std::optional<Seen> at = root(top);
    for (unsigned level = depth_of(top); at; --level) {
      const bool full = level == 0 ? count_of(leaf(at->number)) == shape_.entries
                                   : count_of(inner(at->number)) == shape_.keys;
      if (full) {
        split_node(above, *at, level);
        return std::nullopt;
      }
      if (level == 0) return at;
      above = at;
      at = child(*at, level, key);
    }
    return std::nullopt;
  }

  // Splits a full node, whose parent has room; the root has none. Does nothing where one of them
  // has changed.
  void split_node(const std::optional<Seen>& above, Seen at, unsigned level) {
    const VersionLock own = lock_of(at.number, level);
    if (above && !lock_of(above->number, level + 1).lock(above->version)) return;
    if (own.lock(at.version)) {
      const std::uint32_t right = next_number(level == 0 ? leaf_count_ : inner_count_);
      const std::uint64_t border =
          level == 0 ? split(leaf(at.number), right) : split(inner(at.number), right);
      if (above) {
        put_child(inner(above->number), border, right);
      } else {
        const std::uint32_t root = next_number(inner_count_);
        make_top(root, at.number, border, right);
        top_.store(packed(root, level + 1), std::memory_order_release);
      }
      own.unlock();
    }
    if (above) lock_of(above->number, level + 1).unlock();
  }

  static std::uint32_t next_number(std::uint32_t& count) {
    return std::atomic_ref(count).fetch_add(1, std::memory_order_relaxed);
  }

  template <typename Change>
  bool change(std::uint64_t key, const Change& how) {
    for (;;) {
      const Seen at = leaf_of(key);
      const Place place = place_of(at, key);
      const VersionLock lock = leaf_lock(at);
      if (!place.held) {
        if (lock.is_still(at.version)) return false;
      } else if (lock.lock(at.version)) {
        how(leaf(at.number), place.number);
        lock.unlock();
        return true;
      }
    }
  }

  std::atomic<std::uint64_t> top_{0};  // The root's number, and how many levels are below it.
};

}  // namespace tierscope::database
