#include "protocol/capabilities.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "access/kernel.h"
#include "gpu/devices.h"
#include "memory/system_memory.h"
#include "memory/traffic_counters.h"
#include "protocol/constants.h"
#include "sampling/clock.h"
#include "threads/affinity.h"

namespace tierscope {
namespace {

using nlohmann::ordered_json;

ordered_json present(const std::string& name, const std::string& detail) {
  return {{"name", name}, {"available", true}, {"detail", detail}};
}

ordered_json absent(const std::string& name, const std::string& reason, const std::string& remedy) {
  return {{"name", name}, {"available", false}, {"reason", reason}, {"remedy", remedy}};
}

// What only /sys tells, where it is hidden.
ordered_json unknown(const std::string& name) {
  return absent(name, "unknown: /sys is not visible", "mount it: docker run -v /sys:/sys:ro");
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

ordered_json transparent_huge_pages() {
  const std::string setting = first_line("/sys/kernel/mm/transparent_hugepage/enabled");
  if (setting.empty() && !sys_is_visible()) return unknown("pages:thp");
  if (setting.empty()) {
    return absent("pages:thp", "this kernel has no transparent huge pages",
                  "measure with ordinary pages");
  }
  if (setting.find("[never]") != std::string::npos) {
    return absent("pages:thp", "transparent huge pages are switched off",
                  "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled (as root)");
  }
  return present("pages:thp", setting);
}

ordered_json hugetlb(const std::string& name, int kibibytes) {
  const std::string pool = fmt::format("/sys/kernel/mm/hugepages/hugepages-{}kB/", kibibytes);
  const std::string free = first_line(pool + "free_hugepages");
  if (free.empty() && !sys_is_visible()) return unknown(name);
  if (free.empty()) {
    return absent(name, fmt::format("this CPU or kernel has no pages of {} KiB", kibibytes),
                  "measure with transparent huge pages");
  }
  if (free == "0") {
    return absent(name, "the pool has no free page",
                  fmt::format("echo N > {}nr_hugepages (as root)", pool));
  }
  return present(name, free + " pages free");
}

ordered_json kernel_weighted_interleave() {
  const std::string weights = "/sys/kernel/mm/mempolicy/weighted_interleave";
  if (std::ifstream(weights + "/node0")) {
    return present("placement:weighted by kernel", weights);
  }
  if (!sys_is_visible()) return unknown("placement:weighted by kernel");
  return absent("placement:weighted by kernel", "this kernel has no weighted interleave policy",
                "boot Linux 6.9 or newer; the engine places page by page meanwhile");
}

ordered_json hardware_counters() {
  std::string details;
  std::string reasons;
  std::string remedies;
  for (const CounterSource& source : traffic_counters().sources()) {
    const auto add = [](std::string& list, const std::string& text) {
      if (!text.empty()) list += (list.empty() ? "" : "; ") + text;
    };
    if (source.available) add(details, source.detail);
    add(reasons, source.reason);
    add(remedies, source.remedy);
  }
  constexpr const char* kName = "cross-check by hardware counters";
  return details.empty() ? absent(kName, reasons + "; no measurement needs them", remedies)
                         : present(kName, details);
}

ordered_json gpu() {
  const GpuRuntime found = gpu_runtime();
  const auto version = [](int number) {
    return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
  };
  if (found.devices > 0) {
    ordered_json gpus =
        present("gpu", fmt::format("{} GPUs, built with CUDA {}, driver for CUDA {}", found.devices,
                                   version(found.cuda), version(found.driver)));
    gpus["versions"] = {{"cuda_runtime", version(found.cuda)},
                        {"cuda_driver", version(found.driver)}};
    return gpus;
  }
  return absent("gpu", found.error, found.remedy);
}

}  // namespace

ordered_json capabilities(std::span<const std::string> kinds) {
  ordered_json list = ordered_json::array();
  const std::size_t cpus = allowed_cpus().size();
  for (const std::string& kind : kinds) {
    if (kind.starts_with("gpu")) continue;  // One line for all of them, below.
    list.push_back(
        present(kind, fmt::format("{} {} may be used", cpus, cpus == 1 ? "CPU" : "CPUs")));
  }
  list.push_back(present("clock", describe_clock()));
  list.push_back(transparent_huge_pages());
  list.push_back(hugetlb("pages:2m", 2048));
  list.push_back(hugetlb("pages:1g", 1048576));
  list.push_back(kernel_weighted_interleave());
  list.push_back(hardware_counters());
  list.push_back(gpu());
  return {{"engine", engine_version()},         {"plan_version", tables::kPlanVersion},
          {"git_commit", TIERSCOPE_GIT_COMMIT}, {"compiler", TIERSCOPE_COMPILER},
          {"isas", supported_isas()},           {"capabilities", list}};
}

std::string engine_version() { return TIERSCOPE_VERSION; }

}  // namespace tierscope
