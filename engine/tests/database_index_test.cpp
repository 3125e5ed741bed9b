// Indexes against the containers of the standard library, on random keys.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <unordered_map>

#include "database/aged_btree.h"
#include "database/btree.h"
#include "database/hash_index.h"
#include "errors.h"

namespace tierscope::database {
namespace {

// Memory of exactly so many bytes, so that the sanitizer sees what goes past them.
struct Freed {
  void operator()(std::byte* at) const { std::free(at); }
};
using Bytes = std::unique_ptr<std::byte[], Freed>;

Bytes filled(std::size_t bytes) {
  Bytes at(static_cast<std::byte*>(std::aligned_alloc(64, bytes)));
  std::fill_n(at.get(), bytes, std::byte{0xa5});
  return at;
}

template <typename Table>
struct Placed {
  Placed(std::uint64_t count, const typename Table::Options& options)
      : sizes(Table::bytes(count, options)),
        first(filled(sizes[0])),
        second(filled(sizes[1])),
        table({first.get(), second.get()}, count, options) {}

  std::array<std::size_t, 2> sizes;
  Bytes first;
  Bytes second;
  Table table;
};

// Keys of which many collide or lie side by side.
std::uint64_t random_key(std::mt19937_64& random, std::uint64_t range) {
  return std::uniform_int_distribution<std::uint64_t>(0, range)(random);
}

template <typename Table, typename Reference>
void insert_and_compare(std::uint64_t count, std::uint64_t range,
                        const typename Table::Options& options) {
  Placed<Table> placed(count, options);
  Table& table = placed.table;
  table.load(0, [](std::uint64_t i) { return i; }, 0, 1);
  Reference reference;
  std::mt19937_64 random(count);
  while (reference.size() < count) {
    const std::uint64_t key = random_key(random, range);
    const std::uint64_t value = random();
    table.insert(key, value);
    reference[key] = value;
    ASSERT_EQ(table.size(), reference.size());
  }
  for (const auto& [key, value] : reference) {
    const std::uint64_t* const found = table.find(key);
    ASSERT_NE(found, nullptr) << key;
    ASSERT_EQ(*found, value);
  }
  for (int i = 0; i < 10000; ++i) {
    const std::uint64_t key = random_key(random, range);
    ASSERT_EQ(table.find(key) != nullptr, reference.contains(key)) << key;
  }
  std::vector<std::uint64_t> keys;
  for (std::size_t i = 0; i < kMaxInterleave; ++i) keys.push_back(random_key(random, range));
  std::array<std::uint64_t*, kMaxInterleave> found{};
  table.find_group(keys, found.data());
  for (std::size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(found.at(i), table.find(keys[i]));
}

TEST(HashTable, HoldsWhatAnUnorderedMapHolds) {
  using Reference = std::unordered_map<std::uint64_t, std::uint64_t>;
  for (const std::uint64_t count : {1U, 15U, 16U, 17U, 1000U, 20000U}) {
    insert_and_compare<HashIndexTable, Reference>(count, 4 * count, {});
    insert_and_compare<HashIndexTable, Reference>(count, ~std::uint64_t{0}, {});
  }
}

class BtreeNodes : public testing::TestWithParam<BtreeOptions> {};

TEST_P(BtreeNodes, HoldWhatAMapHolds) {
  using Reference = std::map<std::uint64_t, std::uint64_t>;
  for (const std::uint64_t count : {1U, 7U, 8U, 1000U, 20000U}) {
    insert_and_compare<Btree, Reference>(count, 4 * count, GetParam());
    insert_and_compare<Btree, Reference>(count, ~std::uint64_t{0}, GetParam());
  }
}

// The worst order for nodes that split in the middle: they stay half full.
TEST_P(BtreeNodes, HaveRoomForKeysInOrder) {
  constexpr std::uint64_t kCount = 5000;
  Placed<Btree> placed(kCount, GetParam());
  for (std::uint64_t key = 0; key < kCount; ++key) placed.table.insert(key, value_of(key));
  const Scanned all = placed.table.scan(0, kCount + 1);
  EXPECT_EQ(all.entries, kCount);
  Placed<Btree> backwards(kCount, GetParam());
  for (std::uint64_t key = kCount; key-- > 0;) backwards.table.insert(key, value_of(key));
  EXPECT_EQ(backwards.table.scan(0, kCount + 1), all);
}

TEST_P(BtreeNodes, ScanAsAMapIterates) {
  constexpr std::uint64_t kCount = 3000;
  Placed<Btree> placed(kCount, GetParam());
  std::map<std::uint64_t, std::uint64_t> reference;
  std::mt19937_64 random(7);
  while (reference.size() < kCount) {
    const std::uint64_t key = random_key(random, 5 * kCount);
    placed.table.insert(key, value_of(key));
    reference[key] = value_of(key);
  }
  for (std::uint64_t key = 0; key < 5 * kCount + 10; key += 7) {
    for (const std::uint64_t length : {1U, 3U, 100U, 100000U}) {
      Scanned expected;
      for (auto at = reference.lower_bound(key); at != reference.end() && expected.entries < length;
           ++at) {
        ++expected.entries;
        expected.sum += at->first + at->second;
      }
      ASSERT_EQ(placed.table.scan(key, length), expected) << key << " " << length;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, BtreeNodes,
                         testing::Values(BtreeOptions{128, 128, true}, BtreeOptions{512, 512, true},
                                         BtreeOptions{2048, 1024, true},
                                         BtreeOptions{192, 4096, true}));

// An index of some work over keys, in memory of its own.
template <typename Index>
struct Built {
  Built(const IndexSpec& spec, const typename Index::Options& options)
      : index(spec, options), on_threads([threads = spec.threads](const auto& work) {
          for (std::size_t thread = 0; thread < threads; ++thread) work(thread);
        }) {
    for (const Part& part : index.parts()) {
      EXPECT_EQ(part.bytes % 64, 0U);
      memory.push_back(filled(part.bytes));
      spans.emplace_back(memory.back().get(), part.bytes);
    }
    index.build(spans, on_threads);
  }

  // Some work of all threads.
  void work(std::uint64_t units) {
    for (int row = 0; row < 3; ++row) {
      if (index.units_per_sample() != 0) index.prepare_sample(on_threads);
      const std::uint64_t now = index.units_per_sample() != 0 ? index.units_per_sample() : units;
      on_threads([&](std::size_t thread) { index.work(thread, now); });
    }
  }

  Index index;
  OnThreads on_threads;
  std::vector<Bytes> memory;
  std::vector<std::span<std::byte>> spans;
};

template <typename Index>
void verify_all(const std::vector<IndexWork>& works, const typename Index::Options& options) {
  constexpr std::uint64_t kKeys = 10007;
  const auto words = std::make_shared<std::vector<std::uint64_t>>();
  std::mt19937_64 random(3);
  for (int i = 0; i < 9000; ++i) words->push_back(random_key(random, 1U << 14));
  for (const IndexWork work : works) {
    for (const std::size_t threads : {1U, 3U}) {
      for (const int distribution : {0, 1, 2}) {
        IndexSpec spec{.work = work,
                       .keys = std::make_shared<const Keys>(kKeys),
                       .threads = threads,
                       .interleave = work == IndexWork::kLookup ? threads * 5 : 1};
        if (distribution == 1) spec.distribution.alpha = 0.99;
        if (distribution == 2) {
          spec.distribution.words = words;
          spec.keys = std::make_shared<const Keys>(*words);
        }
        typename Index::Options chosen = options;
        if constexpr (requires { chosen.grows; }) chosen.grows = work == IndexWork::kInsert;
        Built<Index> built(spec, chosen);
        built.work(500);
        EXPECT_NE(built.index.verify(built.on_threads).find("compared"), std::string::npos);
      }
    }
  }
}

TEST(HashIndex, IsVerifiedAfterEveryOperation) {
  verify_all<HashIndex>({IndexWork::kLookup, IndexWork::kInsert, IndexWork::kUpdate}, {});
}

TEST(BtreeIndex, IsVerifiedAfterEveryOperation) {
  verify_all<BtreeIndex>(
      {IndexWork::kLookup, IndexWork::kInsert, IndexWork::kUpdate, IndexWork::kScan}, {});
}

TEST(AgedBtreeIndex, IsVerifiedAfterEveryOperation) {
  verify_all<KeyedIndex<AgedBtree>>({IndexWork::kLookup, IndexWork::kUpdate, IndexWork::kScan}, {});
}

// Neighbours in memory are seldom neighbours in order, as they all are where a tree is bulk loaded.
TEST(AgedBtree, LeavesLieInAnotherOrderThanTheirKeys) {
  constexpr std::uint64_t kKeys = 20000;
  const Keys keys(kKeys);
  Placed<AgedBtree> placed(kKeys, {256, 512});
  const auto key_at = [&](std::uint64_t i) { return keys.at(i); };
  placed.table.load(kKeys, key_at, 0, 1);
  placed.table.age(kKeys, key_at, 0, 1);
  placed.table.finish_load();
  EXPECT_EQ(placed.table.size(), kKeys);
  const auto* const first = placed.second.get();
  std::uint64_t near = 0;
  for (std::uint64_t i = 1; i < kKeys; ++i) {
    const auto leaf_of = [&](std::uint64_t rank) {
      const auto* const at = reinterpret_cast<std::byte*>(placed.table.find(keys.at(rank)));
      return static_cast<std::uint64_t>(at - first) / 512;
    };
    near += leaf_of(i) == leaf_of(i - 1) + 1 ? 1 : 0;
  }
  EXPECT_LT(near, kKeys / 100);
}

// Between keys that follow on each other there are no others: then none are deleted.
TEST(AgedBtree, HoldsKeysThatLieSideBySide) {
  constexpr std::uint64_t kKeys = 3000;
  Placed<AgedBtree> placed(kKeys, {128, 128});
  const auto key_at = [](std::uint64_t i) { return i; };
  placed.table.load(kKeys, key_at, 0, 1);
  placed.table.age(kKeys, key_at, 0, 1);
  placed.table.finish_load();
  for (std::uint64_t key = 0; key < kKeys; ++key) ASSERT_NE(placed.table.find(key), nullptr);
  EXPECT_EQ(placed.table.scan(0, 2 * kKeys).entries, kKeys);
}

// The check finds a value that nobody put there, and a key that is lost.
TEST(BtreeIndex, DamageIsFound) {
  const IndexSpec spec{.work = IndexWork::kUpdate, .keys = std::make_shared<const Keys>(1000)};
  for (const std::size_t damaged : {0U, 1U}) {
    Built<BtreeIndex> built(spec, {});
    built.work(100);
    EXPECT_NO_THROW(built.index.verify(built.on_threads));
    built.spans[damaged][damaged == 0 ? 15 : 23] ^= std::byte{0x80};  // Of the first key.
    EXPECT_THROW(built.index.verify(built.on_threads), Failure);
  }
}

TEST(HashIndex, DamageIsFound) {
  const IndexSpec spec{.work = IndexWork::kLookup, .keys = std::make_shared<const Keys>(1000)};
  Built<HashIndex> built(spec, {});
  std::ranges::fill(built.spans[0].first(64), std::byte{0});
  EXPECT_THROW(built.index.verify(built.on_threads), Failure);
}

TEST(Keys, AscendAndAreDistinct) {
  for (const std::uint64_t count : {1U, 2U, 1000U, 100000U}) {
    const Keys keys(count);
    for (std::uint64_t rank = 1; rank < count; ++rank) {
      ASSERT_LT(keys.at(rank - 1), keys.at(rank));
    }
  }
  const Keys given(std::vector<std::uint64_t>{5, 1, 5, 9});
  EXPECT_EQ(given.size(), 3U);
  EXPECT_EQ(given.at(2), 9U);
}

TEST(Permutation, HasEachNumberOnce) {
  for (const std::uint64_t count : {1U, 2U, 5U, 64U, 1000U}) {
    const Permutation permutation(count);
    std::vector<int> seen(count);
    for (std::uint64_t i = 0; i < count; ++i) ++seen[permutation.at(i)];
    for (const int times : seen) EXPECT_EQ(times, 1);
  }
}

}  // namespace
}  // namespace tierscope::database
