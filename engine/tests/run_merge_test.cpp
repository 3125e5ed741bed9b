#include "database/run_merge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "errors.h"
#include "structure_memory.h"

namespace tierscope::database {
namespace {

// Runs of different lengths, some empty, with keys that come more than once.
TEST(LoserTree, MergesAsTheStandardLibrarySorts) {
  std::mt19937_64 random(1);
  for (const std::size_t count : {1U, 2U, 3U, 7U, 16U, 100U, 256U}) {
    std::vector<std::vector<Entry>> kept(count);
    std::vector<SortedRun> runs;
    std::vector<Pair> expected;
    for (std::vector<Entry>& run : kept) {
      run.resize(random() % 50);
      for (Entry& entry : run) entry = {random() % 300, random()};
      std::ranges::sort(run, {}, &Entry::key);
      runs.push_back({run.data(), run.data() + run.size()});
      for (const Pair& pair : pairs_of(run)) expected.push_back(pair);
    }
    std::vector<Entry> merged(expected.size());
    LoserTree tree(runs);
    const std::size_t first = merged.size() / 3;
    tree.merge(merged.data(), first);
    tree.merge(merged.data() + first, merged.size() - first);
    EXPECT_TRUE(std::ranges::is_sorted(merged, {}, &Entry::key));
    std::vector<Pair> found = pairs_of(merged);
    std::ranges::sort(found);
    std::ranges::sort(expected);
    EXPECT_EQ(found, expected) << count << " runs";
  }
}

void expect_merge(const RunMergeSpec& spec, std::uint64_t units) {
  RunMerge merge(spec);
  const StructureMemory memory(merge.parts());
  const OnThreads threads = on_threads(spec.threads);
  merge.build(memory, threads);
  std::vector<Pair> expected = pairs_of(memory.as<Entry>(0).first(spec.keys));
  EXPECT_FALSE(std::ranges::is_sorted(expected));
  std::ranges::sort(expected);
  threads([&](std::size_t thread) { merge.work(thread, units); });
  const std::string verified = merge.verify(threads);
  EXPECT_EQ(pairs_of(memory.as<Entry>(1).first(spec.keys)), expected) << verified;
}

TEST(RunMerge, GivesWhatTheStandardLibrarySorts) {
  expect_merge({.keys = 4096, .runs = 2}, 4);
  expect_merge({.keys = 10007, .runs = 3}, 2);
  expect_merge({.keys = 50021, .runs = 16, .threads = 3}, 100);
  expect_merge({.keys = 30011, .runs = 256, .threads = 2}, 40);
}

TEST(RunMerge, RefusesAnOutputThatIsNotSorted) {
  RunMerge merge({.keys = 4096, .runs = 4});
  const StructureMemory memory(merge.parts());
  merge.build(memory, on_threads(1));
  merge.work(0, 4);
  std::swap(memory.as<Entry>(1)[7], memory.as<Entry>(1)[8]);
  EXPECT_THROW(merge.verify(on_threads(1)), Failure);
}

TEST(RunMerge, RefusesRunsThatWereChanged) {
  RunMerge merge({.keys = 4096, .runs = 4});
  const StructureMemory memory(merge.parts());
  merge.build(memory, on_threads(1));
  memory.as<Entry>(0)[99].value ^= 1;
  merge.work(0, 4);
  EXPECT_THROW(merge.verify(on_threads(1)), Failure);
}

}  // namespace
}  // namespace tierscope::database
