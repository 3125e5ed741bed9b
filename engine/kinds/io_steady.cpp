#include "kinds/io_steady.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tierscope {

SteadyState::SteadyState(const SteadyRule& rule, double window_s)
    : rule_(rule),
      wanted_(static_cast<std::size_t>(std::max(2.0, std::round(rule.duration_s / window_s)))),
      left_out_(static_cast<std::size_t>(std::ceil(rule.ramp_s / window_s))) {}

bool SteadyState::add(double figure) {
  if (left_out_ > 0) {
    --left_out_;
    return false;
  }
  if (figures_.size() == wanted_) figures_.erase(figures_.begin());
  figures_.push_back(figure);
  if (figures_.size() < wanted_) return false;
  criterion_ = std::abs(rule_.slope ? slope() : deviation());
  if (rule_.of_the_mean) criterion_ = 100 * criterion_ / mean();
  attained_ = criterion_ <= rule_.limit;
  return attained_;
}

double SteadyState::mean() const {
  return std::accumulate(figures_.begin(), figures_.end(), 0.0) /
         static_cast<double>(std::max<std::size_t>(figures_.size(), 1));
}

// Of the line with the least squares.
double SteadyState::slope() const {
  const auto number = static_cast<double>(figures_.size());
  const double middle = (number - 1) / 2;
  const double average = mean();
  double products = 0;
  double squares = 0;
  for (std::size_t i = 0; i < figures_.size(); ++i) {
    const double at = static_cast<double>(i) - middle;
    products += at * (figures_[i] - average);
    squares += at * at;
  }
  return squares > 0 ? products / squares : 0;
}

double SteadyState::deviation() const {
  const double average = mean();
  double most = 0;
  for (const double figure : figures_) most = std::max(most, std::abs(figure - average));
  return most;
}

}  // namespace tierscope
