// The time in which several streams of work were all under way, and what each did in it. Pure.
#pragma once

#include <vector>

namespace tierscope {

// When something started and how far it was at each of its marks, in seconds of one clock.
struct Course {
  std::vector<double> times;  // First the start, then each mark; ascending.
  std::vector<double> bytes;  // Moved up to each mark since the one before; one less than times.
  // Until here it counts; what it does later keeps the others contested to their own ends.
  double end = times.back();
};

// Streams that share the work of one transfer, as one course: from the first start on, each mark of
// any of them is a mark. An engine that serves them in turn moves at an even pace from one to the
// next, whichever stream's turn it is.
Course merge(const std::vector<Course>& streams);

// From the last start to the first of the ends; empty (end <= start) where they never met.
struct Window {
  double start;
  double end;
};
Window common_window(const std::vector<Course>& courses);

// Bytes moved in the window; from one mark to the next at an even pace.
double bytes_in(const Course& course, const Window& window);

}  // namespace tierscope
