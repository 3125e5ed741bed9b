#include "threads/window.h"

#include <hwy/cache_control.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "interrupt.h"
#include "sampling/clock.h"
#include "threads/disturbance.h"

namespace tierscope {
namespace {

// Chunks last for this many seconds at least, so that the clock takes a thousandth of the time;
// longer ones would only make the interpolated end of a window longer.
double min_chunk(double window_s) { return std::min(shortest_sample(), window_s / 10); }

// Decided by whole windows: a disturbance makes a single chunk look long, and chunks sized by it
// would spend most of the time of all later windows on the clock.
void lengthen_chunk(Worker& worker, std::uint64_t chunks, double window_s, double worked_s) {
  const double excess = static_cast<double>(chunks) * min_chunk(window_s) / worked_s;
  if (excess <= 1) return;
  worker.chunk =
      static_cast<std::uint64_t>(std::ceil(2 * excess * static_cast<double>(worker.chunk)));
}

double work_one(Team& team, int thread, Worker& worker, double window_s) {
  std::optional<RunQueueDelay> queue;
  if (worker.sleeps) queue = watch_run_queue(team, thread);
  const double start = team.pass_gate();
  if (queue) queue->lost_s();
  const LostTime lost(start);  // A thread that did not run when the gate opened has lost time, too.
  const double end = start + window_s;
  // A thread that shares CPUs may have waited for one while the gate opened.
  const bool shares = team.shares_cpus();
  double before = shares ? now_seconds() : start;
  std::uint64_t chunks = 0;  // Whole ones.
  while (true) {
    worker.work(worker.chunk);
    const double after = now_seconds();
    if (after >= end || interrupted()) {
      const double share = std::clamp((end - before) / (after - before), 0.0, 1.0);
      const auto chunk = static_cast<double>(worker.chunk);
      worker.units_in_window = (static_cast<double>(chunks) + share) * chunk;
      worker.done += (chunks + 1) * worker.chunk;
      break;
    }
    ++chunks;
    before = after;
  }
  hwy::FlushStream();  // Completes non-temporal stores before the data is read.
  worker.last_cpu = sched_getcpu();
  worker.lost_share = lost.share();
  if (worker.sleeps) worker.lost_share = queue ? queue->lost_s() / window_s : 0;
  if (shares) {
    worker.used_s = lost.used_s();
    worker.seen_on.insert(worker.last_cpu);
  }
  const double worked_s =
      shares ? std::clamp(worker.used_s, min_chunk(window_s), window_s) : window_s;
  lengthen_chunk(worker, chunks, window_s, worked_s);
  return start;
}

// What threads that share CPUs lost of those that they could have used, which each of them shows.
void share_losses(const Team::Shared& shared, std::span<Worker> workers, double window_s) {
  double used_s = 0;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    if (shared.threads[i]) used_s += workers[i].used_s;
  }
  const double lost = 1 - used_s / (static_cast<double>(shared.at_once) * window_s);
  for (std::size_t i = 0; i < workers.size(); ++i) {
    if (shared.threads[i] && !workers[i].sleeps) workers[i].lost_share = std::max(0.0, lost);
  }
}

}  // namespace

double work_for(Team& team, std::span<Worker> workers, double window_s) {
  double start = 0;
  team.run([&](int thread) {
    const double opened =
        work_one(team, thread, workers[static_cast<std::size_t>(thread)], window_s);
    if (thread == 0) start = opened;
  });
  if (team.shares_cpus()) share_losses(team.shared(), workers, window_s);
  return start;
}

void size_chunks(Team& team, std::span<Worker> workers, double window_s) {
  std::vector<std::uint64_t> before(workers.size());
  // In a short window not every thread that shares CPUs has one.
  if (!team.shares_cpus()) window_s = std::min(window_s, 10 * min_chunk(window_s));
  do {
    std::ranges::transform(workers, before.begin(), &Worker::chunk);
    work_for(team, workers, window_s);
  } while (!std::ranges::equal(workers, before, {}, &Worker::chunk) && !interrupted());
}

double units_in_window(std::span<const Worker> workers) {
  double units = 0;
  for (const Worker& worker : workers) units += worker.units_in_window;
  return units;
}

double max_lost_share(std::span<const Worker> workers) {
  double max = 0;
  for (const Worker& worker : workers) max = std::max(max, worker.lost_share);
  return max;
}

}  // namespace tierscope
