#include "database/lsm_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "errors.h"
#include "structure_memory.h"

namespace tierscope::database {
namespace {

TEST(BloomFilter, PassesWhatWasAddedAndOneInAHundredOfTheRest) {
  constexpr std::uint64_t kKeys = 20000;
  const StructureMemory memory({{"filter", BloomFilter::bytes(kKeys)}});
  std::ranges::fill(memory.as<std::uint64_t>(0), 0);
  BloomFilter filter(memory.as<std::byte>(0).data(), kKeys);
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> added(kKeys);
  for (std::uint64_t& hashed : added) filter.add(hashed = random());
  for (const std::uint64_t hashed : added) ASSERT_TRUE(filter.may_hold(hashed));
  std::uint64_t passed = 0;
  for (std::uint64_t i = 0; i < kKeys; ++i) passed += filter.may_hold(random()) ? 1 : 0;
  EXPECT_LT(passed, kKeys / 50);
  EXPECT_GT(passed, 0);
}

// The levels' entries are read out of the parts as they were placed.
std::map<std::uint64_t, std::pair<std::size_t, std::uint64_t>> contents(
    const LsmTree& tree, const StructureMemory& memory) {
  std::map<std::uint64_t, std::pair<std::size_t, std::uint64_t>> found;
  for (std::size_t level = 0; level < kLevels; ++level) {
    std::uint64_t before = 0;
    for (const Entry& entry : memory.as<Entry>(2 + level).first(tree.keys_on(level))) {
      EXPECT_GT(entry.key, before);
      before = entry.key;
      EXPECT_TRUE(found.try_emplace(entry.key, level, entry.value).second);
    }
  }
  return found;
}

void expect_reads(const LsmTreeSpec& spec) {
  LsmTree tree(spec);
  const StructureMemory memory(tree.parts());
  const OnThreads threads = on_threads(spec.threads);
  tree.build(memory, threads);
  const auto all = contents(tree, memory);
  EXPECT_EQ(all.size(), spec.keys);
  for (const auto& [key, held] : all) {
    const LsmTree::Found found = tree.find(key);
    ASSERT_NE(found.value, nullptr);
    EXPECT_EQ(*found.value, held.second);
    EXPECT_EQ(found.level, held.first);
    EXPECT_LE(found.blocks, held.first + 1);
  }
  std::mt19937_64 random(spec.keys);
  std::vector<std::uint64_t> absent{0, ~std::uint64_t{0}};
  for (int i = 0; i < 2000; ++i) absent.push_back(random());
  for (const std::uint64_t key : absent) {
    if (all.contains(key)) continue;
    ASSERT_EQ(tree.find(key).value, nullptr) << key;
  }
  threads([&](std::size_t thread) { tree.work(thread, 3000); });
  EXPECT_NE(tree.verify(threads).find(std::to_string(3000 * spec.threads) + " lookups"),
            std::string::npos);
}

TEST(LsmTree, FindsWhatItsLevelsHoldAndNothingElse) {
  expect_reads({.keys = 15, .ratio = 2});
  expect_reads({.keys = 20011, .ratio = 2, .misses = 0.5, .threads = 3});
  expect_reads({.keys = 30011, .ratio = 10, .misses = 0.1, .distribution = {.alpha = 0.9}});
  expect_reads({.keys = 40011, .ratio = 32, .misses = 1, .threads = 2});
}

// A key that is on several levels does not come about here, but each level has r times the keys of
// the one above, and reads of uniform keys are answered accordingly.
TEST(LsmTree, LevelsGrowByTheRatio) {
  for (const std::uint64_t ratio : {2U, 10U, 32U}) {
    const std::uint64_t keys = 7 * LsmTree::cycle_of(ratio);
    const LsmTree tree({.keys = keys, .ratio = ratio});
    std::uint64_t sum = 0;
    for (std::size_t level = 0; level < kLevels; ++level) {
      sum += tree.keys_on(level);
      if (level > 0) {
        EXPECT_EQ(tree.keys_on(level), ratio * tree.keys_on(level - 1));
      }
    }
    EXPECT_EQ(sum, keys);
  }
}

TEST(LsmTree, RefusesAnEntryThatWasChanged) {
  LsmTree tree({.keys = 2222});
  const StructureMemory memory(tree.parts());
  tree.build(memory, on_threads(1));
  memory.as<Entry>(4)[17].value ^= 1;
  EXPECT_THROW(tree.verify(on_threads(1)), Failure);
}

}  // namespace
}  // namespace tierscope::database
