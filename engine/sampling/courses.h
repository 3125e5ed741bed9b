// Several streams of work at once: how far each was when, and what of it counts. Pure.
#pragma once

#include <vector>

namespace tierscope {

// When something started and how far it was at each of its marks, in seconds of one clock.
struct Course {
  std::vector<double> times;  // First the start, then each mark; ascending. At the last it stops.
  std::vector<double> bytes;  // Moved up to each mark since the one before; one less than times.
  // Until here it counts; what it does later keeps the others contested to their own ends.
  double end = times.back();
};

// Streams that share the work of one transfer, as one course: from the first start on, each mark of
// any of them is a mark. An engine that serves them in turn moves at an even pace from one to the
// next, whichever stream's turn it is.
Course merge(const std::vector<Course>& streams);

// Whether one waited until another had stopped: they were not under way at once, but served one
// after the other. One that waited took much longer to its first mark than from there to the next;
// one that is only slower did not.
bool in_turn(const std::vector<Course>& courses);

struct Window {
  double start;
  double end;
};

// Of each course, while it counts and all others are under way: from the last start to its own end,
// or until the first of them stops. Empty (end <= start) where they never met.
std::vector<Window> contested(const std::vector<Course>& courses);

// From the first start until the last of them stops.
Window whole(const std::vector<Course>& courses);

// Bytes moved in the window; from one mark to the next at an even pace.
double bytes_in(const Course& course, const Window& window);

}  // namespace tierscope
