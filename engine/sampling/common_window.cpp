#include "sampling/common_window.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace tierscope {

Course merge(const std::vector<Course>& streams) {
  std::vector<std::pair<double, double>> marks;
  double start = std::numeric_limits<double>::infinity();
  double end = -start;
  for (const Course& stream : streams) {
    start = std::min(start, stream.times.front());
    end = std::max(end, stream.end);
    for (std::size_t i = 0; i < stream.bytes.size(); ++i) {
      marks.emplace_back(stream.times[i + 1], stream.bytes[i]);
    }
  }
  std::sort(marks.begin(), marks.end());
  Course merged{.times = {start}, .bytes = {}, .end = end};
  for (const auto& [time, bytes] : marks) {
    merged.times.push_back(time);
    merged.bytes.push_back(bytes);
  }
  return merged;
}

Window common_window(const std::vector<Course>& courses) {
  Window window{.start = -std::numeric_limits<double>::infinity(),
                .end = std::numeric_limits<double>::infinity()};
  for (const Course& course : courses) {
    window.start = std::max(window.start, course.times.front());
    window.end = std::min(window.end, course.end);
  }
  return window;
}

double bytes_in(const Course& course, const Window& window) {
  double bytes = 0;
  for (std::size_t i = 0; i < course.bytes.size(); ++i) {
    const double start = course.times[i];
    const double end = course.times[i + 1];
    const double shared = std::min(end, window.end) - std::max(start, window.start);
    if (shared > 0) {
      bytes += course.bytes[i] * shared / (end - start);
    } else if (start == end && window.start <= start && end <= window.end) {
      bytes += course.bytes[i];  // Two streams at their marks at the same tick of the clock.
    }
  }
  return bytes;
}

}  // namespace tierscope
