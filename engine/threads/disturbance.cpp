#include "threads/disturbance.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "sampling/clock.h"

namespace tierscope {
namespace {

double seconds_of(clockid_t clock) {
  timespec used{};
  clock_gettime(clock, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

// Of the kernel's scheduler (Documentation/scheduler/sched-stats): ns that a thread has run, ns
// that it has waited for a CPU, and how often it was given one.
constexpr const char* kSchedstat = "/proc/thread-self/schedstat";

// More than waking up takes: 0.1 us by the own CPU and up to 1.3 us by another one, as seen in a
// virtual machine; leaving a sleep state of the CPU comes on top.
constexpr double kWakeUpS = 5e-6;

}  // namespace

LostTime::LostTime() : LostTime(now_seconds()) {}

LostTime::LostTime(double since_s) : wall_(since_s), used_(seconds_of(CLOCK_THREAD_CPUTIME_ID)) {}

double LostTime::share() const {
  const double wall = now_seconds() - wall_;
  return wall > 0 ? std::max(0.0, 1 - used_s() / wall) : 0;
}

double LostTime::used_s() const { return seconds_of(CLOCK_THREAD_CPUTIME_ID) - used_; }

RunQueueDelay::RunQueueDelay(std::vector<clockid_t> team)
    : file_(kSchedstat), team_(std::move(team)) {
  last_ = read();
}

void RunQueueDelay::look(std::int64_t now_ns) {
  constexpr std::int64_t kBetweenLooksNs = 1'000'000;
  if (now_ns < next_look_ns_) return;
  next_look_ns_ = now_ns + kBetweenLooksNs;
  add();
}

double RunQueueDelay::lost_s() {
  add();
  next_look_ns_ = 0;
  return std::exchange(lost_s_, 0);
}

void RunQueueDelay::add() {
  const Counts now = read();
  const double waking_s = kWakeUpS * (now.times - last_.times);
  const double used_s = now.used_by_team_s - last_.used_by_team_s;
  lost_s_ += std::max(0.0, now.waited_s - last_.waited_s - used_s - waking_s);
  last_ = now;
}

RunQueueDelay::Counts RunQueueDelay::read() {
  file_.clear();
  file_.seekg(0);
  double ran_ns = 0;
  double waited_ns = 0;
  Counts found;
  if (!(file_ >> ran_ns >> waited_ns >> found.times)) return last_;
  found.waited_s = waited_ns * 1e-9;
  for (const clockid_t clock : team_) found.used_by_team_s += seconds_of(clock);
  return found;
}

std::optional<RunQueueDelay> watch_run_queue(Team& team, int thread) {
  const std::vector<int>& cpus = team.sets()[static_cast<std::size_t>(thread)];
  std::vector<clockid_t> clocks;
  for (int other = 0; team.shares_cpus() && other < team.size(); ++other) {
    const std::vector<int>& theirs = team.sets()[static_cast<std::size_t>(other)];
    if (other == thread || std::ranges::find_first_of(cpus, theirs) == cpus.end()) continue;
    if (other < thread) return std::nullopt;
    clocks.push_back(team.cpu_clock(other));
  }
  return RunQueueDelay(std::move(clocks));
}

std::vector<int> watched_cpus(const Team& team) {
  std::ifstream file(kSchedstat);
  std::uint64_t ran_ns = 0;
  const bool told = file >> ran_ns && ran_ns > 0;  // All is 0 where it was switched off at boot.
  return told ? all_cpus(team.sets()) : std::vector<int>{};
}

double stolen_seconds(std::span<const int> cpus) {
  // proc(5): "cpuN user nice system idle iowait irq softirq steal ...", in clock ticks.
  constexpr int kFieldsBeforeSteal = 7;
  std::ifstream file("/proc/stat");
  std::string line;
  double ticks = 0;
  while (std::getline(file, line) && line.starts_with("cpu")) {
    std::istringstream fields(line.substr(3));
    int cpu = -1;
    if (line[3] == ' ' || !(fields >> cpu) || std::ranges::find(cpus, cpu) == cpus.end()) continue;
    double value = 0;
    for (int field = 0; field <= kFieldsBeforeSteal; ++field) fields >> value;
    if (fields) ticks += value;
  }
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace tierscope
