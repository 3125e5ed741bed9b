// Latency of a chain of dependent loads by one thread of a GPU.
#include "gpu/measuring.h"
#include "harness/kind.h"
#include "harness/leases.h"
#include "kinds/gpu_common.h"

namespace tierscope {
namespace {

GpuLatencySpec read_spec(ObjectReader& measurement) {
  constexpr std::int64_t kMinStride = 8;
  constexpr std::size_t kBulkUnit = 16;
  constexpr std::int64_t kMaxStride = 1 << 20;
  constexpr std::size_t kMaxSlots = std::size_t{1} << 28;
  static constexpr std::array<std::pair<std::string_view, bool>, 2> kEngines{
      {{"sm", false}, {"tma", true}}};
  static constexpr std::array<std::pair<std::string_view, bool>, 2> kOrders{
      {{"random", false}, {"linear", true}}};
  GpuLatencySpec spec{
      .common = read_gpu_common(measurement),
      .gpu = static_cast<int>(measurement.integer("gpu", 0, kMaxGpu)),
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
      pattern.has("stride") ? pattern.integer("stride", kMinStride, kMaxStride) : 128);
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
  if (spec.size / spec.stride < 2 || spec.size / spec.stride > kMaxSlots) {
    throw pattern.error("size", "has to hold 2 to 2^28 strides");
  }
  if (spec.memory.managed()) {
    throw measurement.error("memory", "a chase goes through memory that stays where it is");
  }
  return spec;
}

// Percentiles over the multiprocessors, each row of one round over all of them.
constexpr int kRoundsByMultiprocessor = 3;

class GpuLatencyState final : public State {
 public:
  explicit GpuLatencyState(GpuLatencySpec spec) : spec_(std::move(spec)) {}

  void open(Leases& leases) override {
    if (!chase_) chase_ = make_gpu_chase(spec_);
    chase_->begin(leases.team(spec_.common.cpus), leases.fresh());
  }

  // Timed by the GPU's events, so nobody watches the CPU.
  std::vector<Series> series() override {
    std::vector<Series> all{{.name = "chases",
                             .columns = {{.metric = "latency", .part = ""}},
                             .take = [this] { return row_of(chase_->sample()); }}};
    if (spec_.per_multiprocessor) {
      all.push_back({.name = "by_sm",
                     .columns = {{.metric = "sm_latency_min", .part = ""},
                                 {.metric = "sm_latency_p5", .part = ""},
                                 {.metric = "sm_latency_p50", .part = ""},
                                 {.metric = "sm_latency_p95", .part = ""},
                                 {.metric = "sm_latency_max", .part = ""}},
                     .take = [this] { return row_of(chase_->sample_by_multiprocessor()); },
                     .rows = kRoundsByMultiprocessor});
    }
    return all;
  }

  void observe(nlohmann::ordered_json& evidence) override { chase_->end(evidence); }

 private:
  const GpuLatencySpec spec_;
  std::unique_ptr<GpuChase> chase_;
};

}  // namespace

MakeState parse_gpu_latency(ObjectReader& measurement) {
  return [spec = read_spec(measurement)] { return std::make_unique<GpuLatencyState>(spec); };
}

}  // namespace tierscope
