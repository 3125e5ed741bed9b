#include "benches/kinds.h"

namespace tierscope {

std::span<const Kind> kinds() {
  static constexpr Kind kKinds[] = {
      {"bandwidth", parse_bandwidth},
      {"latency", parse_latency},
  };
  return kKinds;
}

}  // namespace tierscope
