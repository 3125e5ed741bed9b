#include "database/hash_join.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <unordered_map>
#include <vector>

#include "database/radix_partition.h"
#include "errors.h"
#include "structure_memory.h"

namespace tierscope::database {
namespace {

using Pair = std::pair<std::uint64_t, std::uint64_t>;

// A join by the standard library: the values of both rows of each match, in order.
std::vector<Pair> plain_join(std::span<const Entry> build, std::span<const Entry> probe) {
  std::unordered_map<std::uint64_t, std::uint64_t> values;
  for (const Entry& row : build) values.emplace(row.key, row.value);
  EXPECT_EQ(values.size(), build.size()) << "keys of the build relation are distinct";
  std::vector<Pair> found;
  for (const Entry& row : probe) {
    const auto match = values.find(row.key);
    if (match != values.end()) found.emplace_back(match->second, row.value);
  }
  std::ranges::sort(found);
  return found;
}

void expect_join(const HashJoinSpec& spec) {
  HashJoin join(spec);
  const StructureMemory memory(join.parts());
  const OnThreads threads = on_threads(spec.threads);
  join.build(memory, threads);
  for (const Part& part : join.parts()) EXPECT_EQ(part.bytes % 64, 0) << part.name;
  const auto build = memory.as<Entry>(0).first(spec.build_keys);
  const auto probe = memory.as<Entry>(1).first(spec.probe_keys);
  const std::vector<Pair> expected = plain_join(build, probe);
  EXPECT_NEAR(static_cast<double>(expected.size()),
              (1 - spec.misses) * static_cast<double>(spec.probe_keys),
              6 * std::sqrt(static_cast<double>(spec.probe_keys)) * (spec.misses > 0 ? 1 : 0));
  for (int repetition = 0; repetition < 2; ++repetition) {
    std::ranges::fill(memory.as<Entry>(4), Entry{});
    threads([&](std::size_t thread) { join.work(thread, 1); });
    std::vector<Pair> found;
    for (const Entry& row : memory.as<Entry>(4)) {
      if (row.key != 0 || row.value != 0) found.emplace_back(row.key, row.value);
    }
    std::ranges::sort(found);
    // One row's value is 0, of a key that is none.
    EXPECT_EQ(found, expected);
  }
  const std::string verified = join.verify(threads);
  EXPECT_NE(verified.find(std::to_string(expected.size()) + " matches"), std::string::npos)
      << verified;
}

TEST(HashJoin, FindsWhatTheStandardLibraryFinds) {
  expect_join({.build_keys = 1000, .probe_keys = 1000});
  expect_join({.build_keys = 1, .probe_keys = 7});
  expect_join({.build_keys = 5000, .probe_keys = 20003, .misses = 0.3, .threads = 3});
  expect_join({.build_keys = 997, .probe_keys = 997, .misses = 1});
  expect_join({.build_keys = 5000, .probe_keys = 20003, .misses = 0.3, .interleave = 16});
}

TEST(HashJoin, InPartitionsFindsTheSame) {
  for (const std::size_t partitions : {2U, 16U, 256U, 4096U}) {
    expect_join(
        {.build_keys = 20011, .probe_keys = 50021, .misses = 0.2, .partitions = partitions});
    expect_join({.build_keys = 3001, .probe_keys = 3001, .partitions = partitions, .threads = 2});
    expect_join({.build_keys = 3, .probe_keys = 5, .partitions = partitions, .threads = 2});
  }
}

TEST(HashJoin, RefusesAnOutputThatIsNotWhatTheKeysGive) {
  HashJoin join({.build_keys = 1000, .probe_keys = 1000});
  const StructureMemory memory(join.parts());
  join.build(memory, on_threads(1));
  join.work(0, 1);
  memory.as<Entry>(4)[500].value ^= 1;
  EXPECT_THROW(join.verify(on_threads(1)), Failure);
}

TEST(HashJoin, RefusesATableThatLostARow) {
  HashJoin join({.build_keys = 1000, .probe_keys = 1000});
  const StructureMemory memory(join.parts());
  join.build(memory, on_threads(1));
  memory.as<Entry>(0)[10].key ^= 1;
  join.work(0, 1);
  EXPECT_THROW(join.verify(on_threads(1)), Failure);
}

TEST(RadixPartition, KeepsEveryRowInItsPartition) {
  std::mt19937_64 random(1);
  for (const std::size_t partitions : {2U, 8U, 64U, 512U}) {
    for (const std::size_t rows : {1U, 3U, 4U, 100U, 10007U}) {
      std::vector<Entry> from(rows);
      for (Entry& row : from) row = {random() % 1000, random()};
      const std::size_t bytes = (rows * sizeof(Entry) + 63) / 64 * 64;
      const StructureMemory memory({{"to", bytes}, {"lines", partitions * 64}});
      std::vector<std::uint64_t> ends(partitions);
      Entry* const to = memory.as<Entry>(0).data();
      copy_by_partition(from, to, ends, memory.as<Entry>(1).data());
      EXPECT_EQ(ends.back(), rows);
      std::multiset<Pair> left;
      for (const Entry& row : from) left.emplace(row.key, row.value);
      for (std::size_t partition = 0, at = 0; partition < partitions; ++partition) {
        for (; at < ends[partition]; ++at) {
          ASSERT_EQ(partition_of(HashTable::hash(to[at].key), partitions), partition);
          const auto row = left.find({to[at].key, to[at].value});
          ASSERT_NE(row, left.end());
          left.erase(row);
        }
      }
    }
  }
}

}  // namespace
}  // namespace tierscope::database
