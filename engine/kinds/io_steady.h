// Whether the figures of the latest windows are steady, so that jobs may end.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tierscope {

struct SteadyRule {
  enum class Figure { kIops, kBandwidth, kLatency };
  Figure figure;
  bool slope;         // Of a line through the figures, else how far one is from their mean.
  double limit;       // Of the slope in a window, or of the distance.
  bool of_the_mean;   // The limit is a share of the mean, else in the figure's unit.
  double duration_s;  // Of the windows that are looked at.
  double ramp_s;      // Before the first of them.
};

class SteadyState {
 public:
  // A figure comes every `window_s` seconds.
  SteadyState(const SteadyRule& rule, double window_s);

  // Adds the figure of a window; whether the latest ones are steady.
  bool add(double figure);

  const SteadyRule& rule() const { return rule_; }
  bool attained() const { return attained_; }
  double criterion() const { return criterion_; }
  double mean() const;
  double slope() const;
  double deviation() const;
  const std::vector<double>& figures() const { return figures_; }

 private:
  SteadyRule rule_;
  std::size_t wanted_;
  std::size_t left_out_;
  std::vector<double> figures_;  // Of the latest windows.
  double criterion_ = 0;         // In percent of the mean where the limit is one.
  bool attained_ = false;
};

}  // namespace tierscope
