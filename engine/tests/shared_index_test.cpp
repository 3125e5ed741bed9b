// Indexes that threads read and change at once, against what each thread knows of its own keys.
#include "database/shared_index.h"

#include <gtest/gtest.h>

// The thread sanitizer's own code takes locks. A change made while the interrupted thread holds one
// would wait for it forever.
#if defined(__x86_64__) && !defined(TIERSCOPE_SANITIZE_THREADS)
#define TIERSCOPE_SINGLE_STEPS
#endif

#ifdef TIERSCOPE_SINGLE_STEPS
#include <signal.h>
#include <ucontext.h>
#include <x86intrin.h>
#endif

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "database/aged_btree.h"
#include "database/shared_btree.h"
#include "database/shared_hash_table.h"
#include "structure_memory.h"

namespace tierscope::database {
namespace {

constexpr std::size_t kThreads = 4;

template <typename Table>
std::vector<Part> parts_of(std::uint64_t count, const typename Table::Options& options) {
  return named_parts(Table::kParts, Table::bytes(count, options));
}

template <typename Table>
struct Placed {
  Placed(std::uint64_t count, const typename Table::Options& options)
      : memory(parts_of<Table>(count, options)),
        table({memory.template as<std::byte>(0).data(), memory.template as<std::byte>(1).data()},
              count, options) {
    table.load(0, [](std::uint64_t i) { return i; }, 0, 1);
    table.finish_load();
  }

  StructureMemory memory;
  Table table;
};

template <typename Table>
void expect_what_a_map_holds(Table& table, std::uint64_t keys) {
  std::map<std::uint64_t, std::uint64_t> reference;
  std::mt19937_64 random(keys);
  for (int i = 0; i < 30000; ++i) {
    const std::uint64_t key = 3 * (random() % keys);
    const auto held = reference.find(key);
    switch (random() % 3) {
      case 0:
        ASSERT_EQ(table.insert(key, key + 7), held == reference.end());
        reference[key] = key + 7;
        break;
      case 1:
        ASSERT_EQ(table.erase(key), held != reference.end());
        reference.erase(key);
        break;
      default:
        ASSERT_EQ(table.add(key, 5), held != reference.end());
        if (held != reference.end()) held->second += 5;
    }
  }
  for (std::uint64_t key = 0; key < 3 * keys; ++key) {
    const auto held = reference.find(key);
    const std::optional<std::uint64_t> found = table.find(key);
    ASSERT_EQ(found.has_value(), held != reference.end()) << key;
    if (found) {
      ASSERT_EQ(*found, held->second);
    }
  }
  if constexpr (Table::kOrdered) {
    for (std::uint64_t key = 0; key < 3 * keys; key += 11) {
      Scanned expected;
      auto at = reference.lower_bound(key);
      for (; at != reference.end() && expected.entries < 50; ++at, ++expected.entries) {
        expected.sum += at->first + at->second;
      }
      ASSERT_EQ(table.scan(key, 50), expected);
    }
  }
}

TEST(SharedBtree, HoldsWhatAMapHolds) {
  for (const std::uint64_t keys : {1U, 40U, 3000U}) {
    for (const BtreeOptions options :
         {BtreeOptions{128, 128, true}, BtreeOptions{512, 256, true}}) {
      Placed<SharedBtree> placed(keys, options);
      expect_what_a_map_holds(placed.table, keys);
    }
  }
}

TEST(SharedHashTable, HoldsWhatAMapHolds) {
  for (const std::uint64_t keys : {1U, 40U, 3000U}) {
    Placed<SharedHashTable> placed(keys, {});
    expect_what_a_map_holds(placed.table, keys);
  }
}

// All threads insert all keys, each key by all of them: one of them finds it new. They add, look up
// and delete at the same time.
template <typename Table>
void share(const typename Table::Options& options) {
  constexpr std::uint64_t kKeys = 2000;
  Placed<Table> placed(2 * kKeys, options);
  Table& table = placed.table;
  std::atomic<std::uint64_t> fresh{0};
  std::atomic<std::uint64_t> erased{0};
  on_threads(kThreads)([&](std::size_t thread) {
    std::mt19937_64 random(thread);
    for (std::uint64_t i = 0; i < kKeys; ++i) {
      const std::uint64_t key = 2 * ((i * 7919 + thread * (kKeys / 16)) % kKeys);
      fresh += table.insert(key, value_of(key)) ? 1 : 0;
      const std::uint64_t other = 2 * (random() % kKeys);
      if (const auto found = table.find(other)) {
        EXPECT_EQ(*found, value_of(other));
      }
      EXPECT_FALSE(table.find(other + 1));
      if constexpr (Table::kOrdered) {
        EXPECT_LE(table.scan(other, 10).entries, 10U);
      }
    }
  });
  EXPECT_EQ(fresh, kKeys);
  on_threads(kThreads)([&](std::size_t) {
    for (std::uint64_t i = 0; i < kKeys; ++i) EXPECT_TRUE(table.add(2 * i, 3));
  });
  on_threads(kThreads)([&](std::size_t thread) {
    for (std::uint64_t i = 0; i < kKeys; i += 2) {
      erased += table.erase(2 * i) ? 1 : 0;
      const std::uint64_t kept = 2 * ((i + thread) % kKeys | 1);
      EXPECT_EQ(table.find(kept), std::optional(value_of(kept) + 3 * kThreads));
    }
  });
  EXPECT_EQ(erased, kKeys / 2);
  for (std::uint64_t i = 0; i < kKeys; ++i) EXPECT_EQ(table.find(2 * i).has_value(), i % 2 != 0);
  if constexpr (Table::kOrdered) {
    EXPECT_EQ(table.scan(0, 2 * kKeys).entries, kKeys / 2);
  }
}

TEST(SharedBtree, IsRightWhileThreadsChangeIt) {
  share<SharedBtree>({128, 128, true});
  share<SharedBtree>({256, 512, true});
}

TEST(SharedHashTable, IsRightWhileThreadsChangeIt) { share<SharedHashTable>({}); }

// Readers ask for keys that stay while writers insert and delete those between them, in so few
// nodes that they meet all the time.
template <typename Table>
void read_while_others_write(const typename Table::Options& options) {
  constexpr std::uint64_t kKeys = 24;
  constexpr std::uint64_t kWrites = 100000;
  Placed<Table> placed(2 * kKeys, options);
  Table& table = placed.table;
  for (std::uint64_t i = 0; i < kKeys; ++i) table.insert(2 * i, value_of(2 * i));
  std::atomic<std::uint64_t> wrong{0};
  std::atomic<bool> ended{false};
  on_threads(2)([&](std::size_t thread) {
    std::mt19937_64 random(thread);
    if (thread == 0) {
      for (std::uint64_t i = 0; i < kWrites; ++i) {
        const std::uint64_t key = random() % kKeys * 2 + 1;
        if (!table.erase(key)) wrong += table.insert(key, value_of(key)) ? 0 : 1;
      }
      ended = true;
      return;
    }
    while (!ended) {
      const std::uint64_t kept = random() % kKeys * 2;
      wrong += table.find(kept) == std::optional(value_of(kept)) ? 0 : 1;
      const auto other = table.find(kept + 1);
      wrong += !other || *other == value_of(kept + 1) ? 0 : 1;
      if constexpr (Table::kOrdered) wrong += table.scan(0, 3 * kKeys).entries >= kKeys ? 0 : 1;
    }
  });
  EXPECT_EQ(wrong, 0U);
}

TEST(SharedBtree, ReadersSeeNoHalfChange) {
  read_while_others_write<SharedBtree>({128, 128, true});
  read_while_others_write<SharedBtree>({512, 512, true});
}

TEST(SharedHashTable, ReadersSeeNoHalfChange) { read_while_others_write<SharedHashTable>({}); }

#ifdef TIERSCOPE_SINGLE_STEPS

// A change that comes after the given instruction of what a thread does: the thread is
// single-stepped by its trap flag (Intel SDM vol. 3, "Single-Step Exception"), so no interleaving
// of a reader with a whole change is left to chance.
class Interrupted {
 public:
  // Returns how many instructions `work` had up to the change; all, where it ended before.
  static std::uint64_t at(std::uint64_t instruction, const std::function<void()>& work,
                          const std::function<void()>& change) {
    static_assert(sizeof(unsigned long long) == sizeof(std::uint64_t));
    constexpr unsigned long long kTrap = 0x100;
    struct sigaction trap{};
    struct sigaction before{};
    trap.sa_sigaction = on_trap;
    trap.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &trap, &before);
    change_ = &change;
    last_ = instruction;
    done_ = 0;
    __writeeflags(__readeflags() | kTrap);
    work();
    __writeeflags(__readeflags() & ~kTrap);
    sigaction(SIGTRAP, &before, nullptr);
    return done_;
  }

 private:
  static void on_trap(int, siginfo_t*, void* context) {
    if (++done_ != last_) return;
    (*change_)();
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~0x100LL;
  }

  static inline const std::function<void()>* change_ = nullptr;
  static inline std::uint64_t last_ = 0;
  static inline std::uint64_t done_ = 0;
};

// Reads with a change after each instruction of the read; of a long one, after so many of them.
void expect_right_at_any_instruction(
    const std::function<bool()>& is_right, const std::function<void()>& change,
    const std::function<void()>& prepare = [] {}) {
  constexpr std::uint64_t kMost = 300;
  const std::function<void()> read = [&] { EXPECT_TRUE(is_right()); };
  prepare();
  const std::uint64_t whole = Interrupted::at(~std::uint64_t{0}, read, change);
  ASSERT_GT(whole, 10U);
  const std::uint64_t step = (whole + kMost - 1) / kMost;
  for (std::uint64_t at = 1; at <= whole && !testing::Test::HasFailure(); at += step) {
    SCOPED_TRACE(at);
    prepare();
    Interrupted::at(at, read, change);
  }
}

TEST(SharedBtree, AReadIsRightWhateverInstructionAChangeFollows) {
  constexpr std::uint64_t kKeys = 24;
  Placed<SharedBtree> placed(4 * kKeys, {512, 1024, true});
  SharedBtree& table = placed.table;
  for (std::uint64_t i = 1; i <= kKeys; ++i) table.insert(2 * i, value_of(2 * i));
  // Moves all entries of the leaf.
  const auto change = [&] {
    if (!table.erase(1)) table.insert(1, value_of(1));
  };
  expect_right_at_any_instruction(
      [&] { return table.find(kKeys) == std::optional(value_of(kKeys)); }, change);
  expect_right_at_any_instruction([&] { return !table.find(kKeys + 1); }, change);
  expect_right_at_any_instruction(
      [&] {
        const Scanned found = table.scan(2, kKeys);
        Scanned expected;
        for (std::uint64_t i = 1; i <= kKeys; ++i) expected.sum += 2 * i + value_of(2 * i);
        expected.entries = kKeys;
        return found == expected;
      },
      change);
}

// Leaves and inner nodes split while a reader is on its way down to the key that each split moves.
TEST(SharedBtree, AReaderFindsItsWayWhateverInstructionASplitFollows) {
  constexpr std::uint64_t kKeys = 60;
  constexpr std::uint64_t kLast = 2 * kKeys;
  std::unique_ptr<Placed<SharedBtree>> placed;
  expect_right_at_any_instruction(
      [&] { return placed->table.find(kLast) == std::optional(value_of(kLast)); },
      [&] {
        for (std::uint64_t key = 1; key < kLast; key += 2) {
          placed->table.insert(key, value_of(key));
        }
      },
      [&] {
        placed = std::make_unique<Placed<SharedBtree>>(4 * kKeys, BtreeOptions{128, 128, true});
        for (std::uint64_t key = 2; key <= kLast; key += 2) {
          placed->table.insert(key, value_of(key));
        }
      });
}

// Of keys with one tag in one group, which take each other's slot, only versions tell a reader that
// it has one's key and another's value.
TEST(SharedHashTable, AReadIsRightWhateverInstructionAChangeFollows) {
  const auto ends_of = [](std::uint64_t key) {
    const std::uint64_t hashed = HashTable::hash(key);
    return std::pair(hashed >> 58, hashed & 0xff);
  };
  std::uint64_t other = 2;
  while (ends_of(other) != ends_of(1)) ++other;
  Placed<SharedHashTable> placed(64, {});
  SharedHashTable& table = placed.table;
  table.insert(1, value_of(1));
  expect_right_at_any_instruction(
      [&] {
        const auto found = table.find(1);
        return !found || *found == value_of(1);
      },
      [&] {
        const std::uint64_t gone = table.erase(1) ? 1 : other;
        if (gone == other) table.erase(other);
        table.insert(gone == 1 ? other : 1, value_of(gone == 1 ? other : 1));
      });
}

#endif

template <typename Table>
void expect_mixes_verified(const typename Table::Options& options) {
  constexpr std::uint64_t kKeys = 20011;
  constexpr std::uint64_t kUnits = 3000;
  std::vector<Mix> mixes{{},
                         {.updates = 50},
                         {.inserts = 100},
                         {.inserts = 25, .deletes = 25},
                         {.inserts = 5},
                         {.modifies = 50}};
  if (Table::kOrdered) mixes.push_back({.inserts = 5, .scans = 95});
  for (const Mix& mix : mixes) {
    for (const bool skewed : {false, true}) {
      IndexSpec spec{.work = IndexWork::kLookup,
                     .keys = std::make_shared<const Keys>(kKeys),
                     .threads = kThreads,
                     .mix = mix};
      if (skewed) spec.distribution = {.alpha = 0.99, .latest = mix.inserts == 5 && mix.scans == 0};
      SharedIndex<Table> index(spec, options);
      StructureMemory memory(index.parts());
      index.build(memory, on_threads(kThreads));
      for (int row = 0; row < 4; ++row) {
        index.prepare_sample(on_threads(kThreads));
        const std::uint64_t units =
            index.units_per_sample() != 0 ? index.units_per_sample() : kUnits;
        on_threads(kThreads)([&](std::size_t thread) { index.work(thread, units); });
      }
      EXPECT_NE(index.verify(on_threads(kThreads)).find("compared"), std::string::npos);
    }
  }
}

TEST(SharedBtree, IsVerifiedAfterEveryMix) { expect_mixes_verified<SharedBtree>({128, 128, true}); }

TEST(AgedSharedBtree, IsVerifiedAfterEveryMix) { expect_mixes_verified<AgedSharedBtree>({}); }

// It holds the keys that it was loaded with, in leaves that are partly filled and in another order
// in memory than the keys'.
TEST(AgedSharedBtree, HoldsItsKeysInLeavesThatAreHalfEmpty) {
  constexpr std::uint64_t kKeys = 20000;
  const Keys keys(kKeys);
  const BtreeOptions options{256, 512};
  const StructureMemory memory(parts_of<AgedSharedBtree>(kKeys, options));
  AgedSharedBtree table({memory.as<std::byte>(0).data(), memory.as<std::byte>(1).data()}, kKeys,
                        options);
  on_threads(kThreads)([&](std::size_t thread) {
    table.load(kKeys, [&](std::uint64_t i) { return keys.at(i); }, thread, kThreads);
  });
  on_threads(kThreads)([&](std::size_t thread) {
    table.age(kKeys, [&](std::uint64_t i) { return keys.at(i); }, thread, kThreads);
  });
  table.finish_load();
  Scanned expected{.entries = kKeys};
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    ASSERT_EQ(table.find(keys.at(i)), std::optional(value_of(keys.at(i))));
    expected.sum += keys.at(i) + value_of(keys.at(i));
  }
  EXPECT_EQ(table.scan(0, 2 * kKeys), expected);
  EXPECT_GT(table.fill(), 0.25);
  EXPECT_LT(table.fill(), 0.45);
}

TEST(SharedHashTable, IsVerifiedAfterEveryMix) { expect_mixes_verified<SharedHashTable>({}); }

// The check finds an update that was lost and a key that was.
TEST(SharedIndex, DamageIsFound) {
  const IndexSpec spec{.work = IndexWork::kLookup,
                       .keys = std::make_shared<const Keys>(1000),
                       .mix = {.updates = 50}};
  for (const std::size_t damaged : {0U, 1U}) {
    SharedIndex<SharedBtree> index(spec, {});
    StructureMemory memory(index.parts());
    index.build(memory, on_threads(1));
    index.work(0, 100);
    EXPECT_NO_THROW(index.verify(on_threads(1)));
    // The first key of the first node; the first value of the first leaf.
    constexpr BtreeOptions kUsual{};
    const std::size_t values = 2 + (kUsual.leaf_bytes - 16) / 16;
    memory.as<std::uint64_t>(damaged)[damaged == 0 ? 1 : values] ^= std::uint64_t{1} << 63;
    EXPECT_THROW(index.verify(on_threads(1)), Failure);
  }
}

}  // namespace
}  // namespace tierscope::database
