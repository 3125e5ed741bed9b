// Point reads of a log-structured merge tree: sorted runs on levels, each larger than the one above
// by a fixed ratio and most often on a slower tier. A read asks the levels from the top on: a Bloom
// filter says whether a level may have the key, fence pointers (the first key of each block) in
// which block, and a binary search of the block finds it.
#pragma once

#include <array>
#include <deque>
#include <string_view>

#include "database/bloom_filter.h"
#include "database/hash_table.h"
#include "database/simd.h"
#include "database/structure.h"
#include "protocol/constants.h"

namespace tierscope::database {

inline constexpr std::size_t kLevels = tables::kOpsLevels;

struct LsmTreeSpec {
  std::uint64_t keys = 0;    // Of all levels; at least those of a cycle, see LsmTree, a thread.
  std::uint64_t ratio = 10;  // Of a level's keys to those of the level above.
  double misses = 0;         // Of lookups, those of keys that no level has; 0..1.
  Distribution distribution{};
  std::size_t threads = 1;
};

// Keys come in cycles of 1 + r + r^2 + r^3 by their rank, of which r^l are on level l: so each
// level holds keys of the whole range, and what it holds is known. A unit is a lookup.
class LsmTree : public Structure {
 public:
  static constexpr std::array<std::string_view, 2 + kLevels> kParts{"filters", "fences", "level0",
                                                                    "level1",  "level2", "level3"};
  static constexpr std::size_t kBlock = tables::kOpsBlock;  // Bytes, as in RocksDB.
  static constexpr std::uint64_t kBlockKeys = kBlock / sizeof(Entry);

  static std::uint64_t cycle_of(std::uint64_t ratio) {
    return 1 + ratio + ratio * ratio + ratio * ratio * ratio;
  }

  explicit LsmTree(const LsmTreeSpec& spec);

  std::vector<Part> parts() const override;
  void build(Memory memory, const OnThreads& on_threads) override;
  void work(std::size_t thread, std::uint64_t units) override;
  std::string_view isa() const override { return name_of(Simd::kBaseline); }
  std::string verify(const OnThreads& on_threads) override;

  // The value of a key, and the level it is on.
  struct Found {
    const std::uint64_t* value = nullptr;  // Null where no level has it.
    std::size_t level = kLevels;
    std::size_t blocks = 0;  // That were searched; a filter let a key pass for all but the last.
  };
  Found find(std::uint64_t key) const;

  std::uint64_t keys_on(std::size_t level) const { return ranks_on(level, spec_.keys); }

 private:
  struct Level {
    BloomFilter filter;
    std::uint64_t* fences = nullptr;
    Entry* entries = nullptr;
    std::uint64_t count = 0;
  };
  struct alignas(64) Thread {
    KeyStream stream;
    std::uint64_t luck = 0;  // A generator's state.
    std::uint64_t done = 0;
    std::uint64_t absent = 0;  // Of those, keys that no level has.
    std::uint64_t wrong = 0;   // Answers that differ from what they have to be.
    std::uint64_t blocks = 0;  // Searched.
    std::array<std::uint64_t, kLevels + 1> found{};  // By level; the last: nowhere.
  };

  std::uint64_t cycle() const { return cycle_of(spec_.ratio); }
  std::size_t level_of(std::uint64_t rank) const;
  // How many of the first `ranks` keys are on a level.
  std::uint64_t ranks_on(std::size_t level, std::uint64_t ranks) const;
  std::size_t fence_bytes(std::size_t level) const;
  void load(Ranks ranks);
  void compare(Ranks ranks) const;

  LsmTreeSpec spec_;
  Keys keys_;
  std::array<Level, kLevels> levels_{};
  std::deque<Thread> threads_;
};

}  // namespace tierscope::database
