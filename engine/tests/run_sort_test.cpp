#include "database/run_sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "errors.h"
#include "structure_memory.h"

namespace tierscope::database {
namespace {

struct Sorted {
  explicit Sorted(const RunSortSpec& spec)
      : sort(spec), memory(sort.parts()), threads(on_threads(spec.threads)) {
    sort.build(memory, threads);
    sort.prepare_sample(threads);
    for (const Pair& pair : pairs_of(memory.as<Entry>(0).first(spec.keys))) input.push_back(pair);
    threads([&](std::size_t thread) { sort.work(thread, 1); });
  }

  RunSort sort;
  StructureMemory memory;
  OnThreads threads;
  std::vector<Pair> input;
};

TEST(RunSort, GivesWhatTheStandardLibrarySorts) {
  for (const RunSortSpec& spec : std::vector<RunSortSpec>{{.keys = 4096, .runs = 2},
                                                          {.keys = 10007, .runs = 3},
                                                          {.keys = 50021, .runs = 16, .threads = 3},
                                                          {.keys = 3001, .runs = 2, .threads = 3},
                                                          {.keys = 2048, .runs = 256}}) {
    Sorted sorted(spec);
    EXPECT_FALSE(std::ranges::is_sorted(sorted.input));
    std::ranges::sort(sorted.input);
    const std::string verified = sorted.sort.verify(sorted.threads);
    EXPECT_EQ(pairs_of(sorted.memory.as<Entry>(1).first(spec.keys)), sorted.input) << verified;
  }
}

// The next sample is a sort of the same entries, whatever the last one left.
TEST(RunSort, FillsTheRunsAnew) {
  Sorted sorted({.keys = 5003, .runs = 4, .threads = 2});
  sorted.sort.prepare_sample(sorted.threads);
  EXPECT_EQ(pairs_of(sorted.memory.as<Entry>(0).first(5003)), sorted.input);
  sorted.threads([&](std::size_t thread) { sorted.sort.work(thread, 2); });
  EXPECT_EQ(sorted.sort.verify(sorted.threads).find("3 sorts by 4 runs"), 0U);
}

TEST(RunSort, RefusesAnOutputThatIsNotSorted) {
  Sorted sorted({.keys = 4096, .runs = 4, .threads = 2});
  std::swap(sorted.memory.as<Entry>(1)[2047], sorted.memory.as<Entry>(1)[2048]);
  EXPECT_THROW(sorted.sort.verify(sorted.threads), Failure);
}

TEST(RunSort, RefusesOtherEntries) {
  Sorted sorted({.keys = 4096, .runs = 4});
  sorted.memory.as<Entry>(1)[7].value ^= 1;
  EXPECT_THROW(sorted.sort.verify(sorted.threads), Failure);
}

}  // namespace
}  // namespace tierscope::database
