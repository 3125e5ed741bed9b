// What every GPU of the machine moves over PCIe, so that one which serves as a bounce buffer shows.
#pragma once

#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "gpu/nvml.h"

namespace tierscope {

// Of one GPU, over the time watched, in bytes/s.
struct GpuTraffic {
  std::string address;  // On the PCI bus, as NVML writes it.
  double received = 0;
  double sent = 0;
  std::string method;  // "GPM": the mean; "samples": the mean of 20 ms samples; empty: unknown.
};

class PcieTraffic {
 public:
  // All GPUs that NVML shows, visible to CUDA or not.
  explicit PcieTraffic(const Nvml& library);
  ~PcieTraffic();
  PcieTraffic(const PcieTraffic&) = delete;
  PcieTraffic& operator=(const PcieTraffic&) = delete;

  void restart();
  void stop();

  // After stop().
  std::vector<GpuTraffic> traffic() const;

 private:
  struct Seen {
    nvmlDevice_t device = nullptr;
    GpuTraffic traffic;
    nvmlGpmSample_t first = nullptr;  // Null where the GPU has no GPM.
    nvmlGpmSample_t last = nullptr;
    bool started = false;
    double samples_in = 0;
    double samples_out = 0;
    int samples = 0;
  };

  void add_gpm(Seen& seen) const;
  bool read_gpm(Seen& seen) const;
  void sample(Seen& seen) const;
  void watch();

  const Nvml& library_;
  std::vector<Seen> seen_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool watching_ = false;
  std::thread thread_;  // Takes samples of GPUs without GPM.
};

// A line for each GPU that is not in `taking_part` and yet moved a share of what those that are
// moved. Addresses are compared without their domain's leading zeros.
std::vector<std::string> bounce_notes(const std::vector<GpuTraffic>& all,
                                      const std::vector<std::string>& taking_part);

}  // namespace tierscope
