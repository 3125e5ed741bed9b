#include "access/kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "access/random_order.h"

namespace tierscope {
namespace {

struct Free {
  void operator()(double* memory) const { std::free(memory); }
};
using Array = std::unique_ptr<double, Free>;

Array make_array(std::size_t bytes) {
  return Array(static_cast<double*>(std::aligned_alloc(64, bytes)));
}

constexpr double kScalar = 3;
constexpr double kBefore = -1;

double expected(Operation operation, double b, double c, int visits) {
  switch (operation) {
    case Operation::kRead:
      return kBefore;
    case Operation::kWrite:
    case Operation::kWriteNt:
      return kScalar;
    case Operation::kCopy:
    case Operation::kCopyNt:
      return b;
    case Operation::kScale:
      return kScalar * b;
    case Operation::kAdd:
      return b + c;
    case Operation::kTriad:
      return b + kScalar * c;
    case Operation::kRmw:
      return kBefore + visits * kScalar;
  }
  return 0;
}

struct Case {
  std::string_view isa;
  OperationTraits traits;
  Order order;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const std::string_view isa : supported_isas()) {
    for (const OperationTraits& traits : kOperations) {
      for (const Order order :
           {Order::kSequential, Order::kReverse, Order::kStrided, Order::kRandom}) {
        cases.push_back({isa, traits, order});
      }
    }
  }
  return cases;
}

class EveryKernel : public testing::TestWithParam<Case> {};

// Over sizes that are no power of two and access sizes from a line up, in chunks that end anywhere:
// every element is right, nothing beside the arrays is touched, nothing is left out.
TEST_P(EveryKernel, DoesItsOperationOnTheWholeOfItsArraysAndNothingElse) {
  const auto& [isa, traits, order] = GetParam();
  const Kernel kernel = find_kernel(isa, traits.operation, order);
  constexpr std::size_t kGuard = 64 / sizeof(double);
  for (const std::size_t access_size : {64U, 192U, 256U, 4096U}) {
    for (const std::size_t accesses : {1U, 3U, 8U, 37U}) {
      const std::size_t bytes = access_size * accesses;
      const std::size_t n = bytes / sizeof(double);
      std::array<Array, 3> arrays;
      for (Array& array : arrays) array = make_array(bytes + 2 * 64);
      for (std::size_t i = 0; i < n + 2 * kGuard; ++i) {
        arrays[0].get()[i] = kBefore;
        arrays[1].get()[i] = static_cast<double>(i % 7);
        arrays[2].get()[i] = static_cast<double>(i % 5);
      }
      const Walk walk{.a = arrays[0].get() + kGuard,
                      .b = arrays[1].get() + kGuard,
                      .c = arrays[2].get() + kGuard,
                      .scalar = kScalar,
                      .bytes = bytes,
                      .access_size = access_size,
                      .stride = std::min(2 * access_size, bytes)};
      // Random order may need a whole period of its generator to get everywhere.
      const std::uint64_t total =
          order == Order::kRandom ? RandomOrder(accesses).period() : accesses;
      Position position;
      for (std::uint64_t done = 0; done < total;) {
        const std::uint64_t chunk = std::min<std::uint64_t>(total - done, 1 + done % 5);
        kernel(walk, position, chunk);
        done += chunk;
      }
      for (std::size_t i = 0; i < n; ++i) {
        const double b = walk.b[i];
        const double c = walk.c[i];
        const double once = expected(traits.operation, b, c, 1);
        const double twice = expected(traits.operation, b, c, 2);
        if (order == Order::kRandom && traits.operation == Operation::kRmw) {
          ASSERT_TRUE(walk.a[i] == once || walk.a[i] == twice) << "element " << i;
        } else {
          ASSERT_EQ(walk.a[i], once) << "element " << i << " of " << n;
        }
      }
      for (std::size_t i = 0; i < kGuard; ++i) {
        ASSERT_EQ(arrays[0].get()[i], kBefore);
        ASSERT_EQ(arrays[0].get()[kGuard + n + i], kBefore);
      }
    }
  }
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  static constexpr std::array<const char*, 4> kOrders{"sequential", "reverse", "strided", "random"};
  std::string name(info.param.traits.name);
  std::ranges::replace(name, '-', '_');
  return std::string(info.param.isa) + "_" + name + "_" +
         kOrders[static_cast<std::size_t>(info.param.order)];
}

INSTANTIATE_TEST_SUITE_P(Table, EveryKernel, testing::ValuesIn(all_cases()), case_name);

TEST(Operations, StandInTheTableAtTheirOwnPlace) {
  for (const OperationTraits& traits : kOperations) {
    EXPECT_EQ(traits_of(traits.operation).name, traits.name);
  }
}

TEST(RandomOrder, VisitsEveryBlockOnceOrTwiceAPeriod) {
  for (std::uint64_t blocks = 1; blocks < 300; ++blocks) {
    const RandomOrder order(blocks);
    std::vector<int> visits(blocks);
    std::uint64_t state = 12345;
    for (std::uint64_t step = 0; step < order.period(); ++step) ++visits.at(order.next(state));
    const auto [least, most] = std::ranges::minmax(visits);
    EXPECT_GE(least, 1) << blocks;
    EXPECT_LE(most, 2) << blocks;
  }
}

TEST(RandomOrder, ReachesTheEndsOfALargeRange) {
  const RandomOrder order((std::uint64_t{1} << 34) - 12345);
  std::uint64_t state = 1;
  std::uint64_t highest = 0;
  for (int step = 0; step < 1'000'000; ++step) {
    const std::uint64_t block = order.next(state);
    ASSERT_LT(block, order.blocks);
    highest = std::max(highest, block);
  }
  EXPECT_GT(highest, order.blocks / 1000 * 999);
}

}  // namespace
}  // namespace tierscope
