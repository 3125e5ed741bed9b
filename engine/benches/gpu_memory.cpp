// Bandwidth of a GPU's own memory: what a plan says of it.
#include "benches/between_runs.h"
#include "benches/gpu_spec.h"
#include "benches/kinds.h"
#include "gpu/measure.h"

namespace tierscope {
namespace {

GpuMemorySpec read_spec(ObjectReader& measurement) {
  static constexpr std::array<std::pair<std::string_view, GpuOperation>, 7> kOperations{
      {{"read", GpuOperation::kRead},
       {"write", GpuOperation::kWrite},
       {"copy", GpuOperation::kCopy},
       {"scale", GpuOperation::kScale},
       {"add", GpuOperation::kAdd},
       {"triad", GpuOperation::kTriad},
       {"random", GpuOperation::kRandom}}};
  constexpr std::int64_t kLeastAccess = 16;
  constexpr std::int64_t kMostAccess = 512;
  // A random place is a 32-bit number of 16-byte units at least.
  constexpr std::size_t kMostRandom = std::size_t{1} << 36;
  GpuMemorySpec spec{.common = read_gpu_common(measurement),
                     .gpu = static_cast<int>(measurement.integer("gpu", 0, kHighestGpu)),
                     .operation = {},
                     .size = 0,
                     .access_size = 0};
  ObjectReader pattern = measurement.object("pattern");
  spec.operation = pattern.choice("operation", kOperations);
  spec.size = pattern.bytes("size");
  spec.access_size = static_cast<std::size_t>(
      pattern.has("access_size") ? pattern.integer("access_size", kLeastAccess, kMostAccess) : 32);
  pattern.finish();
  if ((spec.access_size & (spec.access_size - 1)) != 0) {
    throw pattern.error("access_size", "is not a power of two");
  }
  if (spec.size < spec.access_size ||
      (spec.operation == GpuOperation::kRandom && spec.size >= kMostRandom)) {
    throw pattern.error("size", "is smaller than access_size, or 64 GiB and more");
  }
  return spec;
}

}  // namespace

Job parse_gpu_memory(ObjectReader& measurement) {
  return [spec = read_spec(measurement)](Workspace& workspace, const Progress& progress) {
    return with_difference_between_runs(measure_gpu_memory(spec, workspace, progress));
  };
}

}  // namespace tierscope
