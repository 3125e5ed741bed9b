// A hash table that threads read and change at once, of the design of hash_table.h. A group has 12
// slots; the last four of its 16 bytes of tags are its version (see version_lock.h), so that a
// lookup needs no line for the lock. Of those who insert, each holds the first group of its key, so
// that no key comes in twice. A deleted key leaves a tag that lookups pass and that insertions may
// take.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "database/hash_table.h"
#include "database/index_spec.h"
#include "database/version_lock.h"

namespace tierscope::database {

class SharedHashTable {
 public:
  using Options = HashTable::Options;
  static constexpr bool kOrdered = false;
  static constexpr std::array<std::string_view, 2> kParts{"tags", "entries"};
  static constexpr std::size_t kSlots = tables::kOpsSharedSlots;

  static std::array<std::size_t, 2> bytes(std::uint64_t count, const Options& /*options*/) {
    return {groups(count) * sizeof(Group), groups(count) * kSlots * sizeof(Entry)};
  }

  SharedHashTable(const std::array<std::byte*, 2>& memory, std::uint64_t count,
                  const Options& /*options*/)
      : groups_(reinterpret_cast<Group*>(memory[0])),
        entries_(reinterpret_cast<Entry*>(memory[1])),
        group_count_(groups(count)) {
    std::fill_n(groups_, group_count_, Group{});
  }

  template <typename KeyAt>
  void load(std::uint64_t count, const KeyAt& key_at, std::size_t slice, std::size_t slices) {
    const std::uint64_t last = count * (slice + 1) / slices;
    for (std::uint64_t i = count * slice / slices; i < last; ++i) {
      const std::uint64_t key = key_at(i);
      insert(key, value_of(key));
    }
  }
  void finish_load() {}

  // The value of a key.
  std::optional<std::uint64_t> find(std::uint64_t key) const {
    const Seen at = find_slot(key, HashTable::hash(key));
    return at.slot < kSlots ? std::optional(at.value) : std::nullopt;
  }

  // Adds a key or gives it another value; returns whether it is new. The table has a slot left.
  bool insert(std::uint64_t key, std::uint64_t value) {
    const std::uint64_t hashed = HashTable::hash(key);
    for (;;) {
      const VersionLock home = lock_of(scaled(hashed, group_count_));
      if (!home.lock(home.version())) continue;
      const std::optional<bool> is_new = insert_held(key, value, hashed);
      home.unlock();
      if (is_new) return *is_new;
    }
  }

  // Adds to a key's value; returns whether the key is there.
  bool add(std::uint64_t key, std::uint64_t amount) {
    return change(key, [amount](Group&, Entry& entry, std::size_t) {
      put(entry.value, entry.value + amount);
    });
  }

  // Takes a key out; returns whether it was there.
  bool erase(std::uint64_t key) {
    return change(key,
                  [](Group& group, Entry&, std::size_t slot) { group.put_tag(slot, kDeleted); });
  }

 private:
  static constexpr std::uint8_t kEmpty = 0;  // Once it is not, a slot is never empty again.
  static constexpr std::uint8_t kDeleted = 1;

  // Tags and the version, read and written as words.
  struct alignas(16) Group {
    std::uint64_t low = 0;
    std::uint32_t high = 0;
    std::uint32_t version = 0;

    SlotSet tagged(std::uint8_t tag) const {
      return SlotSet(peek(low), peek(high), tag).among(kSlots);
    }
    // Under the lock.
    void put_tag(std::size_t slot, std::uint8_t tag) {
      if (slot < sizeof(low)) {
        put(low, with_byte(low, slot, tag));
      } else {
        put(high, static_cast<std::uint32_t>(with_byte(high, slot - sizeof(low), tag)));
      }
    }

   private:
    static std::uint64_t with_byte(std::uint64_t word, std::size_t byte, std::uint8_t value) {
      return (word & ~(std::uint64_t{0xff} << byte * 8)) | std::uint64_t{value} << byte * 8;
    }
  };
  static_assert(sizeof(Group) == SlotSet::kSlots && kSlots + 4 == SlotSet::kSlots);

  // Where a key was found, and the group's version then.
  struct Seen {
    std::uint64_t group;
    std::uint32_t version;
    std::size_t slot;  // kSlots: nowhere.
    std::uint64_t value;
  };

  static std::uint64_t groups(std::uint64_t count) {
    const double each = HashTable::kMaxLoad * kSlots;
    return (static_cast<std::uint64_t>(static_cast<double>(count) / each) + 4) / 4 * 4;
  }

  static std::uint8_t tag_of(std::uint64_t hashed) {
    const auto low = static_cast<std::uint8_t>(hashed);
    return low <= kDeleted ? static_cast<std::uint8_t>(low + 2) : low;
  }

  VersionLock lock_of(std::uint64_t group) const { return VersionLock(groups_[group].version); }
  std::uint64_t after(std::uint64_t group) const {
    return group + 1 == group_count_ ? 0 : group + 1;
  }

  // The slot of a key in a group, while its version may change.
  std::size_t slot_in(std::uint64_t group, std::uint64_t key, std::uint8_t tag) const {
    const Entry* const entries = entries_ + group * kSlots;
    SlotSet found = groups_[group].tagged(tag);
    while (!found.empty() && peek(entries[found.first()].key) != key) found.drop_first();
    return found.empty() ? kSlots : found.first();
  }

  Seen find_slot(std::uint64_t key, std::uint64_t hashed) const {
    const std::uint8_t tag = tag_of(hashed);
    for (std::uint64_t group = scaled(hashed, group_count_);;) {
      __builtin_prefetch(entries_ + group * kSlots);
      const VersionLock lock = lock_of(group);
      Seen at{group, lock.version(), slot_in(group, key, tag), 0};
      if (at.slot < kSlots) at.value = peek(entries_[group * kSlots + at.slot].value);
      const bool last = at.slot < kSlots || !groups_[group].tagged(kEmpty).empty();
      if (!lock.is_still(at.version)) continue;
      if (last) return at;
      group = after(group);
    }
  }

  // While the key's first group is locked; nothing: another group has changed, or is locked.
  std::optional<bool> insert_held(std::uint64_t key, std::uint64_t value, std::uint64_t hashed) {
    const std::uint64_t home = scaled(hashed, group_count_);
    const std::uint8_t tag = tag_of(hashed);
    Seen free{.group = home, .version = 0, .slot = kSlots, .value = 0};
    for (std::uint64_t group = home;; group = after(group)) {
      Seen at{group, lock_of(group).now(), slot_in(group, key, tag), 0};
      if (group != home && VersionLock::is_locked(at.version)) return std::nullopt;
      const SlotSet empty = groups_[group].tagged(kEmpty);
      const SlotSet deleted = groups_[group].tagged(kDeleted);
      if (!lock_of(group).is_still(at.version)) return std::nullopt;
      if (at.slot < kSlots) {
        return write(at, home, key, value, tag) ? std::optional(false) : std::nullopt;
      }
      if (free.slot == kSlots && !(empty.empty() && deleted.empty())) {
        at.slot = deleted.empty() ? empty.first() : deleted.first();
        free = at;
      }
      if (!empty.empty()) {
        return write(free, home, key, value, tag) ? std::optional(true) : std::nullopt;
      }
    }
  }

  // Writes an entry to a group that is locked if it is `home`; false: the group has changed.
  bool write(const Seen& at, std::uint64_t home, std::uint64_t key, std::uint64_t value,
             std::uint8_t tag) {
    const VersionLock lock = lock_of(at.group);
    if (at.group != home && !lock.lock(at.version)) return false;
    Entry& entry = entries_[at.group * kSlots + at.slot];
    put(entry.key, key);
    put(entry.value, value);
    groups_[at.group].put_tag(at.slot, tag);
    if (at.group != home) lock.unlock();
    return true;
  }

  template <typename Change>
  bool change(std::uint64_t key, const Change& how) {
    const std::uint64_t hashed = HashTable::hash(key);
    for (;;) {
      const Seen at = find_slot(key, hashed);
      if (at.slot == kSlots) return false;
      const VersionLock lock = lock_of(at.group);
      if (!lock.lock(at.version)) continue;
      how(groups_[at.group], entries_[at.group * kSlots + at.slot], at.slot);
      lock.unlock();
      return true;
    }
  }

  Group* groups_;
  Entry* entries_;
  std::uint64_t group_count_;
};

}  // namespace tierscope::database
