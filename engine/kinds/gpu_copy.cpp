// Copies between host memory and GPUs, and among GPUs: any set of concurrent transfers.
#include <fmt/format.h>

#include "gpu/measuring.h"
#include "harness/kind.h"
#include "harness/leases.h"
#include "kinds/gpu_common.h"

namespace tierscope {
namespace {

constexpr std::size_t kMaxTransfers = 256;

Transfer read_transfer(const nlohmann::json& value, const std::string& where) {
  ObjectReader reader(value, where);
  Transfer transfer{.name = reader.text("name"),
                    .source = read_memory_place(reader, "source"),
                    .destination = read_memory_place(reader, "destination"),
                    .gpu = static_cast<int>(reader.integer("gpu", 0, kMaxGpu)),
                    .engine = read_copy_engine(reader),
                    .streams = read_streams(reader),
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

// What goes with one transfer and one stream only.
void check_alone(const GpuCopySpec& spec, const ObjectReader& measurement) {
  const Transfer& first = spec.transfers.front();
  const bool alone = spec.transfers.size() == 1 && first.streams == 1;
  if (!alone && !spec.gated()) {
    throw measurement.error("transfers",
                            "pageable and migrating memory goes with one transfer, one stream");
  }
  if (spec.call_latency && (!alone || first.source.managed() || first.destination.managed())) {
    throw measurement.error("call_latency",
                            "goes with one transfer of one stream, without managed memory");
  }
}

void read_pattern(ObjectReader& measurement, GpuCopySpec& spec) {
  ObjectReader pattern = measurement.object("pattern");
  const auto bytes = [&](std::string_view key, std::int64_t low) {
    const bool given = pattern.has(key) && !pattern.any(key).is_null();
    return given ? static_cast<std::size_t>(pattern.integer(key, low, kMaxGpuBytes)) : 0;
  };
  spec.size = static_cast<std::size_t>(pattern.integer("size", 1, kMaxGpuBytes));
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
}

GpuCopySpec read_spec(ObjectReader& measurement) {
  GpuCopySpec spec{
      .common = read_gpu_common(measurement),
      .size = 0,
      .offset = 0,
      .row_bytes = 0,
      .pitch = 0,
      .verify = !measurement.has("verify") || measurement.boolean("verify"),
      .call_latency = measurement.has("call_latency") && measurement.boolean("call_latency"),
      .transfers = {}};
  read_pattern(measurement, spec);
  for (const auto& value : measurement.array("transfers", kMaxTransfers)) {
    const std::string where =
        fmt::format("{}.transfers[{}]", measurement.where(), spec.transfers.size());
    spec.transfers.push_back(read_transfer(value, where));
  }
  check_alone(spec, measurement);
  for (const Transfer& transfer : spec.transfers) {
    if (spec.row_bytes != 0 && transfer.engine != CopyEngine::kCopyEngine) {
      throw measurement.error("transfers", "rows are copied by engine ce only");
    }
    if (transfer.engine == CopyEngine::kBulk && spec.offset % 16 != 0) {
      throw measurement.error("pattern", "engine tma needs an offset that is a multiple of 16");
    }
  }
  return spec;
}

class GpuCopyState final : public State {
 public:
  explicit GpuCopyState(GpuCopySpec spec) : spec_(std::move(spec)) {}

  void open(Leases& leases) override {
    if (!copies_) copies_ = make_gpu_copies(spec_);
    copies_->begin(leases.team(spec_.common.cpus), leases.fresh());
    calls_are_warm_ = false;
  }

  std::vector<Series> series() override {
    std::vector<Series> all{copies()};
    if (spec_.call_latency) all.push_back(calls());
    if (const std::optional<GpuSample> first = copies_->first()) {
      all.push_back({.name = "first",
                     .columns = {{.metric = "first_copy_bandwidth", .part = ""}},
                     .take = [row = row_of(*first)] { return row; },
                     .rows = 1});
    }
    return all;
  }

  void observe(nlohmann::ordered_json& evidence) override { copies_->end(evidence); }

 private:
  // Those that a gate holds are timed by the GPUs' events, and the CPU does not matter; the others
  // by the host's clock.
  Series copies() {
    Series series{.name = "copies",
                  .columns = {{.metric = "bandwidth", .part = ""}},
                  .take = [this] { return take_copies(); }};
    if (!spec_.gated()) series.watched_cpus = {spec_.common.cpus.front()};
    if (spec_.transfers.size() == 1) return series;
    for (const Transfer& transfer : spec_.transfers) {
      series.columns.push_back({.metric = "bandwidth", .part = transfer.name});
    }
    return series;
  }

  // What a program waits that needs one copy now.
  Series calls() {
    constexpr int kRows = 50;
    return {.name = "calls",
            .columns = {{.metric = "call_latency", .part = ""}},
            .take = [this] { return take_calls(); },
            .rows = kRows,
            .watched_cpus = {spec_.common.cpus.front()}};
  }

  Row take_copies() {
    Row row = row_of(copies_->sample());
    row.values.resize(spec_.transfers.size() == 1 ? 1 : 1 + spec_.transfers.size());
    return row;
  }

  Row take_calls() {
    constexpr int kWarmUp = 64;
    constexpr int kCalls = 20;
    if (!calls_are_warm_) copies_->calls(kWarmUp);
    calls_are_warm_ = true;
    return row_of(copies_->calls(kCalls));
  }

  const GpuCopySpec spec_;
  std::unique_ptr<GpuCopies> copies_;
  bool calls_are_warm_ = false;  // In this visit.
};

}  // namespace

MakeState parse_gpu_copy(ObjectReader& measurement) {
  return [spec = read_spec(measurement)] { return std::make_unique<GpuCopyState>(spec); };
}

}  // namespace tierscope
