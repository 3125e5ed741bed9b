#include "storage/depth_search.h"

#include <algorithm>

namespace tierscope {

DepthSearch::DepthSearch(const DepthSearchRule& rule, std::uint32_t most)
    : window_ns_(static_cast<std::int64_t>(rule.window_s * 1e9)),
      target_ns_(static_cast<std::uint64_t>(rule.target_s * 1e9)),
      share_(rule.percent / 100),
      most_(most),
      missed_(most + 1) {}

void DepthSearch::begin(std::int64_t now_ns) {
  began_ns_ = now_ns;
  operations_ = slow_ = 0;
}

DepthSearch::Step DepthSearch::note(std::uint64_t latency_ns, std::int64_t now_ns) {
  ++operations_;
  if (latency_ns > target_ns_) ++slow_;
  if (now_ns - began_ns_ < window_ns_) return Step::kNone;
  const Step step = settled_ ? Step::kOver : end_window();
  begin(now_ns);
  return step;
}

DepthSearch::Step DepthSearch::end_window() {
  const bool met =
      static_cast<double>(operations_ - slow_) >= share_ * static_cast<double>(operations_);
  (met ? met_ : missed_) = depth_;
  std::uint32_t next = missed_ > most_ ? std::min(2 * depth_, most_) : (met_ + missed_) / 2;
  next = std::max(next, 1U);  // Even one at a time is too slow: that is what is reported.
  settled_ = next == met_ || missed_ == 1;
  if (settled_ && next == depth_) return Step::kSettled;
  depth_ = next;
  return settled_ ? Step::kSettled : Step::kChanged;
}

}  // namespace tierscope
