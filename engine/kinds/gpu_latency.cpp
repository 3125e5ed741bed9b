// Latency of a chain of dependent loads by one thread of a GPU.
#include "gpu/measuring.h"
#include "harness/kind.h"
#include "harness/leases.h"
#include "kinds/gpu_common.h"
#include "protocol/constants.h"

namespace tierscope {
namespace {

GpuLatencySpec read_gpu_latency(const ObjectReader& measurement) {
  constexpr std::size_t kMaxSlots = std::size_t{1} << 28;
  static constexpr std::array<std::pair<std::string_view, bool>, 2> kEngines{
      {{"sm", false}, {"tma", true}}};
  static constexpr std::array<std::pair<std::string_view, bool>, 2> kOrders{
      {{"random", false}, {"linear", true}}};
  GpuLatencySpec spec{.common = read_gpu_common(measurement),
                      .gpu = measurement.integer<int>("gpu"),
                      .memory = read_memory_place(measurement, "memory"),
                      .bulk = measurement.choice("engine", kEngines),
                      .size = 0,
                      .stride = 0,
                      .linear = false,
                      .per_multiprocessor = measurement.boolean("per_sm"),
                      .every_multiprocessor = measurement.boolean("every_sm")};
  const ObjectReader pattern = measurement.object("pattern");
  spec.size = pattern.bytes("size");
  spec.stride = pattern.bytes("stride");
  spec.linear = pattern.choice("order", kOrders);
  const std::size_t slots = spec.size / spec.stride;
  pattern.check(tables::kGpuLatencyPatternSize, slots >= 2 && slots <= kMaxSlots);
  return spec;
}

// Percentiles over the multiprocessors, each sample of one round over all of them.
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
                             .take = [this] { return sample_of(chase_->sample()); }}};
    if (spec_.per_multiprocessor) {
      all.push_back({.name = "by_sm",
                     .columns = {{.metric = "sm_latency_min", .part = ""},
                                 {.metric = "sm_latency_p5", .part = ""},
                                 {.metric = "sm_latency_p50", .part = ""},
                                 {.metric = "sm_latency_p95", .part = ""},
                                 {.metric = "sm_latency_max", .part = ""}},
                     .take = [this] { return sample_of(chase_->sample_by_multiprocessor()); },
                     .samples = kRoundsByMultiprocessor});
    }
    return all;
  }

  void observe(nlohmann::ordered_json& evidence) override { chase_->end(evidence); }

 private:
  const GpuLatencySpec spec_;
  std::unique_ptr<GpuChase> chase_;
};

}  // namespace

MakeState parse_gpu_latency(const ObjectReader& measurement) {
  return [spec = read_gpu_latency(measurement)] { return std::make_unique<GpuLatencyState>(spec); };
}

}  // namespace tierscope
