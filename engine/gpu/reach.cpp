#include "gpu/reach.h"

#include <fmt/format.h>

#include "errors.h"
#include "gpu/copy_kernels.h"
#include "gpu/device.h"

namespace tierscope {

void require_reach(int gpu, const MemoryPlace& place, bool by_copy_engine) {
  if (!place.on_host()) {
    require_gpu(place.gpu);
    require_peer(gpu, place.gpu);
  } else if (place.kind == HostKind::kPageable && !by_copy_engine &&
             !reaches_pageable_memory(gpu)) {
    throw Unavailable(Cause::kGpuFeature,
                      fmt::format("GPU {} cannot reach pageable memory in place, which takes a "
                                  "coherent link (ATS)",
                                  gpu),
                      "use pinned memory or, for copies, the engine ce");
  }
}

void require_bulk_copies(int gpu) {
  const int major = attribute_of(gpu, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  if (has_bulk_copy(major)) return;
  throw Unavailable(
      Cause::kGpuFeature,
      fmt::format("GPU {} has compute capability {}; bulk copies (TMA) need 9", gpu, major),
      "use the engine sm");
}

}  // namespace tierscope
