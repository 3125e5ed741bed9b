// A hash index: tags and entries, each placed by itself.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "database/hash_table.h"
#include "database/keyed_index.h"

namespace tierscope::database {

class HashIndexTable : public HashTable {
 public:
  static constexpr bool kOrdered = false;
  static constexpr std::array<std::string_view, 2> kParts{"tags", "entries"};

  // Whole groups, and an even number of cache lines of tags.
  static std::uint64_t groups(std::uint64_t count) { return (groups_for(count) + 3) / 4 * 4; }

  static std::array<std::size_t, 2> bytes(std::uint64_t count, const Options& /*options*/) {
    return {tag_bytes(groups(count)), entry_bytes(groups(count))};
  }

  HashIndexTable(const std::array<std::byte*, 2>& memory, std::uint64_t count,
                 const Options& /*options*/)
      : HashTable(memory[0], memory[1], groups(count)) {}

  // The first thread loads all: where keys go, others might be.
  template <typename KeyAt>
  void load(std::uint64_t count, const KeyAt& key_at, std::size_t slice, std::size_t /*slices*/) {
    if (slice != 0) return;
    constexpr std::uint64_t kAhead = 32;
    std::array<std::uint64_t, kAhead> keys{};
    for (std::uint64_t i = 0; i < count; i += kAhead) {
      const std::uint64_t now = std::min(kAhead, count - i);
      for (std::uint64_t k = 0; k < now; ++k) {
        keys[k] = key_at(i + k);
        prefetch_tags(hash(keys[k]));
      }
      for (std::uint64_t k = 0; k < now; ++k) insert(keys[k], value_of(keys[k]));
    }
  }
  void finish_load() {}

  void find_group(std::span<const std::uint64_t> keys, std::uint64_t** found) const {
    std::array<std::uint64_t, kMaxInterleave> hashes;  // NOLINT: filled below
    for (std::size_t i = 0; i < keys.size(); ++i) {
      hashes[i] = hash(keys[i]);
      prefetch_tags(hashes[i]);
    }
    for (std::size_t i = 0; i < keys.size(); ++i) prefetch_entry(hashes[i]);
    for (std::size_t i = 0; i < keys.size(); ++i) found[i] = find(keys[i], hashes[i]);
  }
};

using HashIndex = KeyedIndex<HashIndexTable>;

}  // namespace tierscope::database
