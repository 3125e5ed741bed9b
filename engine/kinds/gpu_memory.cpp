// Bandwidth of a GPU's own memory or L2 under loads and stores of its multiprocessors.
#include "gpu/measuring.h"
#include "harness/kind.h"
#include "harness/leases.h"
#include "kinds/gpu_common.h"

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
  constexpr std::int64_t kMinAccess = 16;
  constexpr std::int64_t kMaxAccess = 512;
  // A random place is a 32-bit number of 16-byte units at least.
  constexpr std::size_t kMaxRandom = std::size_t{1} << 36;
  GpuMemorySpec spec{.common = read_gpu_common(measurement),
                     .gpu = static_cast<int>(measurement.integer("gpu", 0, kMaxGpu)),
                     .operation = {},
                     .size = 0,
                     .access_size = 0};
  ObjectReader pattern = measurement.object("pattern");
  spec.operation = pattern.choice("operation", kOperations);
  spec.size = pattern.bytes("size");
  spec.access_size = static_cast<std::size_t>(
      pattern.has("access_size") ? pattern.integer("access_size", kMinAccess, kMaxAccess) : 32);
  pattern.finish();
  if ((spec.access_size & (spec.access_size - 1)) != 0) {
    throw pattern.error("access_size", "is not a power of two");
  }
  if (spec.size < spec.access_size ||
      (spec.operation == GpuOperation::kRandom && spec.size >= kMaxRandom)) {
    throw pattern.error("size", "is smaller than access_size, or 64 GiB and more");
  }
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
               return row_of(streaming_->sample());
             }}};
  }

  void observe(nlohmann::ordered_json& evidence) override { streaming_->end(evidence); }

 private:
  const GpuMemorySpec spec_;
  std::unique_ptr<GpuStreaming> streaming_;
};

}  // namespace

MakeState parse_gpu_memory(ObjectReader& measurement) {
  return [spec = read_spec(measurement)] { return std::make_unique<GpuMemoryState>(spec); };
}

}  // namespace tierscope
