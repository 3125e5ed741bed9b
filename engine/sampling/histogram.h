// A histogram of durations, each of its buckets at most 1/128 of its values wide.
//
// The layout is that of Gil Tene's HdrHistogram (https://hdrhistogram.org) for two significant
// digits. Below 256 each value has its own bucket; from there on each power of two has 128 buckets
// of equal width:
//
//   bucket of v:       shift = max(0, bit_width(v) - 8); bucket = 128 * shift + (v >> shift)
//   values of bucket:  shift = max(0, bucket / 128 - 1); low = (bucket - 128 * shift) << shift;
//                      high = low + (1 << shift) - 1
//
// A value that is taken to be in the middle of its bucket is at most 0.4% off.
// src/tierscope/model/histogram.py has the same functions.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tierscope {

// What a histogram holds, without its empty buckets: (bucket, count) in ascending order.
using BucketCounts = std::vector<std::pair<std::size_t, std::uint64_t>>;

// Takes 36 KiB, of which values within one power of two touch 1 KiB. Not for concurrent use: each
// thread has its own, and `add` makes one of them.
class Histogram {
 public:
  // 73 minutes where values are ns; what is longer counts as this.
  static constexpr std::uint64_t kMaxValue = (std::uint64_t{1} << 42) - 1;

  static constexpr std::size_t bucket_of(std::uint64_t duration) {
    const std::uint64_t value = std::min(duration, kMaxValue);
    const auto shift = static_cast<std::size_t>(std::bit_width(value | 0xff) - 8);  // Below 256: 0.
    return 128 * shift + (value >> shift);
  }

  // In the unit of the caller's choice: in the histograms of a sample (harness/kind.h) ns.
  void record(std::uint64_t duration, std::uint64_t times = 1) {
    counts_[bucket_of(duration)] += times;
  }

  void add(const Histogram& other) {
    for (std::size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
  }

  void clear() { counts_.fill(0); }

  // Buckets that are not empty, each with its count, in ascending order.
  BucketCounts counts() const;

  // Durations recorded; adds up all buckets.
  std::uint64_t count() const;

  // Their sum, each taken to be in the middle of its bucket.
  double sum() const;

  // The smallest duration that at least `share` (0..1) of all do not exceed, as the middle of its
  // bucket; 0 where there is none.
  double quantile(double share) const;

  // Calls `visit(bucket, count)` for each bucket that is not empty, in ascending order.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (std::size_t i = 0; i < kBuckets; ++i) {
      if (counts_[i] != 0) visit(i, counts_[i]);
    }
  }

 private:
  static constexpr std::size_t kBuckets = 4608;  // bucket_of(kMaxValue) + 1

  std::array<std::uint64_t, kBuckets> counts_{};
};

}  // namespace tierscope
