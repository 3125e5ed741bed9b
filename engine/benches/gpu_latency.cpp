// Latency of a GPU's dependent loads: what a plan says of it.
#include "benches/between_runs.h"
#include "benches/gpu_spec.h"
#include "benches/kinds.h"
#include "gpu/measure.h"

namespace tierscope {
namespace {

GpuLatencySpec read_spec(ObjectReader& measurement) {
  constexpr std::int64_t kLeastStride = 8;
  constexpr std::size_t kBulkUnit = 16;
  constexpr std::int64_t kMostStride = 1 << 20;
  constexpr std::size_t kMostSlots = std::size_t{1} << 28;
  static constexpr std::array<std::pair<std::string_view, bool>, 2> kEngines{
      {{"sm", false}, {"tma", true}}};
  static constexpr std::array<std::pair<std::string_view, bool>, 2> kOrders{
      {{"random", false}, {"linear", true}}};
  GpuLatencySpec spec{
      .common = read_gpu_common(measurement),
      .gpu = static_cast<int>(measurement.integer("gpu", 0, kHighestGpu)),
      .memory = read_memory_place(measurement, "memory"),
      .bulk = measurement.has("engine") && measurement.choice("engine", kEngines),
      .size = 0,
      .stride = 0,
      .linear = false,
      .per_multiprocessor = measurement.has("per_sm") && measurement.boolean("per_sm"),
      .every_multiprocessor = measurement.has("every_sm") && measurement.boolean("every_sm")};
  ObjectReader pattern = measurement.object("pattern");
  spec.size = pattern.bytes("size");
  spec.stride = static_cast<std::size_t>(
      pattern.has("stride") ? pattern.integer("stride", kLeastStride, kMostStride) : 128);
  spec.linear = pattern.has("order") && pattern.choice("order", kOrders);
  pattern.finish();
  const bool by_multiprocessor = spec.per_multiprocessor || spec.every_multiprocessor;
  if (spec.bulk && (by_multiprocessor || spec.stride % kBulkUnit != 0)) {
    throw pattern.error("stride",
                        "engine tma takes multiples of 16, and neither per_sm nor every_sm");
  }
  if (spec.stride % sizeof(std::uint64_t) != 0) {
    throw pattern.error("stride", "is not a multiple of 8");
  }
  if (spec.size / spec.stride < 2 || spec.size / spec.stride > kMostSlots) {
    throw pattern.error("size", "has to hold 2 to 2^28 strides");
  }
  if (spec.memory.on_host() && spec.memory.kind != HostKind::kPinned &&
      spec.memory.kind != HostKind::kRegistered && spec.memory.kind != HostKind::kPageable &&
      spec.memory.kind != HostKind::kWriteCombined) {
    throw measurement.error("memory", "a chase goes through memory that stays where it is");
  }
  return spec;
}

}  // namespace

Job parse_gpu_latency(ObjectReader& measurement) {
  return [spec = read_spec(measurement)](Workspace& workspace, const Progress& progress) {
    return with_difference_between_runs(measure_gpu_latency(spec, workspace, progress));
  };
}

}  // namespace tierscope
