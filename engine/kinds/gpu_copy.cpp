// Copies between host memory and GPUs, and among GPUs: any set of concurrent transfers.
#include <fmt/format.h>

#include "gpu/measuring.h"
#include "harness/kind.h"
#include "harness/leases.h"
#include "kinds/gpu_common.h"
#include "protocol/constants.h"

namespace tierscope {
namespace {

Transfer read_transfer(const ObjectReader& reader) {
  return {.name = reader.text("name"),
          .source = read_memory_place(reader, "source"),
          .destination = read_memory_place(reader, "destination"),
          .gpu = reader.integer<int>("gpu"),
          .engine = read_copy_engine(reader),
          .streams = reader.integer<int>("streams"),
          .reported = reader.boolean("reported")};
}

// What goes with one transfer and one stream only.
void check_alone(const GpuCopySpec& spec, const ObjectReader& measurement) {
  const Transfer& first = spec.transfers.front();
  const bool alone = spec.transfers.size() == 1 && first.streams == 1;
  measurement.check(tables::kGpuCopySpecAlone, alone || spec.gated());
  measurement.check(
      tables::kGpuCopySpecCallLatency,
      !spec.call_latency || (alone && !first.source.managed() && !first.destination.managed()));
}

void read_pattern(const ObjectReader& pattern, GpuCopySpec& spec) {
  spec.size = pattern.bytes("size");
  spec.offset = pattern.bytes("offset");
  if (!pattern.has("row_bytes")) return;
  spec.row_bytes = pattern.bytes("row_bytes");
  spec.pitch = pattern.bytes("pitch");
}

GpuCopySpec read_gpu_copy(const ObjectReader& measurement) {
  constexpr std::size_t kBulkUnit = 16;
  GpuCopySpec spec{.common = read_gpu_common(measurement),
                   .size = 0,
                   .offset = 0,
                   .row_bytes = 0,
                   .pitch = 0,
                   .verify = measurement.boolean("verify"),
                   .call_latency = measurement.boolean("call_latency"),
                   .transfers = {}};
  read_pattern(measurement.object("pattern"), spec);
  for (const ObjectReader& transfer : measurement.objects("transfers")) {
    spec.transfers.push_back(read_transfer(transfer));
  }
  check_alone(spec, measurement);
  for (const Transfer& transfer : spec.transfers) {
    measurement.check(tables::kGpuCopySpecRows,
                      spec.row_bytes == 0 || transfer.engine == CopyEngine::kCopyEngine);
    measurement.check(tables::kGpuCopySpecPatternOffset,
                      transfer.engine != CopyEngine::kBulk || spec.offset % kBulkUnit == 0);
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
                     .take = [sample = sample_of(*first)] { return sample; },
                     .samples = 1});
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
    constexpr int kSamples = 50;
    return {.name = "calls",
            .columns = {{.metric = "call_latency", .part = ""}},
            .take = [this] { return take_calls(); },
            .samples = kSamples,
            .watched_cpus = {spec_.common.cpus.front()}};
  }

  Sample take_copies() {
    Sample sample = sample_of(copies_->sample());
    sample.values.resize(spec_.transfers.size() == 1 ? 1 : 1 + spec_.transfers.size());
    return sample;
  }

  Sample take_calls() {
    constexpr int kWarmUp = 64;
    constexpr int kCalls = 20;
    if (!calls_are_warm_) copies_->calls(kWarmUp);
    calls_are_warm_ = true;
    return sample_of(copies_->calls(kCalls));
  }

  const GpuCopySpec spec_;
  std::unique_ptr<GpuCopies> copies_;
  bool calls_are_warm_ = false;  // In this repetition.
};

}  // namespace

MakeState parse_gpu_copy(const ObjectReader& measurement) {
  return [spec = read_gpu_copy(measurement)] { return std::make_unique<GpuCopyState>(spec); };
}

}  // namespace tierscope
