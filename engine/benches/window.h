// One stretch of time in which all threads of a measurement work, whatever each of them does.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "threads/team.h"

namespace tierscope {

// What one thread does, in units of its own (an access, an unrolled run of loads), and what came
// of it in the last window.
struct Worker {
  std::function<void(std::uint64_t units)> work;
  std::uint64_t chunk = 1;     // Units between two looks at the clock.
  std::uint64_t done = 0;      // Units ever.
  double units_in_window = 0;  // Of the last window.
  int last_cpu = -1;
  double lost_share = 0;  // Of the last window, what others took of its CPU.
};

// Lets all work from one gate on for `window_s` seconds. Each goes on past the end with the chunk
// it is in; only the part of that chunk that lies before the end counts. So all threads are active
// for the whole of what is counted. A worker whose chunks were too short for the clock gets longer
// ones for the next window.
// workers[i] belongs to thread i of the team, here and below.
void work_for(Team& team, std::span<Worker> workers, double window_s);

// Works through short windows until no worker's chunk grows any more: call it before measuring.
void size_chunks(Team& team, std::span<Worker> workers, double window_s);

// The largest share of the last window that any of them lost.
double most_lost(std::span<const Worker> workers);

}  // namespace tierscope
