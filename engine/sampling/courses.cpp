#include "sampling/courses.h"

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

bool in_turn(const std::vector<Course>& courses) {
  constexpr double kWaited = 2;
  double first_stop = std::numeric_limits<double>::infinity();
  for (const Course& course : courses) first_stop = std::min(first_stop, course.times.back());
  return std::any_of(courses.begin(), courses.end(), [first_stop](const Course& course) {
    const std::vector<double>& times = course.times;
    return times.size() > 2 && times[1] >= first_stop &&
           times[1] - times[0] > kWaited * (times[2] - times[1]);
  });
}

std::vector<Window> contested(const std::vector<Course>& courses) {
  double last_start = -std::numeric_limits<double>::infinity();
  double first_stop = std::numeric_limits<double>::infinity();
  for (const Course& course : courses) {
    last_start = std::max(last_start, course.times.front());
    first_stop = std::min(first_stop, course.times.back());
  }
  std::vector<Window> windows;
  for (const Course& course : courses) {
    windows.push_back({last_start, std::min(course.end, first_stop)});
  }
  return windows;
}

Window whole(const std::vector<Course>& courses) {
  Window window{.start = std::numeric_limits<double>::infinity(),
                .end = -std::numeric_limits<double>::infinity()};
  for (const Course& course : courses) {
    window.start = std::min(window.start, course.times.front());
    window.end = std::max(window.end, course.times.back());
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
