#include "benches/between_runs.h"

namespace tierscope {

Outcome with_difference_between_runs(Outcome outcome) {
  Estimate& estimate = outcome.sampled.estimate;
  estimate.low -= kBetweenRuns * estimate.median;
  estimate.high += kBetweenRuns * estimate.median;
  for (Figure& figure : outcome.figures) {
    figure.low -= kBetweenRuns * figure.estimate;
    figure.high += kBetweenRuns * figure.estimate;
  }
  return outcome;
}

}  // namespace tierscope
