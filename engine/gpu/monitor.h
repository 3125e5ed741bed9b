// What the GPUs' clocks, power and links do while a measurement runs.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "gpu/nvml.h"

namespace tierscope {

class Monitor {
 public:
  // Looks at these GPUs some twenty times a second, on a CPU that does not measure, until stop().
  Monitor(const std::vector<int>& gpus, int measuring_cpu);
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  // Forgets what was seen, so that set-up does not count.
  void restart();

  // Ends the watch; call as soon as the last sample is taken.
  void stop();

  // Ends the watch. The list for evidence's "gpus"; notes get a line where there is no NVML.
  nlohmann::ordered_json report(std::vector<std::string>& notes);

 private:
  struct Range {
    double low;
    double high;
  };
  struct Seen {
    int gpu;
    std::string name;
    std::string address;  // On the PCI bus, as CUDA says.
    nvmlDevice_t device = nullptr;
    int samples = 0;
    std::map<std::string, Range> ranges;  // By the key in evidence.
    std::set<std::string> throttle;
    std::optional<unsigned> first_replays;
    std::optional<unsigned> last_replays;
  };

  void watch(int measuring_cpu);
  static void look(Seen& seen);
  static void count_replays(Seen& seen);
  static nlohmann::ordered_json describe(const Seen& seen);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::vector<Seen> seen_;
  std::thread thread_;
};

}  // namespace tierscope
