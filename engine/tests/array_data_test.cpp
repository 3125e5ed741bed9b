#include "access/array_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <set>
#include <span>
#include <vector>

#include "access/library.h"
#include "errors.h"
#include "splitmix64.h"

namespace tierscope {
namespace {

constexpr std::size_t kBytes = std::size_t{8} << 20;
constexpr std::size_t kFirst = 1000;  // The share begins here in its array.

std::set<std::size_t> blocks(const ProofSample& sample) {
  std::set<std::size_t> found;
  sample.for_each([&found](std::size_t first, std::size_t) { found.insert(first); });
  return found;
}

TEST(ProofSample, IsOneBlockIn64AtOtherPlacesForEachSeed) {
  const std::size_t wanted = kBytes / 64;
  EXPECT_NEAR(static_cast<double>(ProofSample(kBytes, 1).bytes()), wanted, 0.6 * wanted);
  EXPECT_EQ(blocks(ProofSample(kBytes, 1)), blocks(ProofSample(kBytes, 1)));
  EXPECT_NE(blocks(ProofSample(kBytes, 1)), blocks(ProofSample(kBytes, 2)));
  std::set<std::size_t> all;
  for (std::uint64_t seed = 1; seed < 1000; ++seed) all.merge(blocks(ProofSample(kBytes, seed)));
  EXPECT_EQ(all, blocks(ProofSample(kBytes))) << "no block is left out for ever";
}

TEST(ProofSample, IsAllOfAShareThatIsSmall) {
  EXPECT_TRUE(ProofSample(ProofSample::kMinBytes, 1).all());
  EXPECT_EQ(ProofSample(100, 1).bytes(), 100U);
  EXPECT_EQ(ProofSample(kBytes).bytes(), kBytes);
}

class Copied : public testing::Test {
 protected:
  Copied() : a_(kBytes / sizeof(double)), b_(a_.size()) {
    fill_b(b_, kFirst);
    overwrite(walk_, sample_);
    a_ = b_;
  }

  std::uint64_t verified() { return verify_written(Operation::kCopy, walk_, kFirst, 0, sample_); }

  std::vector<double> a_;
  std::vector<double> b_;
  ProofSample sample_{kBytes, 1};
  Walk walk_{.a = a_.data(), .b = b_.data(), .bytes = kBytes, .access_size = 64};
};

TEST_F(Copied, CountsWhatWasWrittenInTheSample) { EXPECT_EQ(verified(), sample_.bytes()); }

TEST_F(Copied, BlocksThatNobodyWroteToAreNotCounted) {
  overwrite(walk_, sample_);
  EXPECT_EQ(verified(), 0U);
}

TEST_F(Copied, AWrongElementOfTheSampleIsFoundAndNoOther) {
  std::size_t inside = 0;
  sample_.for_each(
      [&inside](std::size_t, std::size_t last) { inside = last / sizeof(double) - 1; });
  const std::set<std::size_t> sampled = blocks(sample_);
  std::size_t outside = 0;
  while (sampled.contains(outside)) outside += ProofSample::kBlock;
  a_[outside / sizeof(double)] += 1;
  EXPECT_EQ(verified(), sample_.bytes());
  a_[inside] += 1;
  EXPECT_THROW(verified(), Failure);
}

// STREAM's operations, each by its own kernel.
class Streamed : public testing::TestWithParam<Operation> {
 protected:
  Streamed() {
    fill_b(b_, 0);
    fill_c(c_, 0);
    overwrite(walk_, all_);
  }

  std::uint64_t verified() {
    const Kernel kernel = is_library(GetParam())
                              ? find_library_kernel(GetParam())
                              : find_kernel(resolve_isa("auto"), GetParam(), Order::kSequential);
    Position position;
    kernel(walk_, position, walk_.accesses());
    for (const std::size_t at : flipped_) {
      a_[at] = std::bit_cast<double>(std::bit_cast<std::uint64_t>(a_[at]) ^ 1U);
    }
    return verify_written(GetParam(), walk_, 0, walk_.accesses(), all_);
  }

  static constexpr std::size_t kElements = std::size_t{1} << 17;
  // Non-temporal stores take whole lines.
  struct alignas(64) Line {
    double elements[8];
  };
  std::vector<Line> memory_ = std::vector<Line>(3 * kElements / 8);
  double* const base_ = memory_.front().elements;
  std::span<double> a_{base_, kElements};
  std::span<double> b_{base_ + kElements, kElements};
  std::span<double> c_{base_ + 2 * kElements, kElements};
  Walk walk_{.a = a_.data(),
             .b = b_.data(),
             .c = c_.data(),
             .scalar = kWrittenScalar,
             .bytes = kElements * sizeof(double),
             .access_size = 64};
  ProofSample all_{kElements * sizeof(double)};
  std::vector<std::size_t> flipped_;
};

TEST_P(Streamed, AllThatWasWrittenIsRight) { EXPECT_EQ(verified(), walk_.bytes); }

TEST_P(Streamed, TheLowestBitOfOneElementIsFoundWhereverItIs) {
  std::uint64_t state = 1;
  for (int i = 0; i < 64; ++i) {
    const std::size_t places[] = {0, kElements - 1};
    state += kSplitMix64Step;
    flipped_ = {i < 2 ? places[i] : splitmix64_mixed(state) % kElements};
    EXPECT_THROW(verified(), Failure) << "element " << flipped_.front();
  }
}

TEST_P(Streamed, AWrongElementOfAnArrayThatIsReadIsFound) {
  const bool two = traits_of(GetParam()).arrays == 2;
  for (const std::span<double> read : {b_, two ? b_ : c_}) {
    const double right = read[kElements / 3];
    read[kElements / 3] += 1;
    EXPECT_THROW(verified(), Failure);
    read[kElements / 3] = right;
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, Streamed,
                         testing::Values(Operation::kCopy, Operation::kCopyNt, Operation::kMemcpy,
                                         Operation::kScale, Operation::kScaleNt, Operation::kAdd,
                                         Operation::kAddNt, Operation::kTriad,
                                         Operation::kTriadNt));

TEST(Updates, AreCountedWhereAllIsCompared) {
  std::vector<double> a(kBytes / sizeof(double));
  const Walk walk{.a = a.data(), .bytes = kBytes, .access_size = 64};
  const ProofSample all(kBytes);
  overwrite(walk, all);
  for (std::size_t i = 0; i < 16; ++i) a[i] += kWrittenScalar;
  EXPECT_EQ(verify_written(Operation::kRmw, walk, 0, 2, all), 128U);
  EXPECT_THROW(verify_written(Operation::kRmw, walk, 0, 3, all), Failure) << "one is lost";
  a[0] += 1;
  EXPECT_THROW(verify_written(Operation::kRmw, walk, 0, 2, all), Failure);
}

TEST(Updates, OfASampleAreWholeNumbers) {
  std::vector<double> a(kBytes / sizeof(double));
  const Walk walk{.a = a.data(), .bytes = kBytes, .access_size = 64};
  const ProofSample sample(kBytes, 3);
  overwrite(walk, sample);
  const std::size_t at = *blocks(sample).begin() / sizeof(double);
  a[at] += 5 * kWrittenScalar;
  EXPECT_EQ(verify_written(Operation::kRmw, walk, 0, 1, sample), sizeof(double));
  a[at] += 1;
  EXPECT_THROW(verify_written(Operation::kRmw, walk, 0, 1, sample), Failure);
}

}  // namespace
}  // namespace tierscope
