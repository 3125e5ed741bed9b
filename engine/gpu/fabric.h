// What of the NVLink fabric between hosts is not set up.
#pragma once

#include <optional>
#include <string>

namespace tierscope {

// As NVML and the driver's files say it; what nobody says is left out.
struct FabricFacts {
  std::optional<unsigned> state{};  // Of the GPU's registration, NVML_GPU_FABRIC_STATE_*.
  unsigned status = 0;              // Of a registration that was completed; an nvmlReturn_t.
  std::string cluster{};            // Hexadecimal; empty where the GPU belongs to none.
  unsigned clique = 0;
  bool channels_exist = false;  // Of IMEX, in /dev.
  bool channel_opens = false;   // One of them at least, for this process.

  // Names what a GPU has in common with those that it reaches; empty where it belongs to none.
  std::string clique_name() const;
};

FabricFacts read_fabric(int gpu);

// Why memory of a GPU cannot be shared over the fabric, and what to do, from the first thing that
// is not set up; `error`, what CUDA said, where all seems to be.
std::string explain_fabric(int gpu, const FabricFacts& facts, const std::string& error);

}  // namespace tierscope
