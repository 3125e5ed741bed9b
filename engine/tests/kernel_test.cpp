#include "access/kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "access/array_data.h"
#include "access/library.h"
#include "access/random_order.h"
#include "access/zipf_order.h"

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

double expected(Operation operation, double b, double c, int repetitions) {
  switch (operation) {
    case Operation::kRead:
      return kBefore;
    case Operation::kWrite:
    case Operation::kWriteNt:
      return kScalar;
    case Operation::kMemset:
      return std::bit_cast<double>(0x2a2a2a2a2a2a2a2aULL);
    case Operation::kCopy:
    case Operation::kCopyNt:
    case Operation::kMemcpy:
      return b;
    case Operation::kScale:
    case Operation::kScaleNt:
      return kScalar * b;
    case Operation::kAdd:
    case Operation::kAddNt:
      return b + c;
    case Operation::kTriad:
    case Operation::kTriadNt:
      return b + kScalar * c;
    case Operation::kRmw:
      return kBefore + repetitions * kScalar;
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
        if (!is_library(traits.operation)) cases.push_back({isa, traits, order});
      }
    }
  }
  for (const Operation operation : {Operation::kMemset, Operation::kMemcpy}) {
    cases.push_back({"library", traits_of(operation), Order::kSequential});
  }
  return cases;
}

class EveryKernel : public testing::TestWithParam<Case> {};

// Over sizes that are no power of two and access sizes from a line up, in chunks that end anywhere:
// every element is right, nothing beside the arrays is touched, nothing is left out.
TEST_P(EveryKernel, DoesItsOperationOnTheWholeOfItsArraysAndNothingElse) {
  const auto& [isa, traits, order] = GetParam();
  const Kernel kernel = is_library(traits.operation) ? find_library_kernel(traits.operation)
                                                     : find_kernel(isa, traits.operation, order);
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

// A kernel in order zipf goes where its generator says, to each block as often as it comes.
void check_zipf(Kernel kernel, Operation operation, std::size_t access_size) {
  constexpr std::size_t kBlocks = 37;
  constexpr std::uint64_t kAccesses = 100;
  constexpr std::uint64_t kSeed = 77;
  const std::size_t n = kBlocks * access_size / sizeof(double);
  std::array<Array, 3> arrays;
  for (Array& array : arrays) array = make_array(n * sizeof(double));
  for (std::size_t i = 0; i < n; ++i) {
    arrays[0].get()[i] = kBefore;
    arrays[1].get()[i] = static_cast<double>(i % 7);
    arrays[2].get()[i] = static_cast<double>(i % 5);
  }
  const ZipfOrder zipf(kBlocks, 0.9);
  const Walk walk{.a = arrays[0].get(),
                  .b = arrays[1].get(),
                  .c = arrays[2].get(),
                  .scalar = kScalar,
                  .bytes = n * sizeof(double),
                  .access_size = access_size,
                  .zipf = &zipf};
  std::array<int, kBlocks> repetitions{};
  std::uint64_t state = kSeed;
  for (std::uint64_t i = 0; i < kAccesses; ++i) ++repetitions.at(zipf.next(state));
  Position position{.state = kSeed};
  for (std::uint64_t done = 0; done < kAccesses;) {
    const std::uint64_t chunk = std::min<std::uint64_t>(kAccesses - done, 1 + done % 13);
    kernel(walk, position, chunk);
    done += chunk;
  }
  EXPECT_EQ(position.state, state);
  for (std::size_t i = 0; i < n; ++i) {
    const int repeated = repetitions.at(i * sizeof(double) / access_size);
    const double wanted =
        repeated == 0 ? kBefore : expected(operation, walk.b[i], walk.c[i], repeated);
    ASSERT_EQ(walk.a[i], wanted) << "element " << i << " of " << n;
  }
}

TEST(ZipfOrder, IsWhatEveryKernelFollows) {
  for (const std::string_view isa : supported_isas()) {
    for (const OperationTraits& traits : kOperations) {
      if (is_library(traits.operation)) continue;
      for (const std::size_t access_size : {64U, 128U, 192U, 256U, 4096U}) {
        check_zipf(find_kernel(isa, traits.operation, Order::kZipf), traits.operation, access_size);
      }
    }
  }
}

TEST(NarrowKernels, GoOverTheWholeOfTheirArrayAndNothingElse) {
  constexpr std::size_t kLines = 13;
  constexpr std::size_t kDoubles = kLines * 8;
  const Array array = make_array((kLines + 2) * 64);
  const Walk walk{.a = array.get() + 8, .scalar = kScalar, .bytes = kLines * 64, .access_size = 64};
  for (const std::string_view isa : supported_isas()) {
    for (const std::size_t bytes : {8U, 16U, 32U}) {
      std::fill_n(array.get(), kDoubles + 16, kBefore);
      Position position;
      find_narrow_kernel(isa, Operation::kRead, bytes)(walk, position, kLines + 3);
      EXPECT_EQ(position.offset, 3 * 64U);
      EXPECT_EQ(std::ranges::count(std::span(array.get(), kDoubles + 16), kBefore), kDoubles + 16);
      find_narrow_kernel(isa, Operation::kWrite, bytes)(walk, position, kLines - 1);
      EXPECT_EQ(position.offset, 2 * 64U);
      for (std::size_t i = 0; i < kDoubles; ++i) {
        ASSERT_EQ(walk.a[i], i / 8 == 2 ? kBefore : kScalar) << isa << " " << bytes << " " << i;
      }
      EXPECT_EQ(walk.a[-1], kBefore);
      EXPECT_EQ(walk.a[kDoubles], kBefore);
    }
  }
}

TEST(ZipfOrder, BytesReachedAreThoseOfTheBlocksThatCame) {
  const ZipfOrder zipf(1000, 1.2);
  const Walk walk{.bytes = std::size_t{128} * 1000, .access_size = 128, .zipf = &zipf};
  for (const std::uint64_t accesses : {0U, 1U, 50U, 5000U}) {
    std::vector<bool> seen(1000);
    std::uint64_t state = 5;
    for (std::uint64_t i = 0; i < accesses; ++i) seen.at(zipf.next(state)) = true;
    EXPECT_EQ(zipf_bytes(walk, 5, accesses),
              128 * static_cast<std::uint64_t>(std::ranges::count(seen, true)));
  }
}

TEST(Operations, StandInTheTableAtTheirOwnPlace) {
  for (const OperationTraits& traits : kOperations) {
    EXPECT_EQ(traits_of(traits.operation).name, traits.name);
  }
}

TEST(RandomOrder, RepetitionsEveryBlockOnceOrTwiceAPeriod) {
  for (std::uint64_t blocks = 1; blocks < 300; ++blocks) {
    const RandomOrder order(blocks);
    std::vector<int> repetitions(blocks);
    std::uint64_t state = 12345;
    for (std::uint64_t step = 0; step < order.period(); ++step) ++repetitions.at(order.next(state));
    const auto [least, most] = std::ranges::minmax(repetitions);
    EXPECT_GE(least, 1) << blocks;
    EXPECT_LE(most, 2) << blocks;
  }
}

// Lines of `walk` that so many accesses update, by how often; made in chunks of odd lengths.
std::vector<int> touched(Kernel rmw, Walk walk, std::uint64_t accesses) {
  const Array array = make_array(walk.bytes);
  walk.a = array.get();
  walk.scalar = 1;
  const std::size_t n = walk.bytes / sizeof(double);
  std::fill_n(walk.a, n, 0.0);
  Position position;
  for (std::uint64_t done = 0, chunk = 1; done < accesses; chunk = chunk % 23 + 1) {
    const std::uint64_t now = std::min(chunk, accesses - done);
    rmw(walk, position, now);
    done += now;
  }
  std::vector<int> lines;
  for (std::size_t i = 0; i < n; i += 8) lines.push_back(static_cast<int>(walk.a[i]));
  return lines;
}

TEST(WalkedBytes, OfOrderStridedAreThoseThatWereTouched) {
  for (const std::string_view isa : supported_isas()) {
    const Kernel rmw = find_kernel(isa, Operation::kRmw, Order::kStrided);
    for (const std::size_t access : {1U, 2U, 3U, 5U, 8U}) {
      for (const std::size_t stride : {1U, 2U, 3U, 4U, 5U, 7U, 8U, 10U, 33U, 100U}) {
        for (const std::size_t blocks : {1U, 2U, 3U, 7U, 8U, 16U, 37U}) {
          if (stride < access) continue;
          const Walk walk{
              .bytes = 64 * access * blocks, .access_size = 64 * access, .stride = 64 * stride};
          for (const std::uint64_t accesses : {std::uint64_t{1}, blocks / 2 + 1, 3 * blocks}) {
            const std::vector<int> lines = touched(rmw, walk, accesses);
            const auto walked = static_cast<std::size_t>(
                std::ranges::count_if(lines, [](int times) { return times > 0; }));
            ASSERT_EQ(walked_bytes(Order::kStrided, walk, accesses), 64 * walked)
                << "access " << access << ", stride " << stride << ", blocks " << blocks << ", "
                << accesses << " accesses";
          }
        }
      }
    }
  }
}

// The loops make several addresses at once; they come in the order in which one at a time come, and
// a walk goes on where it stopped.
TEST(RandomOrder, IsTheSameInEveryKernelAndInChunksOfAnyLength) {
  for (const std::string_view isa : supported_isas()) {
    const Kernel rmw = find_kernel(isa, Operation::kRmw, Order::kRandom);
    for (const std::size_t access : {1U, 2U, 3U, 4U}) {
      for (const std::uint64_t blocks : {1U, 5U, 64U, 1000U}) {
        for (const std::uint64_t accesses : {7U, 8U, 500U, 3000U}) {
          const Walk walk{.bytes = 64 * access * blocks, .access_size = 64 * access};
          std::vector<int> expected(blocks * access);
          const RandomOrder order(blocks);
          std::uint64_t state = 0;
          for (std::uint64_t i = 0; i < accesses; ++i) {
            const std::uint64_t block = order.next(state);
            for (std::size_t line = 0; line < access; ++line) ++expected[block * access + line];
          }
          ASSERT_EQ(touched(rmw, walk, accesses), expected)
              << isa << " " << access << " " << blocks;
        }
      }
    }
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
