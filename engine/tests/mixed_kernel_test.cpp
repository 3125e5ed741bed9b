#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "access/kernel.h"
#include "access/random_order.h"

namespace tierscope {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kLineDoubles = kLine / sizeof(double);

struct Free {
  void operator()(double* memory) const { std::free(memory); }
};

struct Case {
  std::string_view isa;
  bool streaming;
};

class MixedKernels : public testing::TestWithParam<Case> {
 protected:
  // Which of `lines` lines are written after `accesses` accesses, made one call at a time.
  std::vector<bool> written(std::size_t lines, std::size_t access_size, int writes, Order order,
                            std::uint64_t accesses) const {
    const std::size_t bytes = lines * kLine;
    const std::unique_ptr<double, Free> memory(
        static_cast<double*>(std::aligned_alloc(kLine, bytes + 2 * kLine)));
    std::fill_n(memory.get(), bytes / sizeof(double) + 2 * kLineDoubles, 0.0);
    const Walk walk{
        .a = memory.get() + kLineDoubles, .scalar = 3, .bytes = bytes, .access_size = access_size};
    const MixedKernel kernel = find_mixed_kernel(GetParam().isa, order, GetParam().streaming);
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
    const std::vector<bool> lines = written(400, kLine, writes, Order::kSequential, 400);
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
  EXPECT_EQ(std::ranges::count(written(6, 2 * kLine, 100, Order::kSequential, 2), true), 4);
  EXPECT_EQ(std::ranges::count(written(6, 2 * kLine, 100, Order::kSequential, 3), true), 6);
  // 50% of an odd number of lines: the second pass writes what the first one read.
  EXPECT_EQ(std::ranges::count(written(5, kLine, 50, Order::kSequential, 5), true), 2);
  EXPECT_EQ(std::ranges::count(written(5, kLine, 50, Order::kSequential, 10), true), 5);
}

TEST_P(MixedKernels, ReachEveryBlockInRandomOrder) {
  const std::uint64_t period = RandomOrder(37).period();
  const std::vector<bool> lines = written(37 * 4, 4 * kLine, 100, Order::kRandom, period);
  EXPECT_EQ(std::ranges::count(lines, false), 0);
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const std::string_view isa : supported_isas()) {
    for (const bool streaming : {false, true}) cases.push_back({isa, streaming});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Table, MixedKernels, testing::ValuesIn(all_cases()),
                         [](const testing::TestParamInfo<Case>& info) {
                           return std::string(info.param.isa) +
                                  (info.param.streaming ? "_streaming" : "");
                         });

}  // namespace
}  // namespace tierscope
