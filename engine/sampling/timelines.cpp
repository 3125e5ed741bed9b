#include "sampling/timelines.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace tierscope {

Timeline merge(const std::vector<Timeline>& streams) {
  std::vector<std::pair<double, double>> checkpoints;
  double start = std::numeric_limits<double>::infinity();
  double end = -start;
  for (const Timeline& stream : streams) {
    start = std::min(start, stream.times.front());
    end = std::max(end, stream.end);
    for (std::size_t i = 0; i < stream.bytes.size(); ++i) {
      checkpoints.emplace_back(stream.times[i + 1], stream.bytes[i]);
    }
  }
  std::sort(checkpoints.begin(), checkpoints.end());
  Timeline merged{.times = {start}, .bytes = {}, .end = end};
  for (const auto& [time, bytes] : checkpoints) {
    merged.times.push_back(time);
    merged.bytes.push_back(bytes);
  }
  return merged;
}

bool in_turn(const std::vector<Timeline>& timelines) {
  constexpr double kWaited = 2;
  double first_stop = std::numeric_limits<double>::infinity();
  for (const Timeline& timeline : timelines)
    first_stop = std::min(first_stop, timeline.times.back());
  return std::any_of(timelines.begin(), timelines.end(), [first_stop](const Timeline& timeline) {
    const std::vector<double>& times = timeline.times;
    return times.size() > 2 && times[1] >= first_stop &&
           times[1] - times[0] > kWaited * (times[2] - times[1]);
  });
}

std::vector<Window> contested(const std::vector<Timeline>& timelines) {
  double last_start = -std::numeric_limits<double>::infinity();
  double first_stop = std::numeric_limits<double>::infinity();
  for (const Timeline& timeline : timelines) {
    last_start = std::max(last_start, timeline.times.front());
    first_stop = std::min(first_stop, timeline.times.back());
  }
  std::vector<Window> windows;
  for (const Timeline& timeline : timelines) {
    windows.push_back({last_start, std::min(timeline.end, first_stop)});
  }
  return windows;
}

Window whole(const std::vector<Timeline>& timelines) {
  Window window{.start = std::numeric_limits<double>::infinity(),
                .end = -std::numeric_limits<double>::infinity()};
  for (const Timeline& timeline : timelines) {
    window.start = std::min(window.start, timeline.times.front());
    window.end = std::max(window.end, timeline.times.back());
  }
  return window;
}

double bytes_in(const Timeline& timeline, const Window& window) {
  double bytes = 0;
  for (std::size_t i = 0; i < timeline.bytes.size(); ++i) {
    const double start = timeline.times[i];
    const double end = timeline.times[i + 1];
    const double shared = std::min(end, window.end) - std::max(start, window.start);
    if (shared > 0) {
      bytes += timeline.bytes[i] * shared / (end - start);
    } else if (start == end && window.start <= start && end <= window.end) {
      bytes += timeline.bytes[i];  // Two checkpoints at the same tick of the clock.
    }
  }
  return bytes;
}

}  // namespace tierscope
