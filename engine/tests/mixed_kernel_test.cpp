#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <vector>

#include "access/kernel.h"
#include "access/random_order.h"
#include "access/write_back.h"
#include "access/zipf_order.h"
#include "sizes.h"

namespace tierscope {
namespace {
constexpr std::size_t kLineDoubles = kCacheLine / sizeof(double);

struct Free {
  void operator()(double* memory) const { std::free(memory); }
};

struct Case {
  std::string_view isa;
  Stores stores;
};

class MixedKernels : public testing::TestWithParam<Case> {
 protected:
  // Which of `lines` lines are written after `accesses` accesses, made one call at a time.
  std::vector<bool> written(std::size_t lines, std::size_t access_size, int writes, Order order,
                            std::uint64_t accesses) const {
    const std::size_t bytes = lines * kCacheLine;
    const std::unique_ptr<double, Free> memory(
        static_cast<double*>(std::aligned_alloc(kCacheLine, bytes + 2 * kCacheLine)));
    std::fill_n(memory.get(), bytes / sizeof(double) + 2 * kLineDoubles, 0.0);
    const Walk walk{
        .a = memory.get() + kLineDoubles, .scalar = 3, .bytes = bytes, .access_size = access_size};
    const MixedKernel kernel = find_mixed_kernel(GetParam().isa, order, GetParam().stores);
    Position position;
    for (std::uint64_t i = 0; i < accesses; ++i) kernel(walk, position, 1, {.writes = writes});
    std::vector<bool> found;
    for (std::size_t line = 0; line < lines; ++line) {
      const double* const values = walk.a + line * kLineDoubles;
      found.push_back(values[0] == 3);
      EXPECT_TRUE(std::all_of(values, values + kLineDoubles,
                              [&](double value) { return value == values[0]; }))
          << "line " << line << " is written in part";
    }
    EXPECT_EQ(memory.get()[kLineDoubles - 1], 0) << "written before the array";
    EXPECT_EQ(walk.a[bytes / sizeof(double)], 0) << "written after the array";
    return found;
  }
};

TEST_P(MixedKernels, SpreadWritesEvenly) {
  for (const int writes : {0, 25, 33, 50, 75, 100}) {
    const std::vector<bool> lines = written(400, kCacheLine, writes, Order::kSequential, 400);
    EXPECT_EQ(std::ranges::count(lines, true), 4 * writes) << writes << "% of 400 lines";
    // Between any two lines, the number of writes is within one of the exact share.
    for (std::size_t first = 0; first < lines.size(); ++first) {
      double count = 0;
      for (std::size_t last = first; last < lines.size(); ++last) {
        count += lines[last] ? 1 : 0;
        ASSERT_NEAR(count, static_cast<double>(last - first + 1) * writes / 100, 1.0001);
      }
    }
  }
}

TEST_P(MixedKernels, GoOnWhereTheyStoppedAndWrapAtTheEnd) {
  EXPECT_EQ(std::ranges::count(written(6, 2 * kCacheLine, 100, Order::kSequential, 2), true), 4);
  EXPECT_EQ(std::ranges::count(written(6, 2 * kCacheLine, 100, Order::kSequential, 3), true), 6);
  // 50% of an odd number of lines: the second pass writes what the first one read.
  EXPECT_EQ(std::ranges::count(written(5, kCacheLine, 50, Order::kSequential, 5), true), 2);
  EXPECT_EQ(std::ranges::count(written(5, kCacheLine, 50, Order::kSequential, 10), true), 5);
}

TEST_P(MixedKernels, ReachEveryBlockInRandomOrder) {
  const std::uint64_t period = RandomOrder(37).period();
  const std::vector<bool> lines = written(37 * 4, 4 * kCacheLine, 100, Order::kRandom, period);
  EXPECT_EQ(std::ranges::count(lines, false), 0);
}

TEST(ZipfOrder, FollowsZipfsLaw) {
  constexpr std::uint64_t kBlocks = 1 << 20;
  constexpr int kDraws = 1'000'000;
  for (const double alpha : {0.5, 0.9, 1.0, 1.2}) {
    const ZipfOrder order(kBlocks, alpha);
    // Share of draws below a rank, beside that of the continuous law.
    for (const std::uint64_t rank : {10U, 1000U, 100'000U}) {
      std::uint64_t state = 1;
      int below = 0;
      for (int i = 0; i < kDraws; ++i) below += order.next_rank(state) < rank ? 1 : 0;
      const auto integral = [alpha](double x) {
        return alpha == 1.0 ? std::log(x) : (std::pow(x, 1 - alpha) - 1) / (1 - alpha);
      };
      const double expected = integral(static_cast<double>(rank) + 1) / integral(kBlocks + 1.0);
      EXPECT_NEAR(static_cast<double>(below) / kDraws, expected, 0.01) << alpha << " " << rank;
    }
  }
}

TEST(ZipfOrder, StaysInsideAndScattersHotBlocks) {
  for (const std::uint64_t blocks : {1U, 2U, 3U, 1000U, 12345U}) {
    const ZipfOrder order(blocks, 0.9);
    std::uint64_t state = 7;
    for (int i = 0; i < 10'000; ++i) ASSERT_LT(order.next(state), blocks);
  }
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const std::string_view isa : supported_isas()) {
    for (const Stores stores :
         {Stores::kOrdinary, Stores::kStreaming, Stores::kWriteBack, Stores::kFlush}) {
      if (stores == Stores::kWriteBack && !has_write_back(WriteBack::kKeep)) continue;
      if (stores == Stores::kFlush && !has_write_back(WriteBack::kDrop)) continue;
      cases.push_back({isa, stores});
    }
  }
  return cases;
}

std::string name_of(const testing::TestParamInfo<Case>& info) {
  static constexpr const char* kNames[] = {"", "_nt", "_clwb", "_clflushopt"};
  return std::string(info.param.isa) + kNames[static_cast<std::size_t>(info.param.stores)];
}

INSTANTIATE_TEST_SUITE_P(Table, MixedKernels, testing::ValuesIn(all_cases()), name_of);

}  // namespace
}  // namespace tierscope
