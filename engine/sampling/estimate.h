// The median of a series of samples, and how sure it is.
#pragma once

#include <span>

namespace tierscope {

// Effective samples from which on ranks give a 95% interval: 2 / 2^6 is less than 5%.
constexpr int kFewestForRanks = 6;

struct Estimate {
  double median;
  double low;  // 95% confidence interval of the median: low..high.
  double high;
  double effective_n;  // Independent samples that the series is worth, 1..n.

  // Half of the interval as a share of the median; infinite for a median of zero.
  double relative_half_width() const;
};

// Samples in the order they were taken, at least one.
//
// The interval goes from one order statistic to another and so holds for any distribution
// (Conover, Practical Nonparametric Statistics, 3.2). Samples that follow each other on a shared
// machine depend on each other, and a drifting series would look far too sure; so the ranks are
// chosen for the effective number of samples n / tau, tau being the integrated autocorrelation
// time of the series "is above the median" (initial positive sequence: Geyer, Statistical
// Science 7, 1992), which is what the median's variance depends on. A short series tells little of
// tau, and most often too little: it counts with two standard errors on top (Madras and Sokal,
// Journal of Statistical Physics 50, 1988).
//
// Fewer than six effective samples cannot give 95% in this way. Two to five get Student's t by
// their median absolute deviation, cut to smallest..largest: bursts of disturbance far from the
// median do not widen it, drift and two modes do. One gets smallest..largest, which covers nothing.
Estimate estimate_median(std::span<const double> samples);

}  // namespace tierscope
