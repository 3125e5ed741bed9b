#include "gpu/fabric.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "gpu/device.h"
#include "gpu/nvml.h"

namespace tierscope {
namespace {

constexpr const char* kChannels = "/dev/nvidia-caps-imex-channels";

void read_registration(int gpu, FabricFacts& facts) {
  nvmlDevice_t device = nullptr;
  nvmlGpuFabricInfoV_t info{};
  info.version = nvmlGpuFabricInfo_v2;
  if (nvml().fabric == nullptr || nvml().device_by_address == nullptr ||
      nvml().device_by_address(pci_address_of(gpu).c_str(), &device) != NVML_SUCCESS ||
      nvml().fabric(device, &info) != NVML_SUCCESS) {
    return;
  }
  facts.state = info.state;
  facts.status = info.status;
  facts.clique = info.cliqueId;
  const bool none = std::all_of(std::begin(info.clusterUuid), std::end(info.clusterUuid),
                                [](unsigned char byte) { return byte == 0; });
  if (none) return;
  for (const unsigned char byte : info.clusterUuid) facts.cluster += fmt::format("{:02x}", byte);
}

void look_for_channels(FabricFacts& facts) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(kChannels, ignored)) {
    facts.channels_exist = true;
    const int file = open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;
    facts.channel_opens = true;
    close(file);
  }
}

}  // namespace

std::string FabricFacts::clique_name() const {
  return cluster.empty() ? "" : fmt::format("clique {} of cluster {}", clique, cluster);
}

FabricFacts read_fabric(int gpu) {
  FabricFacts facts;
  read_registration(gpu, facts);
  look_for_channels(facts);
  return facts;
}

std::string explain_fabric(int gpu, const FabricFacts& facts, const std::string& error) {
  if (facts.state == NVML_GPU_FABRIC_STATE_NOT_SUPPORTED) {
    return fmt::format("GPU {} is on no NVLink fabric", gpu);
  }
  if (facts.state && facts.state != NVML_GPU_FABRIC_STATE_COMPLETED) {
    return fmt::format(
        "GPU {} has not joined the NVLink fabric yet ({}); start nvidia-fabricmanager, and look at "
        "Fabric in `nvidia-smi -q`",
        gpu, facts.state == NVML_GPU_FABRIC_STATE_IN_PROGRESS ? "in progress" : "not started");
  }
  if (facts.state && facts.status != NVML_SUCCESS) {
    return fmt::format(
        "GPU {} could not join the NVLink fabric (NVML error {}); see the fabric manager's log, "
        "and Fabric in `nvidia-smi -q`",
        gpu, facts.status);
  }
  if (!facts.channels_exist) {
    return fmt::format(
        "there is no IMEX channel: {}/channel0 is missing; load the driver with "
        "NVreg_CreateImexChannel0=1, and in a container pass the channel on",
        kChannels);
  }
  if (!facts.channel_opens) {
    return fmt::format(
        "no IMEX channel may be used by this user: {}/channel* cannot be opened; ask for access to "
        "one, the same for all ranks",
        kChannels);
  }
  return fmt::format(
      "{}; look whether nvidia-imex.service runs on every host, with all of them in "
      "/etc/nvidia-imex/nodes_config.cfg (`nvidia-imex-ctl -N`)",
      error);
}

}  // namespace tierscope
