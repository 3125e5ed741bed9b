// Concurrent streams of work: how far each one was at what time, and which part counts. Pure.
#pragma once

#include <vector>

namespace tierscope {

// When a stream of work started and how far it was at each of its checkpoints, in seconds of one
// clock.
struct Timeline {
  std::vector<double> times;  // The start, then each checkpoint, ascending; it stops at the last.
  std::vector<double> bytes;  // Moved since the checkpoint before; one entry less than times.
  // Until here it counts; what it does later keeps the others contested to their own ends.
  double end = times.back();
};

// Streams that share the work of one transfer, as one timeline: from the first start on, each
// checkpoint of any of them is a checkpoint. An engine that serves them in turn moves at an even
// pace from one to the next, whichever stream's turn it is.
Timeline merge(const std::vector<Timeline>& streams);

// Whether one waited until another had stopped, so that they ran one after the other. One that
// waited took much longer to its first checkpoint than from there to the
// next; one that is only slower did not.
bool in_turn(const std::vector<Timeline>& timelines);

struct Window {
  double start;
  double end;
};

// Of each timeline, while it counts and all others are under way: from the last start to its own
// end, or until the first of them stops. Empty (end <= start) where they never met.
std::vector<Window> contested(const std::vector<Timeline>& timelines);

// From the first start until the last of them stops.
Window whole(const std::vector<Timeline>& timelines);

// Bytes moved in the window; from one checkpoint to the next at an even pace.
double bytes_in(const Timeline& timeline, const Window& window);

}  // namespace tierscope
