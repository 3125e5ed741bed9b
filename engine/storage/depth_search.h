// Finds the largest queue depth at which enough operations are fast enough.
#pragma once

#include <cstdint>

namespace tierscope {

struct DepthSearchRule {
  double target_s;  // So fast
  double percent;   // is at least this share of operations
  double window_s;  // of each window of so many seconds.
};

// From depth 1 on: doubled as long as windows are met, then halved between the deepest that was and
// the least deep that was not. One more window at the depth found is what counts.
class DepthSearch {
 public:
  // `most` is the largest depth.
  DepthSearch(const DepthSearchRule& rule, std::uint32_t most);

  void begin(std::int64_t now_ns);

  enum class Step { kNone, kChanged, kSettled, kOver };
  // An operation ended. kChanged: depth() is another one, and operations in flight have to end
  // before its window begins; kSettled: it is the one that was looked for; kOver: its window ended.
  Step note(std::uint64_t latency_ns, std::int64_t now_ns);

  std::uint32_t depth() const { return depth_; }

 private:
  Step end_window();

  std::int64_t window_ns_;
  std::uint64_t target_ns_;
  double share_;
  std::uint32_t most_;
  std::uint32_t depth_ = 1;
  std::uint32_t met_ = 0;  // The deepest that was; 0: none yet.
  std::uint32_t missed_;   // The least deep that was not; most_ + 1: none yet.
  bool settled_ = false;
  std::int64_t began_ns_ = 0;
  std::uint64_t operations_ = 0;
  std::uint64_t slow_ = 0;
};

}  // namespace tierscope
