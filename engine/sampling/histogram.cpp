#include "sampling/histogram.h"

#include <numeric>

namespace tierscope {
namespace {

double middle_of(std::size_t bucket) {
  const std::size_t shift = bucket < 256 ? 0 : bucket / 128 - 1;
  const std::uint64_t low = static_cast<std::uint64_t>(bucket - 128 * shift) << shift;
  return static_cast<double>(low) + static_cast<double>((std::uint64_t{1} << shift) - 1) / 2;
}

}  // namespace

std::uint64_t Histogram::count() const {
  return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

double Histogram::sum() const {
  double found = 0;
  for_each([&](std::size_t bucket, std::uint64_t count) {
    found += middle_of(bucket) * static_cast<double>(count);
  });
  return found;
}

BucketCounts Histogram::counts() const {
  BucketCounts found;
  for_each([&](std::size_t bucket, std::uint64_t count) { found.emplace_back(bucket, count); });
  return found;
}

double Histogram::quantile(double share) const {
  const double wanted = share * static_cast<double>(count());
  double counted = 0;
  std::size_t last = 0;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    if (counts_[bucket] == 0) continue;
    last = bucket;
    counted += static_cast<double>(counts_[bucket]);
    if (counted >= wanted) break;
  }
  return middle_of(last);
}

}  // namespace tierscope
