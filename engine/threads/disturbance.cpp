#include "threads/disturbance.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace tierscope {

long involuntary_switches() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
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
