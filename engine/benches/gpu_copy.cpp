// Copies between host memory and GPUs, and among GPUs: what a plan says of them.
#include <fmt/format.h>

#include "benches/between_runs.h"
#include "benches/gpu_spec.h"
#include "benches/kinds.h"
#include "gpu/measure.h"

namespace tierscope {
namespace {

constexpr std::size_t kMostTransfers = 256;
constexpr int kMostStreams = 64;

Transfer read_transfer(const nlohmann::json& value, const std::string& where) {
  static constexpr std::array<std::pair<std::string_view, CopyEngine>, 3> kEngines{
      {{"ce", CopyEngine::kCopyEngine},
       {"sm", CopyEngine::kMultiprocessors},
       {"tma", CopyEngine::kBulk}}};
  ObjectReader reader(value, where);
  Transfer transfer{.name = reader.text("name"),
                    .source = read_memory_place(reader, "source"),
                    .destination = read_memory_place(reader, "destination"),
                    .gpu = static_cast<int>(reader.integer("gpu", 0, kHighestGpu)),
                    .engine = reader.choice("engine", kEngines),
                    .streams = reader.has("streams")
                                   ? static_cast<int>(reader.integer("streams", 1, kMostStreams))
                                   : 1,
                    .reported = !reader.has("reported") || reader.boolean("reported")};
  reader.finish();
  if (transfer.source.on_host() && transfer.destination.on_host()) {
    throw reader.error("destination", "is on the host, as is the source");
  }
  if (transfer.destination.on_host() && transfer.destination.kind == HostKind::kManaged) {
    throw reader.error("destination", "managed memory comes over on demand as a source only");
  }
  return transfer;
}

// Memory that cannot wait at the gate is measured alone and in one piece.
void check_alone(const Transfer& transfer, std::size_t transfers, const ObjectReader& measurement) {
  for (const MemoryPlace* place : {&transfer.source, &transfer.destination}) {
    const bool alone = place->on_host() &&
                       (place->kind == HostKind::kPageable || place->kind == HostKind::kManaged ||
                        place->kind == HostKind::kManagedPrefetch);
    if (alone && (transfers > 1 || transfer.streams > 1)) {
      throw measurement.error("transfers",
                              "pageable and migrating memory goes with one transfer, one stream");
    }
  }
}

GpuCopySpec read_spec(ObjectReader& measurement) {
  GpuCopySpec spec{.common = read_gpu_common(measurement),
                   .size = 0,
                   .offset = 0,
                   .row_bytes = 0,
                   .pitch = 0,
                   .verify = !measurement.has("verify") || measurement.boolean("verify"),
                   .transfers = {}};
  ObjectReader pattern = measurement.object("pattern");
  const auto bytes = [&](std::string_view key, std::int64_t low) {
    const bool given = pattern.has(key) && !pattern.any(key).is_null();
    return given ? static_cast<std::size_t>(pattern.integer(key, low, kMostGpuBytes)) : 0;
  };
  spec.size = static_cast<std::size_t>(pattern.integer("size", 1, kMostGpuBytes));
  spec.offset = bytes("offset", 0);
  spec.row_bytes = bytes("row_bytes", 1);
  spec.pitch = bytes("pitch", 1);
  pattern.finish();
  if ((spec.row_bytes == 0) != (spec.pitch == 0)) {
    throw pattern.error("pitch", "goes with row_bytes");
  }
  if (spec.pitch < spec.row_bytes) throw pattern.error("pitch", "is smaller than row_bytes");
  if (spec.row_bytes != 0 && spec.size % spec.row_bytes != 0) {
    throw pattern.error("size", "is not a whole number of rows");
  }
  for (const auto& value : measurement.array("transfers", kMostTransfers)) {
    const std::string where =
        fmt::format("{}.transfers[{}]", measurement.where(), spec.transfers.size());
    spec.transfers.push_back(read_transfer(value, where));
  }
  for (const Transfer& transfer : spec.transfers) {
    check_alone(transfer, spec.transfers.size(), measurement);
    if (spec.row_bytes != 0 && transfer.engine != CopyEngine::kCopyEngine) {
      throw measurement.error("transfers", "rows are copied by engine ce only");
    }
    if (transfer.engine == CopyEngine::kBulk && spec.offset % 16 != 0) {
      throw pattern.error("offset", "engine tma needs a multiple of 16");
    }
  }
  return spec;
}

}  // namespace

Job parse_gpu_copy(ObjectReader& measurement) {
  return [spec = read_spec(measurement)](Workspace& workspace, const Progress& progress) {
    return with_difference_between_runs(measure_gpu_copy(spec, workspace, progress));
  };
}

}  // namespace tierscope
