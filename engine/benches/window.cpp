#include "benches/window.h"

#include <hwy/cache_control.h>
#include <sched.h>

#include <algorithm>

#include "interrupt.h"
#include "sampling/clock.h"
#include "threads/disturbance.h"

namespace tierscope {
namespace {

void work_one(Team& team, Worker& worker, double window_s) {
  const double start = team.pass_gate();
  const LostTime lost;
  const double end = start + window_s;
  double before = start;
  std::uint64_t done = 0;
  while (true) {
    worker.work(worker.chunk);
    const double after = now_seconds();
    if (after >= end || interrupted()) {
      const double share = std::clamp((end - before) / (after - before), 0.0, 1.0);
      worker.units_in_window =
          static_cast<double>(done) + share * static_cast<double>(worker.chunk);
      worker.done += done + worker.chunk;
      break;
    }
    done += worker.chunk;
    before = after;
  }
  hwy::FlushStream();  // Non-temporal stores are done before anybody looks at the data.
  worker.last_cpu = sched_getcpu();
  worker.lost_share = lost.share();
}

}  // namespace

void size_chunks(Team& team, std::span<Worker> workers, double window_s) {
  const double wanted = std::min(shortest_sample(), window_s / 10);
  team.run([&](int thread) {
    Worker& worker = workers[static_cast<std::size_t>(thread)];
    team.pass_gate();
    while (!interrupted()) {
      const double start = now_seconds();
      worker.work(worker.chunk);
      worker.done += worker.chunk;
      if (now_seconds() - start >= wanted) break;
      worker.chunk *= 2;
    }
  });
}

void work_for(Team& team, std::span<Worker> workers, double window_s) {
  team.run(
      [&](int thread) { work_one(team, workers[static_cast<std::size_t>(thread)], window_s); });
}

double most_lost(std::span<const Worker> workers) {
  double most = 0;
  for (const Worker& worker : workers) most = std::max(most, worker.lost_share);
  return most;
}

}  // namespace tierscope
