// Evidence of what moved data between storage and GPUs.
#include <fmt/format.h>

#include <algorithm>

#include "errors.h"
#include "gpu/cufile_pool.h"
#include "gpu/cufile_ways.h"
#include "gpu/device.h"
#include "gpu/monitor.h"
#include "gpu/nvidia_fs.h"
#include "gpu/nvml.h"
#include "gpu/pcie_traffic.h"
#include "storage/gpu_io.h"

namespace tierscope {
namespace {

class Watch final : public GpuIoWatch {
 public:
  Watch(const std::vector<int>& gpus, std::string_view backend, int measuring_cpu)
      : backend_(backend),
        cufile_(backend.starts_with("cufile") ? &open_cufile(gpus.front()) : nullptr),
        monitor_(gpus, measuring_cpu),
        pcie_(nvml()) {
    for (const int gpu : gpus) addresses_.push_back(pci_address_of(gpu));
    restart();
  }

  void restart() override {
    monitor_.restart();
    pcie_.restart();
    if (cufile_ == nullptr) return;
    before_ = cufile_ways(*cufile_, batches());
    nvidia_fs_before_ = nvidia_fs_counts();
    cufile_pool().was_short();
  }

  void stop() override {
    monitor_.stop();
    pcie_.stop();
    if (cufile_ == nullptr) return;
    ways_ = cufile_ways(*cufile_, batches()).since(before_);
    nvidia_fs_after_ = nvidia_fs_counts();
  }

  void report(nlohmann::ordered_json& evidence, std::string_view require, bool direct) override {
    std::vector<std::string> notes;
    evidence["gpus"] = monitor_.report(notes);
    add_traffic(evidence, notes);
    if (cufile_ != nullptr) {
      prove(evidence);
      add_cufile(evidence, notes);
    }
    for (std::string& note : notes) evidence["notes"].push_back(std::move(note));
    judge(require, direct);
  }

 private:
  bool batches() const { return backend_ == "cufile-batch"; }

  void add_traffic(nlohmann::ordered_json& evidence, std::vector<std::string>& notes) const {
    const std::vector<GpuTraffic> all = pcie_.traffic();
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const GpuTraffic& gpu : all) {
      if (gpu.method.empty()) continue;
      list.push_back({{"address", gpu.address},
                      {"received", gpu.received},
                      {"sent", gpu.sent},
                      {"method", gpu.method}});
    }
    if (!list.empty()) evidence["pcie"] = list;
    std::ranges::copy(bounce_notes(all, addresses_), std::back_inserter(notes));
  }

  // Finds the way by nvidia-fs' counters where cuFile counts nothing, and says what is not proven.
  void prove(const nlohmann::ordered_json& evidence) {
    if (cufile_->counts) {
      if (ways_.total() == 0) unproven_ = "cuFile counted no operation";
      return;
    }
    std::uint64_t operations = 0;
    std::uint64_t bytes = 0;
    if (evidence.contains("storage_io")) {
      const auto& io = evidence["storage_io"];
      operations = io.value("reads", std::uint64_t{0}) + io.value("writes", std::uint64_t{0});
      bytes =
          io.value("bytes_read", std::uint64_t{0}) + io.value("bytes_written", std::uint64_t{0});
    }
    const std::string why =
        not_by_nvidia_fs(!cufile_settings().allow_compat_mode, nvidia_fs_before_, nvidia_fs_after_,
                         operations, bytes);
    if (why.empty()) {
      ways_.operations = {{"nvfs", operations}};
    } else {
      unproven_ = fmt::format("libcufile {} does not count the ways of operations, 1.15 does; {}",
                              cufile_->release(), why);
    }
  }

  void add_cufile(nlohmann::ordered_json& evidence, std::vector<std::string>& notes) const {
    const CufileSettings& settings = cufile_settings();
    nlohmann::ordered_json cufile{{"version", cufile_->release()},
                                  {"allow_compat_mode", settings.allow_compat_mode},
                                  {"set_by", settings.set_by},
                                  {"log", settings.log},
                                  {"driver_open_s", settings.driver_open_s},
                                  {"register_s", RegistrationTime::take()}};
    if (cufile_->counts) cufile["unaligned"] = ways_.unaligned;
    if (cufile_->counts || ways_.total() > 0) evidence["storage_io"]["ways"] = ways_.operations;
    if (unproven_.empty()) {
      cufile["proof"] = cufile_->counts ? "libcufile" : "nvidia-fs";
    } else {
      notes.push_back("way not proven: " + unproven_);
    }
    evidence["cufile"] = cufile;
    if (cufile_pool().was_short()) {
      notes.push_back(
          fmt::format("operations waited for each other: cuFile's compatibility mode has room for "
                      "{} blocks of this size, and hangs with more",
                      cufile_pool().places()));
    }
  }

  void judge(std::string_view require, bool direct) const {
    if (cufile_ != nullptr) {
      const std::string wrong = wrong_way(ways_, require, direct, unproven_);
      if (!wrong.empty()) throw Failure(wrong, Cause::kPath);
    } else if (!require.empty() && (require != "odirect" || !direct)) {
      throw Failure(fmt::format("--require {}: backend {} goes through host memory{}", require,
                                backend_, direct ? "" : " and the page cache"),
                    Cause::kPath);
    }
  }

  std::string backend_;
  const Cufile* cufile_;  // Null for staged backends.
  Monitor monitor_;
  PcieTraffic pcie_;
  std::vector<std::string> addresses_;
  CufileWays before_;
  CufileWays ways_;
  NvidiaFsCounts nvidia_fs_before_;
  NvidiaFsCounts nvidia_fs_after_;
  std::string unproven_;  // Why nothing proves `ways_`; empty where something does.
};

}  // namespace

std::unique_ptr<GpuIoWatch> watch_gpu_io(const std::vector<int>& gpus, std::string_view backend,
                                         int measuring_cpu) {
  for (const int gpu : gpus) require_gpu(gpu);
  return std::make_unique<Watch>(gpus, backend, measuring_cpu);
}

}  // namespace tierscope
