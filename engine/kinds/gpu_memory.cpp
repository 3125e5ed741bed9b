// Bandwidth of a GPU's own memory or L2 under loads and stores of its multiprocessors.
#include "gpu/measuring.h"
#include "harness/kind.h"
#include "harness/leases.h"
#include "kinds/gpu_common.h"

namespace tierscope {
namespace {

GpuMemorySpec read_gpu_memory(const ObjectReader& measurement) {
  static constexpr std::array<std::pair<std::string_view, GpuOperation>, 7> kOperations{
      {{"read", GpuOperation::kRead},
       {"write", GpuOperation::kWrite},
       {"copy", GpuOperation::kCopy},
       {"scale", GpuOperation::kScale},
       {"add", GpuOperation::kAdd},
       {"triad", GpuOperation::kTriad},
       {"random", GpuOperation::kRandom}}};
  GpuMemorySpec spec{.common = read_gpu_common(measurement),
                     .gpu = measurement.integer<int>("gpu"),
                     .operation = {},
                     .size = 0,
                     .access_size = 0};
  const ObjectReader pattern = measurement.object("pattern");
  spec.operation = pattern.choice("operation", kOperations);
  spec.size = pattern.bytes("size");
  spec.access_size = pattern.bytes("access_size");
  return spec;
}

class GpuMemoryState final : public State {
 public:
  explicit GpuMemoryState(GpuMemorySpec spec) : spec_(std::move(spec)) {}

  void open(Leases& leases) override {
    if (!streaming_) streaming_ = make_gpu_streaming(spec_);
    streaming_->begin(leases.team(spec_.common.cpus), leases.fresh());
  }

  // Timed by the GPU's events, so nobody watches the CPU.
  std::vector<Series> series() override {
    return {{.name = "passes", .columns = {{.metric = "bandwidth", .part = ""}}, .take = [this] {
               return sample_of(streaming_->sample());
             }}};
  }

  void observe(nlohmann::ordered_json& evidence) override { streaming_->end(evidence); }

 private:
  const GpuMemorySpec spec_;
  std::unique_ptr<GpuStreaming> streaming_;
};

}  // namespace

MakeState parse_gpu_memory(const ObjectReader& measurement) {
  return [spec = read_gpu_memory(measurement)] { return std::make_unique<GpuMemoryState>(spec); };
}

}  // namespace tierscope
