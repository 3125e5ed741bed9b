// Takes samples until the estimate is as sure as asked, or time is up.
#pragma once

#include <functional>
#include <vector>

#include "sampling/estimate.h"

namespace tierscope {

struct SamplingRule {
  double precision;  // Asked half-width of the 95% interval, as a share of the median.
  double budget_s;   // Wall-clock seconds, warm-up included.
  double sample_s;   // Seconds that one sample should last.
};

enum class Stop { kPrecision, kBudget, kInterrupted };

struct Sampled {
  std::vector<double> samples;
  Estimate estimate;
  Stop stop;
  int warm_up;        // Samples that were dropped before `samples`.
  bool settled;       // The last two of the warm-up agreed.
  int disturbed = 0;  // Of `samples`, kept for want of enough calm ones.
  int replaced = 0;   // Disturbed ones that were dropped, since calm ones took their place.
};

// What the sampler asks of its surroundings; tests give it a made-up clock.
struct Surroundings {
  std::function<double()> now;                                                 // Seconds.
  std::function<bool()> interrupted;                                           // A signal came.
  std::function<void(double elapsed_s, const std::vector<double>&)> progress;  // After each one.
  std::function<bool()> disturbed = nullptr;  // Others disturbed the last sample; none: never.
};

// Warm-up: samples are dropped until two in a row agree within twice the precision, for a fifth
// of the budget at most. Then samples are taken until the interval's half-width is within the
// precision (looked at only when their number has grown by a tenth, so that one lucky look does
// not end it; never before kFewest samples and kShortest of the budget have passed), or until the
// budget is spent. At least one sample is taken whatever the budget; an interruption before the
// first gives none and `samples` is empty.
//
// A disturbed sample is taken again within the budget: once there are kFewest calm ones, they are
// the samples and the others are only counted. Where the budget brings fewer, all are kept.
inline constexpr int kFewest = 15;
inline constexpr double kShortest = 0.25;
Sampled take_samples(const SamplingRule& rule, const std::function<double()>& sample,
                     const Surroundings& surroundings);

}  // namespace tierscope
