// One stretch of time in which all threads of a measurement work, whatever each of them does.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>

#include "threads/team.h"

namespace tierscope {

// What one thread does, in units of its own (an access, an unrolled run of loads), and what it did
// in the last window.
struct Worker {
  std::function<void(std::uint64_t units)> work;
  std::uint64_t chunk = 1;     // Units between two looks at the clock.
  std::uint64_t done = 0;      // Units ever.
  double units_in_window = 0;  // Of the last window.
  int last_cpu = -1;
  std::set<int> seen_on{};  // CPUs at the ends of windows, where it shares CPUs.
  bool sleeps = false;      // Its work may sleep, as for a device: that time is not lost to others.
  // Of the last window: what others took of its CPU; of threads that share CPUs, what all of them
  // did not get of the CPUs that they could have used at once, whoever had it.
  double lost_share = 0;
  double used_s = 0;  // Of the last window, the CPU time that it had.
};

// All workers pass one gate and work for `window_s` seconds; returns when the gate opened, in
// seconds of now_seconds(). Each one finishes the chunk that it is in at the end; only the part of
// that chunk before the end counts. So all threads are active for the whole of what is counted. A
// worker whose chunks were too short for the clock gets longer ones for the next window. workers[i]
// belongs to thread i of the team, here and below. Threads that share CPUs take turns: one counts
// from when it first has a CPU, and one that has none all the window counts nothing.
double work_for(Team& team, std::span<Worker> workers, double window_s);

// Works through short windows until no worker's chunk grows any more. Call it before measuring.
void size_chunks(Team& team, std::span<Worker> workers, double window_s);

// Units of all workers in the last window.
double units_in_window(std::span<const Worker> workers);

// The largest share of the last window that any of them lost to others.
double max_lost_share(std::span<const Worker> workers);

}  // namespace tierscope
