// A hash table with open addressing: an array of 16-byte groups of tags, of which one comparison
// sees a whole group, and an array of entries.
//
// The design is that of Abseil's Swiss tables (https://abseil.io/about/design/swisstables) without
// deletion: a tag holds eight bits of its key's hash, 0 says that a slot is empty, and a probe goes
// on to the next group as long as it finds no empty slot.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "database/keys.h"
#include "protocol/constants.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tierscope::database {

struct Entry {
  Entry() = default;
  constexpr Entry(std::uint64_t its_key, std::uint64_t its_value)
      : value(its_value), key(its_key) {}

  std::uint64_t value;  // In front, as Highway sorts pairs (see run_sort.cpp).
  std::uint64_t key;
};

// Summed over entries, it is the same in every order.
constexpr std::uint64_t checksum(const Entry& entry) {
  return splitmix64_mixed(entry.key ^ splitmix64_mixed(entry.value));
}

// The slots of a group whose tags are some byte.
class SlotSet {
 public:
  static constexpr std::size_t kSlots = 16;

  SlotSet(const std::uint8_t* tags, std::uint8_t wanted) {
#if defined(__SSE2__)
    bits_ = equal(_mm_load_si128(reinterpret_cast<const __m128i*>(tags)), wanted);
#else
    for (std::size_t slot = 0; slot < kSlots; ++slot) {
      bits_ |= static_cast<std::uint32_t>(tags[slot] == wanted) << slot;
    }
#endif
  }

  // Of tags that were read as words.
  SlotSet(std::uint64_t low, std::uint64_t high, std::uint8_t wanted) {
#if defined(__SSE2__)
    bits_ = equal(_mm_set_epi64x(static_cast<std::int64_t>(high), static_cast<std::int64_t>(low)),
                  wanted);
#else
    for (std::size_t slot = 0; slot < kSlots; ++slot) {
      const std::uint64_t word = slot < kSlots / 2 ? low : high;
      const auto tag = static_cast<std::uint8_t>(word >> (slot % (kSlots / 2) * 8));
      bits_ |= static_cast<std::uint32_t>(tag == wanted) << slot;
    }
#endif
  }

  // Those of them among the first `count`.
  SlotSet among(std::size_t count) const {
    SlotSet found = *this;
    found.bits_ &= (std::uint32_t{1} << count) - 1;
    return found;
  }

  bool empty() const { return bits_ == 0; }
  std::size_t first() const { return static_cast<std::size_t>(std::countr_zero(bits_)); }
  void drop_first() { bits_ &= bits_ - 1; }

 private:
#if defined(__SSE2__)
  static std::uint32_t equal(__m128i tags, std::uint8_t wanted) {
    const __m128i found = _mm_cmpeq_epi8(tags, _mm_set1_epi8(static_cast<char>(wanted)));
    return static_cast<std::uint32_t>(_mm_movemask_epi8(found));
  }
#endif

  std::uint32_t bits_ = 0;
};

class HashTable {
 public:
  struct Options {};
  static constexpr std::size_t kSlots = SlotSet::kSlots;
  static constexpr double kMaxLoad = tables::kOpsMaxLoad;

  // Groups that hold so many keys at kMaxLoad.
  static std::uint64_t groups_for(std::uint64_t keys) {
    return static_cast<std::uint64_t>(static_cast<double>(keys) / (kMaxLoad * kSlots)) + 1;
  }
  static std::size_t tag_bytes(std::uint64_t groups) { return groups * kSlots; }
  static std::size_t entry_bytes(std::uint64_t groups) { return groups * kSlots * sizeof(Entry); }

  HashTable() = default;
  // Empty, in memory of that many bytes for each; both on a boundary of 64 bytes.
  HashTable(std::byte* tags, std::byte* entries, std::uint64_t groups)
      : tags_(reinterpret_cast<std::uint8_t*>(tags)),
        entries_(reinterpret_cast<Entry*>(entries)),
        groups_(groups) {
    std::memset(tags_, kEmpty, tag_bytes(groups));
  }

  std::uint64_t size() const { return size_; }

  // The high bits choose the group, the low ones are the tag: one multiplication mixes all of them.
  static std::uint64_t hash(std::uint64_t key) {
    const auto product =
        static_cast<unsigned __int128>(key ^ 0x2d358dccaa6c78a5ULL) * 0x8bb84b93962eacc9ULL;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }

  // Has the first group of a hash on its way to the caches.
  void prefetch_tags(std::uint64_t hashed) const {
    __builtin_prefetch(tags_ + scaled(hashed, groups_) * kSlots);
  }

  // Has the entry that is most likely the key's on its way.
  void prefetch_entry(std::uint64_t hashed) const {
    const std::uint64_t group = scaled(hashed, groups_);
    const SlotSet found(tags_ + group * kSlots, tag_of(hashed));
    if (!found.empty()) __builtin_prefetch(entries_ + group * kSlots + found.first());
  }

  // The value of a key; null where there is none.
  std::uint64_t* find(std::uint64_t key) const { return find(key, hash(key)); }

  std::uint64_t* find(std::uint64_t key, std::uint64_t hashed) const {
    return find_if(hashed, [key](const Entry& entry) { return entry.key == key; });
  }

  // Adds a key or gives it another value; the table has a slot left.
  void insert(std::uint64_t key, std::uint64_t value) {
    const std::uint64_t hashed = hash(key);
    if (std::uint64_t* const held = find(key, hashed)) {
      *held = value;
    } else {
      add(hashed, {key, value});
    }
  }

  // The value of the entry of this hash that is the one asked for; null where there is none.
  template <typename Asked>
  std::uint64_t* find_if(std::uint64_t hashed, const Asked& is_asked_for) const {
    const std::uint8_t tag = tag_of(hashed);
    for (std::uint64_t group = scaled(hashed, groups_);; group = after(group)) {
      const std::uint8_t* const tags = tags_ + group * kSlots;
      Entry* const entries = entries_ + group * kSlots;
      __builtin_prefetch(entries);  // Slots fill from the first one on: it is the likeliest line.
      for (SlotSet found(tags, tag); !found.empty(); found.drop_first()) {
        Entry& entry = entries[found.first()];
        if (is_asked_for(entry)) [[likely]] {
          return &entry.value;
        }
      }
      if (!SlotSet(tags, kEmpty).empty()) return nullptr;
    }
  }

  // Adds an entry whose key is not there; the table has a slot left.
  void add(std::uint64_t hashed, const Entry& entry) {
    std::uint64_t group = scaled(hashed, groups_);
    while (SlotSet(tags_ + group * kSlots, kEmpty).empty()) group = after(group);
    const std::size_t slot = group * kSlots + SlotSet(tags_ + group * kSlots, kEmpty).first();
    tags_[slot] = tag_of(hashed);
    entries_[slot] = entry;
    ++size_;
  }

 private:
  static constexpr std::uint8_t kEmpty = 0;

  static std::uint8_t tag_of(std::uint64_t hashed) {
    const auto low = static_cast<std::uint8_t>(hashed);
    return low == kEmpty ? 1 : low;
  }

  std::uint64_t after(std::uint64_t group) const { return group + 1 == groups_ ? 0 : group + 1; }

  std::uint8_t* tags_ = nullptr;
  Entry* entries_ = nullptr;
  std::uint64_t groups_ = 0;
  std::uint64_t size_ = 0;
};

}  // namespace tierscope::database
