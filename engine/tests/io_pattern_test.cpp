#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "errors.h"
#include "storage/pattern.h"

namespace tierscope {
namespace {

IoPattern pattern_of(IoOrder order, std::vector<BlockShare> blocks, std::uint64_t align) {
  IoPattern pattern{};
  pattern.order = order;
  pattern.blocks = std::move(blocks);
  pattern.align = align;
  pattern.zipf = 1.1;
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

}  // namespace
}  // namespace tierscope
