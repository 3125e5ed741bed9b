// What the kinds on GPUs share: parts of their plans, and samples of what was measured.
#pragma once

#include <utility>

#include "gpu/measuring.h"
#include "gpu/specs.h"
#include "harness/kind.h"
#include "protocol/object_reader.h"

namespace tierscope {

// The keys "cpus", "sampling" and "trace" of a measurement.
GpuCommon read_gpu_common(const ObjectReader& measurement);

// The key `key`: {"where": "gpu", "gpu": 0} or {"where": "host", "memory": "pinned", ...}.
MemoryPlace read_memory_place(const ObjectReader& reader, std::string_view key);

CopyEngine read_copy_engine(const ObjectReader& transfer);

inline Sample sample_of(GpuSample sample) {
  return {.start_s = sample.start_s,
          .duration_s = sample.duration_s,
          .values = std::move(sample.values),
          .lost_share = sample.lost_share};
}

}  // namespace tierscope
