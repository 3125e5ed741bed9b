#include "gpu/monitor.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "gpu/device.h"
#include "threads/affinity.h"

namespace tierscope {
namespace {

constexpr std::chrono::milliseconds kPeriod{50};

// Reasons that a GPU is slower than it could be; being idle is none.
constexpr std::array<std::pair<unsigned long long, const char*>, 7> kReasons{
    {{nvmlClocksThrottleReasonApplicationsClocksSetting, "application clocks"},
     {nvmlClocksThrottleReasonSwPowerCap, "power cap"},
     {nvmlClocksThrottleReasonHwSlowdown, "hardware slowdown"},
     {nvmlClocksThrottleReasonSyncBoost, "sync boost"},
     {nvmlClocksThrottleReasonSwThermalSlowdown, "software thermal slowdown"},
     {nvmlClocksThrottleReasonHwThermalSlowdown, "hardware thermal slowdown"},
     {nvmlClocksThrottleReasonHwPowerBrakeSlowdown, "power brake"}}};

void keep_off(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int allowed : allowed_cpus()) {
    if (allowed != cpu && allowed < CPU_SETSIZE) CPU_SET(static_cast<unsigned>(allowed), &set);
  }
  // With only one CPU to run on there is no other; looking takes it 1% of the time at most.
  if (CPU_COUNT(&set) > 0) sched_setaffinity(0, sizeof set, &set);
}

}  // namespace

Monitor::Monitor(const std::vector<int>& gpus, int measuring_cpu) {
  for (const int gpu : gpus) {
    Seen seen{.gpu = gpu,
              .name = name_of(gpu),
              .address = pci_address_of(gpu),
              .ranges = {},
              .throttle = {}};
    if (nvml().device_by_address != nullptr &&
        nvml().device_by_address(seen.address.c_str(), &seen.device) != NVML_SUCCESS) {
      seen.device = nullptr;
    }
    seen_.push_back(seen);
  }
  thread_ = std::thread(&Monitor::watch, this, measuring_cpu);
}

Monitor::~Monitor() { stop(); }

void Monitor::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
  for (Seen& seen : seen_) count_replays(seen);  // Not the clocks: by now the GPU may idle.
}

void Monitor::watch(int measuring_cpu) {
  keep_off(measuring_cpu);
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    for (Seen& seen : seen_) look(seen);
    changed_.wait_for(lock, kPeriod, [this] { return stopping_; });
  }
}

void Monitor::restart() {
  const std::lock_guard lock(mutex_);
  for (Seen& seen : seen_) {
    seen.samples = 0;
    seen.ranges.clear();
    seen.throttle.clear();
    seen.first_replays.reset();
    look(seen);
  }
}

void Monitor::look(Seen& seen) {
  if (seen.device == nullptr) return;
  const auto note = [&](const char* key, const auto& ask, double scale) {
    unsigned value = 0;
    if (ask(&value) != NVML_SUCCESS) return;
    const double scaled = value * scale;
    Range& range = seen.ranges.try_emplace(key, Range{scaled, scaled}).first->second;
    range = {std::min(range.low, scaled), std::max(range.high, scaled)};
  };
  const auto with = [&](auto function, auto... arguments) {
    return [=](unsigned* value) {
      return function == nullptr ? NVML_ERROR_NOT_SUPPORTED
                                 : function(seen.device, arguments..., value);
    };
  };
  const Nvml& library = nvml();
  note("sm_clock_hz", with(library.clock, NVML_CLOCK_SM), 1e6);
  note("memory_clock_hz", with(library.clock, NVML_CLOCK_MEM), 1e6);
  note("power_w", with(library.power), 1e-3);
  note("temperature_c", with(library.temperature, NVML_TEMPERATURE_GPU), 1);
  note("pcie_generation", with(library.link_generation), 1);
  note("pcie_width", with(library.link_width), 1);
  unsigned long long reasons = 0;
  if (library.throttle_reasons != nullptr &&
      library.throttle_reasons(seen.device, &reasons) == NVML_SUCCESS) {
    for (const auto& [bit, name] : kReasons) {
      if ((reasons & bit) != 0) seen.throttle.insert(name);
    }
  }
  count_replays(seen);
  ++seen.samples;
}

void Monitor::count_replays(Seen& seen) {
  unsigned replays = 0;
  if (seen.device == nullptr || nvml().replays == nullptr) return;
  if (nvml().replays(seen.device, &replays) != NVML_SUCCESS) return;
  if (!seen.first_replays) seen.first_replays = replays;
  seen.last_replays = replays;
}

nlohmann::ordered_json Monitor::describe(const Seen& seen) {
  nlohmann::ordered_json state{
      {"gpu", seen.gpu}, {"name", seen.name}, {"address", seen.address}, {"samples", seen.samples}};
  for (const auto& [key, range] : seen.ranges) state[key] = {range.low, range.high};
  if (seen.samples > 0) state["throttle"] = seen.throttle;
  if (seen.first_replays && seen.last_replays) {
    state["pcie_replays"] = *seen.last_replays - *seen.first_replays;
  }
  return state;
}

nlohmann::ordered_json Monitor::report(std::vector<std::string>& notes) {
  stop();
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Seen& seen : seen_) list.push_back(describe(seen));
  if (!nvml().missing.empty()) {
    notes.push_back("clocks, power and link unknown: " + nvml().missing);
  }
  return list;
}

}  // namespace tierscope
