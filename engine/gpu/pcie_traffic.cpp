#include "gpu/pcie_traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>

namespace tierscope {
namespace {

constexpr double kMib = 1 << 20;
constexpr double kKilobyte = 1e3;  // NVML's samples are in KB/s.
constexpr std::chrono::milliseconds kSamplingPeriod{100};
// A GPU that moves less than this share of the others, or this many bytes/s, is not a bounce
// buffer.
constexpr double kShare = 0.1;
constexpr double kLeast = 50e6;

// "00000000:17:00.0" and "0000:17:00.0" are the same.
std::string short_address(const std::string& address) {
  const std::size_t colon = address.find(':');
  std::string rest = colon == std::string::npos ? address : address.substr(colon + 1);
  std::transform(rest.begin(), rest.end(), rest.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  const std::string domain = address.substr(0, address.size() - rest.size());
  const std::size_t start = domain.find_first_not_of('0');
  return domain.substr(std::min(start, domain.size())) + rest;
}

bool takes_part(const GpuTraffic& gpu, const std::vector<std::string>& taking_part) {
  return std::any_of(taking_part.begin(), taking_part.end(), [&](const std::string& address) {
    return short_address(address) == short_address(gpu.address);
  });
}

}  // namespace

PcieTraffic::PcieTraffic(const Nvml& library) : library_(library) {
  unsigned count = 0;
  if (library.device_count == nullptr || library.device_by_index == nullptr ||
      library.pci_info == nullptr || library.device_count(&count) != NVML_SUCCESS) {
    return;
  }
  for (unsigned i = 0; i < count; ++i) {
    Seen seen{};
    nvmlPciInfo_t where{};
    if (library.device_by_index(i, &seen.device) != NVML_SUCCESS ||
        library.pci_info(seen.device, &where) != NVML_SUCCESS) {
      continue;
    }
    seen.traffic.address = where.busId;
    add_gpm(seen);
    seen_.push_back(seen);
  }
}

PcieTraffic::~PcieTraffic() {
  stop();
  for (const Seen& seen : seen_) {
    if (seen.first != nullptr) library_.gpm_free(seen.first);
    if (seen.last != nullptr) library_.gpm_free(seen.last);
  }
}

// GPM counts without gaps; GPUs have it from Hopper on.
void PcieTraffic::add_gpm(Seen& seen) const {
  if (library_.gpm_support == nullptr || library_.gpm_alloc == nullptr ||
      library_.gpm_free == nullptr || library_.gpm_get == nullptr ||
      library_.gpm_metrics == nullptr) {
    return;
  }
  nvmlGpmSupport_t support{};
  support.version = NVML_GPM_SUPPORT_VERSION;
  if (library_.gpm_support(seen.device, &support) != NVML_SUCCESS ||
      support.isSupportedDevice == 0 || library_.gpm_alloc(&seen.first) != NVML_SUCCESS) {
    return;
  }
  if (library_.gpm_alloc(&seen.last) != NVML_SUCCESS) seen.last = nullptr;
}

void PcieTraffic::restart() {
  stop();
  bool needs_samples = false;
  for (Seen& seen : seen_) {
    seen.traffic = {.address = seen.traffic.address, .method = {}};
    seen.samples_in = seen.samples_out = 0;
    seen.samples = 0;
    seen.started =
        seen.last != nullptr && library_.gpm_get(seen.device, seen.first) == NVML_SUCCESS;
    needs_samples = needs_samples || !seen.started;
  }
  if (!needs_samples || library_.pcie_throughput == nullptr) return;
  watching_ = true;
  thread_ = std::thread(&PcieTraffic::watch, this);
}

void PcieTraffic::stop() {
  for (Seen& seen : seen_) {
    if (seen.started && read_gpm(seen)) seen.traffic.method = "GPM";
  }
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      watching_ = false;
    }
    changed_.notify_all();
    thread_.join();
  }
  for (Seen& seen : seen_) {
    seen.started = false;  // Not before: the thread samples GPUs that are not.
    if (seen.samples == 0) continue;
    seen.traffic.received = seen.samples_in / seen.samples;
    seen.traffic.sent = seen.samples_out / seen.samples;
    seen.traffic.method = "samples";
  }
}

bool PcieTraffic::read_gpm(Seen& seen) const {
  if (library_.gpm_get(seen.device, seen.last) != NVML_SUCCESS) return false;
  nvmlGpmMetricsGet_t query{};
  query.version = NVML_GPM_METRICS_GET_VERSION;
  query.numMetrics = 2;
  query.sample1 = seen.first;
  query.sample2 = seen.last;
  query.metrics[0].metricId = NVML_GPM_METRIC_PCIE_RX_PER_SEC;
  query.metrics[1].metricId = NVML_GPM_METRIC_PCIE_TX_PER_SEC;
  if (library_.gpm_metrics(&query) != NVML_SUCCESS || query.metrics[0].nvmlReturn != NVML_SUCCESS ||
      query.metrics[1].nvmlReturn != NVML_SUCCESS) {
    return false;
  }
  seen.traffic.received = query.metrics[0].value * kMib;
  seen.traffic.sent = query.metrics[1].value * kMib;
  return true;
}

void PcieTraffic::watch() {
  std::unique_lock lock(mutex_);
  while (watching_) {
    for (Seen& seen : seen_) {
      if (!seen.started) sample(seen);
    }
    changed_.wait_for(lock, kSamplingPeriod, [this] { return !watching_; });
  }
}

void PcieTraffic::sample(Seen& seen) const {
  unsigned in = 0;
  unsigned out = 0;
  if (library_.pcie_throughput(seen.device, NVML_PCIE_UTIL_RX_BYTES, &in) != NVML_SUCCESS ||
      library_.pcie_throughput(seen.device, NVML_PCIE_UTIL_TX_BYTES, &out) != NVML_SUCCESS) {
    return;
  }
  seen.samples_in += in * kKilobyte;
  seen.samples_out += out * kKilobyte;
  ++seen.samples;
}

std::vector<GpuTraffic> PcieTraffic::traffic() const {
  std::vector<GpuTraffic> all;
  for (const Seen& seen : seen_) all.push_back(seen.traffic);
  return all;
}

std::vector<std::string> bounce_notes(const std::vector<GpuTraffic>& all,
                                      const std::vector<std::string>& taking_part) {
  double own = 0;
  for (const GpuTraffic& gpu : all) {
    if (takes_part(gpu, taking_part)) own += gpu.received + gpu.sent;
  }
  std::vector<std::string> notes;
  for (const GpuTraffic& gpu : all) {
    const double moved = gpu.received + gpu.sent;
    if (takes_part(gpu, taking_part) || moved < kLeast || moved < kShare * own) continue;
    notes.push_back(fmt::format(
        "the GPU at {} takes no part, yet {:.1f} GB/s went to it and {:.1f} GB/s came from it over "
        "PCIe: it may be a bounce buffer, or another program uses it",
        gpu.address, gpu.received / 1e9, gpu.sent / 1e9));
  }
  return notes;
}

}  // namespace tierscope
