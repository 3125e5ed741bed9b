#include "sampling/sampler.h"

#include <cmath>

namespace tierscope {
namespace {

constexpr double kWarmUpShare = 0.2;

bool agree(double first, double second, double tolerance) {
  return std::abs(first - second) <= tolerance * std::abs(second);
}

}  // namespace

Sampled take_samples(const SamplingRule& rule, const std::function<double()>& sample,
                     const Surroundings& surroundings) {
  Sampled result{
      .samples = {}, .estimate = {}, .stop = Stop::kBudget, .warm_up = 0, .settled = false};
  const double start = surroundings.now();
  const auto elapsed = [&] { return surroundings.now() - start; };

  double previous = 0;
  while (!result.settled && !surroundings.interrupted() &&
         (result.warm_up < 1 || elapsed() < kWarmUpShare * rule.budget_s)) {
    const double value = sample();
    result.settled = result.warm_up > 0 && agree(previous, value, 2 * rule.precision);
    previous = value;
    ++result.warm_up;
  }

  std::vector<double> calm;
  std::size_t next_look = kFewest;
  while (true) {
    const double value = surroundings.interrupted() ? 0 : sample();
    if (surroundings.interrupted()) {  // Before or during the sample: what was cut is not kept.
      result.stop = Stop::kInterrupted;
      break;
    }
    result.samples.push_back(value);
    if (!surroundings.disturbed || !surroundings.disturbed()) calm.push_back(value);
    const double spent = elapsed();
    surroundings.progress(spent, result.samples);
    if (calm.size() >= next_look && spent >= kShortest * rule.budget_s) {
      if (estimate_median(calm).relative_half_width() <= rule.precision) {
        result.stop = Stop::kPrecision;
        break;
      }
      next_look = calm.size() + 1 + calm.size() / 10;
    }
    if (spent >= rule.budget_s) break;
  }
  const int disturbed = static_cast<int>(result.samples.size() - calm.size());
  if (calm.size() >= kFewest) {
    result.samples = std::move(calm);
    result.replaced = disturbed;
  } else {
    result.disturbed = disturbed;
  }
  if (!result.samples.empty()) result.estimate = estimate_median(result.samples);
  return result;
}

}  // namespace tierscope
