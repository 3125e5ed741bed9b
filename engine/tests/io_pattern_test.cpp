#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "errors.h"
#include "storage/pattern.h"

namespace tierscope {
namespace {

IoPattern pattern_of(IoOrder order, std::vector<BlockShare> blocks, std::uint64_t align) {
  IoPattern pattern{};
  pattern.order = order;
  pattern.blocks = std::move(blocks);
  pattern.align = align;
  pattern.skew = 1.1;
  pattern.seed = 1;
  return pattern;
}

TEST(IoPatternTest, SequentialGoesOnWhereItStoodAndWrapsAround) {
  const IoPattern pattern = pattern_of(IoOrder::kSequential, {{4096, 1}}, 4096);
  RequestStream stream(pattern, {{.file = 0, .first = 8192, .last = 20480}}, 0, 0);
  std::vector<std::uint64_t> offsets;
  for (int i = 0; i < 5; ++i) offsets.push_back(stream.next().offset);
  EXPECT_EQ(offsets, (std::vector<std::uint64_t>{8192, 12288, 16384, 8192, 12288}));
}

TEST(IoPatternTest, SequentialThreadsOfSharedFilesBeginApart) {
  const IoPattern pattern = pattern_of(IoOrder::kSequential, {{4096, 1}}, 4096);
  RequestStream stream(pattern, {{.file = 0, .first = 0, .last = 8192}, {1, 0, 8192}}, 1, 0.5);
  const IoRequest first = stream.next();
  EXPECT_EQ(first.file, 1);
  EXPECT_EQ(first.offset, 0);
}

TEST(IoPatternTest, RandomReachesEveryBlockOfEveryFile) {
  const IoPattern pattern = pattern_of(IoOrder::kRandom, {{4096, 1}}, 4096);
  RequestStream stream(pattern, {{.file = 0, .first = 4096, .last = 4096 * 9}, {1, 0, 4096 * 8}}, 3,
                       0);
  std::set<std::pair<int, std::uint64_t>> seen;
  for (int i = 0; i < 16; ++i) {
    const IoRequest request = stream.next();
    seen.emplace(request.file, request.offset);
    EXPECT_EQ(request.offset % 4096, 0);
  }
  EXPECT_EQ(seen.size(), 16);
  EXPECT_EQ(seen.begin()->second, 4096);
}

TEST(IoPatternTest, BlocksOfEverySizeStayInTheRange) {
  const IoPattern pattern = pattern_of(IoOrder::kRandom, {{512, 1}, {4096, 2}, {65536, 1}}, 512);
  const std::uint64_t last = 1 << 20;
  RequestStream stream(pattern, {{.file = 0, .first = 0, .last = last}}, 0, 0);
  std::map<std::uint32_t, int> counts;
  for (int i = 0; i < 40000; ++i) {
    const IoRequest request = stream.next();
    ++counts[request.bytes];
    ASSERT_LE(request.offset + request.bytes, last);
  }
  EXPECT_NEAR(counts[512], 10000, 500);
  EXPECT_NEAR(counts[4096], 20000, 500);
  EXPECT_NEAR(counts[65536], 10000, 500);
}

TEST(IoPatternTest, AMixHasTheShareOfReads) {
  IoPattern pattern = pattern_of(IoOrder::kRandom, {{4096, 1}}, 4096);
  pattern.operation = IoOperation::kMix;
  pattern.read_percent = 70;
  RequestStream stream(pattern, {{.file = 0, .first = 0, .last = 1 << 20}}, 0, 0);
  int reads = 0;
  for (int i = 0; i < 10000; ++i) reads += stream.next().write ? 0 : 1;
  EXPECT_NEAR(reads, 7000, 200);
}

TEST(IoPatternTest, ZipfPrefersFewBlocks) {
  const IoPattern pattern = pattern_of(IoOrder::kZipf, {{4096, 1}}, 4096);
  RequestStream stream(pattern, {{.file = 0, .first = 0, .last = 4096ULL * 10000}}, 0, 0);
  std::map<std::uint64_t, int> counts;
  for (int i = 0; i < 100000; ++i) ++counts[stream.next().offset];
  int most = 0;
  for (const auto& [offset, count] : counts) most = std::max(most, count);
  EXPECT_GT(most, 5000);  // A uniform order has 10 of each.
}

TEST(IoPatternTest, MisalignedOffsetsStayInTheFile) {
  IoPattern pattern = pattern_of(IoOrder::kSequential, {{4096, 1}}, 4096);
  pattern.misalign = 512;
  const std::vector<std::uint64_t> sizes{16384};
  const std::vector<FileRange> ranges = ranges_of_thread(pattern, sizes, 0, 1, false);
  RequestStream stream(pattern, ranges, 0, 0);
  for (int i = 0; i < 10; ++i) {
    const IoRequest request = stream.next();
    EXPECT_EQ(request.offset % 4096, 512);
    EXPECT_LE(request.offset + request.bytes, sizes[0]);
  }
}

TEST(IoPatternTest, ThreadsHaveTheirOwnFilesOrShareOne) {
  const IoPattern pattern = pattern_of(IoOrder::kSequential, {{4096, 1}}, 4096);
  const std::vector<std::uint64_t> one{40960};
  const std::vector<std::uint64_t> two{8192, 8192};
  EXPECT_EQ(ranges_of_thread(pattern, two, 1, 2, false).front().file, 1);
  EXPECT_EQ(ranges_of_thread(pattern, one, 1, 2, false).front().first, 20480);
  EXPECT_EQ(ranges_of_thread(pattern, one, 1, 2, false).front().last, 40960);
  EXPECT_EQ(ranges_of_thread(pattern, two, 0, 3, true).size(), 2);
  EXPECT_THROW(ranges_of_thread(pattern, one, 0, 20, false), Unavailable);
}

TEST(IoPatternTest, TheUsedRangeIsInsideTheFile) {
  IoPattern pattern = pattern_of(IoOrder::kSequential, {{4096, 1}}, 4096);
  pattern.offset = 8192;
  pattern.range = 8192;
  const std::vector<std::uint64_t> sizes{65536};
  const FileRange range = ranges_of_thread(pattern, sizes, 0, 1, false).front();
  EXPECT_EQ(range.first, 8192);
  EXPECT_EQ(range.last, 16384);
  pattern.offset = 1 << 20;
  EXPECT_THROW(ranges_of_thread(pattern, sizes, 0, 1, false), Unavailable);
}

TEST(ArrivalsTest, RegularOnesAreEvenlySpaced) {
  Arrivals arrivals(1000, false, 1);
  EXPECT_DOUBLE_EQ(arrivals.next_ns(), 1e6);
  EXPECT_DOUBLE_EQ(arrivals.next_ns(), 2e6);
}

TEST(ArrivalsTest, PoissonOnesHaveExponentialGaps) {
  Arrivals arrivals(1000, true, 1);
  constexpr int kCount = 20000;
  double last = 0;
  double squares = 0;
  for (int i = 0; i < kCount; ++i) {
    const double due = arrivals.next_ns();
    squares += (due - last) * (due - last);
    last = due;
  }
  const double mean = last / kCount;
  EXPECT_NEAR(mean, 1e6, 3e4);
  // An exponential distribution's standard deviation is its mean.
  EXPECT_NEAR(std::sqrt(squares / kCount - mean * mean), 1e6, 5e4);
}

std::vector<std::uint64_t> offsets_of(const IoPattern& pattern, int number,
                                      std::uint64_t last = 4096 * 8) {
  RequestStream stream(pattern, {{.file = 0, .first = 0, .last = last}}, 0, 0);
  std::vector<std::uint64_t> found;
  for (int i = 0; i < number; ++i) found.push_back(stream.next().offset / 4096);
  return found;
}

TEST(IoPatternTest, AStrideLeavesBytesOutAndGoesBackwards) {
  IoPattern pattern = pattern_of(IoOrder::kSequential, {{4096, 1}}, 4096);
  pattern.stride = 4096;
  EXPECT_EQ(offsets_of(pattern, 6), (std::vector<std::uint64_t>{0, 2, 4, 6, 0, 2}));
  pattern.stride = -8192;
  EXPECT_EQ(offsets_of(pattern, 10), (std::vector<std::uint64_t>{7, 6, 5, 4, 3, 2, 1, 0, 7, 6}));
}

TEST(IoPatternTest, ARunGoesOnFromARandomOffsetOrKeepsToIt) {
  IoPattern pattern = pattern_of(IoOrder::kRandom, {{4096, 1}}, 4096);
  pattern.run = 3;
  const std::vector<std::uint64_t> onward = offsets_of(pattern, 30, 4096 * 64);
  for (std::size_t i = 0; i < onward.size(); ++i) {
    if (i % 3 != 0 && onward[i] != 0) EXPECT_EQ(onward[i], onward[i - 1] + 1) << i;
  }
  pattern.same = true;
  const std::vector<std::uint64_t> same = offsets_of(pattern, 30, 4096 * 64);
  EXPECT_EQ(std::set(same.begin(), same.end()).size(), 10);
  for (std::size_t i = 0; i < same.size(); ++i) EXPECT_EQ(same[i], same[i / 3 * 3]);
}

TEST(IoPatternTest, APartOfRandomOperationsGoesOnInSequence) {
  IoPattern pattern = pattern_of(IoOrder::kRandom, {{4096, 1}}, 4096);
  pattern.random_percent = 25;
  const std::vector<std::uint64_t> found = offsets_of(pattern, 20000, 4096ULL << 20);
  int onward = 0;
  for (std::size_t i = 1; i < found.size(); ++i) onward += found[i] == found[i - 1] + 1;
  EXPECT_NEAR(onward, 15000, 400);
}

TEST(IoPatternTest, ZonesGetTheirShareOfAccesses) {
  IoPattern pattern = pattern_of(IoOrder::kZoned, {{4096, 1}}, 4096);
  pattern.zones = {{50, 5}, {30, 15}, {20, 80}};
  int first = 0;
  int second = 0;
  for (const std::uint64_t block : offsets_of(pattern, 20000, 4096 * 1000)) {
    first += block < 50;
    second += block >= 50 && block < 200;
  }
  EXPECT_NEAR(first, 10000, 350);
  EXPECT_NEAR(second, 6000, 350);
}

TEST(IoPatternTest, ParetoAndNormalPreferFewBlocksAndReachThemByChance) {
  for (const auto& [order, skew, most] :
       {std::tuple(IoOrder::kPareto, 0.2, 0.2), std::tuple(IoOrder::kNormal, 5.0, 0.3)}) {
    IoPattern pattern = pattern_of(order, {{4096, 1}}, 4096);
    pattern.skew = skew;
    std::map<std::uint64_t, int> counts;
    for (const std::uint64_t block : offsets_of(pattern, 20000, 4096 * 1024)) {
      ASSERT_LT(block, 1024);
      ++counts[block];
    }
    std::vector<int> often;
    for (const auto& [block, count] : counts) often.push_back(count);
    std::ranges::sort(often, std::greater{});
    const auto hot = static_cast<std::ptrdiff_t>(most * 1024);
    const int share = std::accumulate(
        often.begin(), often.begin() + std::min<std::ptrdiff_t>(hot, std::ssize(often)), 0);
    EXPECT_GT(share, 15000) << static_cast<int>(order);
  }
}

TEST(IoPatternTest, StridedZonesAreUsedOneAfterAnother) {
  IoPattern pattern = pattern_of(IoOrder::kSequential, {{4096, 1}}, 4096);
  pattern.strided = StridedZones{.bytes = 8192, .range = 8192, .skip = 8192};
  EXPECT_EQ(offsets_of(pattern, 6), (std::vector<std::uint64_t>{0, 1, 4, 5, 0, 1}));
  pattern.order = IoOrder::kRandom;
  pattern.strided = StridedZones{.bytes = 4096, .range = 16384, .skip = 0};
  const std::vector<std::uint64_t> found = offsets_of(pattern, 8);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i] / 4, i % 2);
}

TEST(IoPatternTest, FilesAreTakenByTurns) {
  IoPattern pattern = pattern_of(IoOrder::kSequential, {{4096, 1}}, 4096);
  pattern.by_turns = true;
  RequestStream stream(pattern, {{0, 0, 8192}, {1, 0, 8192}}, 0, 0);
  std::vector<std::pair<int, std::uint64_t>> found;
  for (int i = 0; i < 5; ++i) {
    const IoRequest next = stream.next();
    found.emplace_back(next.file, next.offset);
  }
  EXPECT_EQ(found, (std::vector<std::pair<int, std::uint64_t>>{
                       {0, 0}, {1, 0}, {0, 4096}, {1, 4096}, {0, 0}}));
}

TEST(IoPatternTest, WritesOfAMixHaveSizesOfTheirOwn) {
  IoPattern pattern = pattern_of(IoOrder::kRandom, {{4096, 1}}, 4096);
  pattern.operation = IoOperation::kMix;
  pattern.read_percent = 50;
  pattern.write_blocks = {{16384, 1}};
  EXPECT_EQ(pattern.largest_block(), 16384);
  RequestStream stream(pattern, {{.file = 0, .first = 0, .last = 1 << 20}}, 0, 0);
  for (int i = 0; i < 100; ++i) {
    const IoRequest next = stream.next();
    EXPECT_EQ(next.bytes, next.write ? 16384 : 4096);
  }
  EXPECT_TRUE(stream.next(true).write);
  EXPECT_FALSE(stream.next(false).write);
}

}  // namespace
}  // namespace tierscope
