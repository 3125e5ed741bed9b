// A hash index of strings: tags, entries, and the strings that entries point to, each placed by
// itself.
#pragma once

#include <array>
#include <string_view>

#include "database/hash_index.h"
#include "database/shares.h"
#include "database/string_keys.h"

namespace tierscope::database {

// Of an entry, the key is the number of its string in the order in which strings lie.
class StringHashTable {
 public:
  using Options = HashTable::Options;
  static constexpr bool kOrdered = false;
  static constexpr std::array<std::string_view, 3> kParts{"tags", "entries", "strings"};

  static std::array<std::size_t, 3> bytes(std::uint64_t count, const Options& options) {
    const auto [tags, entries] = HashIndexTable::bytes(count, options);
    return {tags, entries, in_whole_lines(count * StringKey::kBytes)};
  }

  StringHashTable(const std::array<std::byte*, 3>& memory, std::uint64_t count,
                  const Options& /*options*/)
      : table_(memory[0], memory[1], HashIndexTable::groups(count)),
        strings_(reinterpret_cast<char*>(memory[2])) {}

  // The first thread loads all: where keys go, others might be. Strings lie in random order.
  template <typename KeyAt>
  void load(std::uint64_t count, const KeyAt& key_at, std::size_t slice, std::size_t /*slices*/) {
    if (slice != 0 || count == 0) return;
    const Permutation order(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t number = order.at(i);
      const StringKey key(key_at(i));
      key.store(strings_ + number * StringKey::kBytes);
      table_.add(hash_of(key), {number, value_of(key_at(i))});
    }
  }
  void finish_load() {}

  // The value of the string of a number; null where there is none.
  std::uint64_t* find(std::uint64_t number) const {
    const StringKey key(number);
    return table_.find_if(hash_of(key), [&](const Entry& entry) {
      return key == StringKey(strings_ + entry.key * StringKey::kBytes);
    });
  }

 private:
  static std::uint64_t hash_of(const StringKey& key) {
    const std::uint64_t last = HashTable::hash(key.head(16));
    return HashTable::hash(key.head(0) ^ HashTable::hash(key.head(8) ^ last));
  }

  HashTable table_;
  char* strings_;
};

using StringHashIndex = KeyedIndex<StringHashTable>;

}  // namespace tierscope::database
