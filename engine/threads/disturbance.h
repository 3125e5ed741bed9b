// Signs that somebody else used a measuring CPU.
#pragma once

#include <time.h>

#include <cstdint>
#include <fstream>
#include <optional>
#include <span>
#include <vector>

#include "threads/team.h"

namespace tierscope {

// Time that the calling thread wanted and did not get: wall clock time less its CPU time.
class LostTime {
 public:
  LostTime();  // Watches from here on.
  // From a time of now_seconds() on, since which the thread can have used only what it has lost.
  explicit LostTime(double since_s);
  // Of the time since, 0..1. The kernel's own short work on any CPU is far below a hundredth.
  double share() const;
  // CPU time that the thread has used since, in seconds.
  double used_s() const;

 private:
  double wall_;
  double used_;
};

// CPU time that others took while the calling thread could have run: the kernel's run-queue delay
// (schedstat). It is for threads that sleep, as those that wait for devices do: LostTime counts
// sleep as lost. Being woken up costs some of that delay each time, on an idle machine too, and is
// left out.
class RunQueueDelay {
 public:
  // `team` has clocks of the CPU time of threads that take turns with this one on its CPU. What
  // they used is not lost to others, so that the rest is the least that others took.
  explicit RunQueueDelay(std::vector<clockid_t> team = {});

  // Call it between short operations, with any clock that goes on. It looks once a millisecond at
  // most: among few wake-ups one long wait stands out.
  void look(std::int64_t now_ns);

  // Seconds lost since the construction or the last call.
  double lost_s();

 private:
  struct Counts {
    double waited_s = 0;        // For a CPU.
    double times = 0;           // That it got one.
    double used_by_team_s = 0;  // Of its CPU.
  };
  Counts read();
  void add();

  std::ifstream file_;
  std::vector<clockid_t> team_;
  Counts last_;
  std::int64_t next_look_ns_ = 0;
  double lost_s_ = 0;
};

// That of a thread of the team, made on it. Of threads that share CPUs the first one watches for
// all, and the others have none: reading each other's clocks would take many threads too long.
std::optional<RunQueueDelay> watch_run_queue(Team& team, int thread);

// The CPUs of a team that is watched in this way; none where the kernel does not tell
// (CONFIG_SCHED_INFO).
std::vector<int> watched_cpus(const Team& team);

// Seconds that the hypervisor kept these CPUs for others since boot (/proc/stat, "steal"); 0 where
// the file cannot be read.
double stolen_seconds(std::span<const int> cpus);

}  // namespace tierscope
