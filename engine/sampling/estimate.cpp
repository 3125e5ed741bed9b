#include "sampling/estimate.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace tierscope {
namespace {

double median_of_sorted(std::span<const double> sorted) {
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

// Upper end of the integrated autocorrelation time, 1..n, of whether each sample is above the
// median.
double autocorrelation_time(std::span<const double> samples, double median) {
  const std::size_t n = samples.size();
  std::vector<double> sign(n);
  for (std::size_t i = 0; i < n; ++i) {
    // Ties with the median carry no information on which side the series is.
    sign[i] = samples[i] > median ? 1.0 : (samples[i] < median ? -1.0 : 0.0);
  }
  const auto covariance = [&](std::size_t lag) {
    double sum = 0;
    for (std::size_t i = 0; i + lag < n; ++i) sum += sign[i] * sign[i + lag];
    return sum / static_cast<double>(n);
  };
  const double variance = covariance(0);
  if (variance <= 0) return 1.0;  // All samples are equal.
  double tau = -1.0;
  std::size_t lag = 0;
  for (; lag + 1 < n; lag += 2) {
    const double pair = (covariance(lag) + covariance(lag + 1)) / variance;
    if (pair <= 0) break;
    tau += 2 * pair;
  }
  // A series that does not cling to one side of its median has no window to be unsure about.
  const double window = tau > 1 ? static_cast<double>(lag) : 0;
  const double relative_error = std::sqrt(2 * (2 * window + 1) / static_cast<double>(n));
  return std::min(std::max(tau, 1.0) * (1 + 2 * relative_error), static_cast<double>(n));
}

// How many of n >= 6 fair coin tosses at most come up heads with probability <= 2.5%.
int lower_rank(int n) {
  double cumulative = 0;
  int rank = 0;
  for (int heads = 0; heads <= n; ++heads) {
    const double log_ways = std::lgamma(n + 1.0) - std::lgamma(heads + 1.0) -
                            std::lgamma(static_cast<double>(n - heads) + 1.0);
    cumulative += std::exp(log_ways - n * std::log(2.0));
    if (cumulative > 0.025) break;
    rank = heads;
  }
  return rank;
}

// Half of the interval that Student's t gives `whole` independent samples, 2 to 5, by their median
// absolute deviation; where only the bulk of the samples is normal, too.
double student_half_width(std::span<const double> sorted, double median, int whole) {
  constexpr std::array<double, 4> kQuantiles{12.706, 4.303, 3.182,
                                             2.776};  // 97.5%, 1 to 4 degrees.
  constexpr double kDeviation = 1.4826;    // Standard over median absolute deviation, if normal.
  constexpr double kMedianError = 1.2533;  // Of a normal median over the mean's: sqrt(pi / 2).
  std::vector<double> apart;
  for (const double sample : sorted) apart.push_back(std::abs(sample - median));
  std::sort(apart.begin(), apart.end());
  return kQuantiles[static_cast<std::size_t>(whole - 2)] * kMedianError * kDeviation *
         median_of_sorted(apart) / std::sqrt(whole);
}

}  // namespace

double Estimate::relative_half_width() const {
  return median == 0 ? std::numeric_limits<double>::infinity()
                     : (high - low) / 2 / std::abs(median);
}

Estimate estimate_median(std::span<const double> samples) {
  assert(!samples.empty());
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  const double median = median_of_sorted(sorted);
  const double n = static_cast<double>(samples.size());
  const double effective = n / autocorrelation_time(samples, median);
  const int whole = std::max(1, static_cast<int>(effective));
  Estimate estimate{
      .median = median, .low = sorted.front(), .high = sorted.back(), .effective_n = effective};
  if (whole >= kFewestForRanks) {
    // The same share of the series is cut off on each side as would be of `whole` independent ones.
    const auto cut = static_cast<std::size_t>(n * lower_rank(whole) / whole);
    estimate.low = sorted[cut];
    estimate.high = sorted[sorted.size() - 1 - cut];
  } else if (whole > 1) {
    const double half = student_half_width(sorted, median, whole);
    estimate.low = std::max(estimate.low, median - half);
    estimate.high = std::min(estimate.high, median + half);
  }
  return estimate;
}

}  // namespace tierscope
