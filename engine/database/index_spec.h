// What threads do with an index, over which keys.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "database/keys.h"
#include "protocol/constants.h"

namespace tierscope::database {

enum class IndexWork { kLookup, kInsert, kUpdate, kScan };

// Of 100 operations on an index that threads share, how many are which; the others are lookups.
struct Mix {
  unsigned updates = 0;
  unsigned inserts = 0;
  unsigned deletes = 0;
  unsigned scans = 0;
  unsigned modifies = 0;  // A lookup, then an update of the same key.
};

struct IndexSpec {
  IndexWork work;
  std::shared_ptr<const Keys> keys;
  Distribution distribution{};
  std::size_t threads = 1;
  std::size_t interleave = 1;  // Lookups that one thread has under way; 1..kMaxInterleave.
  std::size_t scan_length = 100;
  Mix mix{};  // Of an index that threads share, in place of `work`.

  bool writes() const { return work == IndexWork::kInsert || work == IndexWork::kUpdate; }
};

inline constexpr std::size_t kMaxInterleave = tables::kOpsMaxInterleave;

// What a range scan went over.
struct Scanned {
  std::uint64_t entries = 0;
  std::uint64_t sum = 0;  // Of keys and values.

  bool operator==(const Scanned&) const = default;
};

// Every eighth of the ranks of a table is held back, to be inserted.
inline constexpr std::uint64_t kHeldBack = 8;
constexpr std::uint64_t held_back(std::uint64_t count) { return count / kHeldBack; }
constexpr std::uint64_t loaded_rank(std::uint64_t i) { return i + i / (kHeldBack - 1); }
constexpr std::uint64_t held_back_rank(std::uint64_t i) { return i * kHeldBack + kHeldBack - 1; }

// 0..count-1, each once, in random order.
class Permutation {
 public:
  explicit Permutation(std::uint64_t count) : order_(std::bit_ceil(count)), count_(count) {}

  // Number i of them, i < count.
  std::uint64_t at(std::uint64_t i) const {
    do {
      for (int round = 0; round < 2; ++round) {
        std::uint64_t state = i;
        i = order_.next(state);
      }
    } while (i >= count_);
    return i;
  }

 private:
  RandomOrder order_;
  std::uint64_t count_;
};

}  // namespace tierscope::database
