#include "threads/disturbance.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include "sampling/clock.h"

namespace tierscope {
namespace {

double cpu_seconds() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

}  // namespace

LostTime::LostTime() : wall_(now_seconds()), used_(cpu_seconds()) {}

double LostTime::share() const {
  const double wall = now_seconds() - wall_;
  return wall > 0 ? std::max(0.0, 1 - used_s() / wall) : 0;
}

double LostTime::used_s() const { return cpu_seconds() - used_; }

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
