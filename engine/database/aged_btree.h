// B+-trees as insertions and deletions in random order leave them: leaves are partly filled, and
// lie in memory in the order in which they came to be.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "database/btree.h"
#include "database/index_spec.h"
#include "database/shared_btree.h"
#include "database/shares.h"

namespace tierscope::database {

// Loading inserts all keys, in random order among as many others; once all slices are loaded, aging
// deletes the others. A slice that aged before another is loaded would free leaves for its keys:
// how full leaves are would depend on which threads ran first.
class AgedSharedBtree : public SharedBtree {
 public:
  static constexpr bool kAged = true;
  using SharedBtree::SharedBtree;

  static std::array<std::size_t, 2> bytes(std::uint64_t count, Options options) {
    options.grows = true;
    return SharedBtree::bytes(2 * count, options);
  }

  template <typename KeyAt>
  void load(std::uint64_t count, const KeyAt& key_at, std::size_t slice, std::size_t slices) {
    if (slice == 0) size_ = count;
    const Permutation order(2 * count);
    const Ranks own = share_of(2 * count, slices, slice);
    for (std::uint64_t i = own.first; i < own.first + own.count; ++i) {
      const std::uint64_t at = order.at(i);
      const std::optional<std::uint64_t> key =
          at < count ? key_at(at) : between(count, key_at, at - count);
      if (key) insert(*key, value_of(*key));
    }
  }

  template <typename KeyAt>
  void age(std::uint64_t count, const KeyAt& key_at, std::size_t slice, std::size_t slices) {
    const Permutation order(2 * count);
    const Ranks own = share_of(2 * count, slices, slice);
    for (std::uint64_t i = own.first; i < own.first + own.count; ++i) {
      const std::uint64_t at = order.at(i);
      if (at < count) continue;
      const std::optional<std::uint64_t> key = between(count, key_at, at - count);
      if (key) erase(*key);
    }
  }

 private:
  // A number between two keys in order; none where they have none between them.
  template <typename KeyAt>
  static std::optional<std::uint64_t> between(std::uint64_t count, const KeyAt& key_at,
                                              std::uint64_t i) {
    const std::uint64_t low = key_at(i);
    const std::uint64_t high = i + 1 < count ? key_at(i + 1) : ~std::uint64_t{0};
    if (high - low < 2) return std::nullopt;
    return low + 1 + scaled(splitmix64_mixed(i + kSplitMix64Step), high - low - 1);
  }
};

// The same for threads that do not share a tree: nodes are alike in both.
class AgedBtree : public Btree {
 public:
  static constexpr bool kAged = true;
  AgedBtree(const std::array<std::byte*, 2>& memory, std::uint64_t count, const Options& options)
      : Btree(memory, count, options), made_(memory, count, options) {}

  static std::array<std::size_t, 2> bytes(std::uint64_t count, const Options& options) {
    return AgedSharedBtree::bytes(count, options);
  }

  template <typename KeyAt>
  void load(std::uint64_t count, const KeyAt& key_at, std::size_t slice, std::size_t slices) {
    made_.load(count, key_at, slice, slices);
  }
  template <typename KeyAt>
  void age(std::uint64_t count, const KeyAt& key_at, std::size_t slice, std::size_t slices) {
    made_.age(count, key_at, slice, slices);
  }
  // NOLINTNEXTLINE(bugprone-derived-method-shadowing-base-method): instead of loading inner nodes
  void finish_load() { BtreeNodes::operator=(made_.nodes()); }

 private:
  AgedSharedBtree made_;
};

}  // namespace tierscope::database
