#include "kinds/kinds.h"

namespace tierscope {

std::span<const Kind> kinds() {
  static constexpr Kind kKinds[] = {
      {"bandwidth", parse_bandwidth},
      {"latency", parse_latency},
      {"loaded-latency", parse_loaded_latency},
      {"streams", parse_streams},
      {"atomics", parse_atomics},
      {"mapping", parse_mapping},
      {"gpu-copy", parse_gpu_copy},
      {"gpu-memory", parse_gpu_memory},
      {"gpu-latency", parse_gpu_latency},
  };
  return kKinds;
}

}  // namespace tierscope
