// Bandwidth of a GPU's own memory.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "errors.h"
#include "gpu/buffer.h"
#include "gpu/check.h"
#include "gpu/measuring.h"
#include "gpu/observation.h"
#include "gpu/stream_kernels.h"
#include "sampling/clock.h"

namespace tierscope {
namespace {

constexpr int kMaxPasses = 1 << 20;
constexpr double kTrialSeconds = 4e-3;  // Of each grid that is tried.
// From here on a pass outlasts a launch by so much that passes can be launches.
constexpr std::size_t kLargeArray = std::size_t{256} << 20;

// Arrays that an operation goes over, each once.
int arrays_of(GpuOperation operation) {
  switch (operation) {
    case GpuOperation::kRead:
    case GpuOperation::kWrite:
    case GpuOperation::kRandom:
      return 1;
    case GpuOperation::kCopy:
    case GpuOperation::kScale:
      return 2;
    case GpuOperation::kAdd:
    case GpuOperation::kTriad:
      return 3;
  }
  return 1;
}

double bytes_per_pass(const GpuMemorySpec& spec, const StreamArrays& arrays) {
  if (spec.operation == GpuOperation::kRandom) {
    const std::size_t accesses = arrays.count * sizeof(double) / spec.access_size;
    return static_cast<double>(accesses * spec.access_size);
  }
  return static_cast<double>(arrays.count * sizeof(double)) * arrays_of(spec.operation);
}

unsigned long long read_back(const unsigned long long* memory) {
  unsigned long long value = 0;
  check_cuda(cuda().cuMemcpy(address_of(&value), address_of(memory), sizeof value),
             "reading a sum back");
  return value;
}

class Streaming final : public GpuStreaming {
 public:
  explicit Streaming(const GpuMemorySpec& spec) : spec_(spec) { require_gpu(spec.gpu); }

  void begin(Team& team, bool fresh) override;
  GpuSample sample() override;
  void end(nlohmann::ordered_json& evidence) override;

 private:
  void take_arrays(Team& team, bool fresh);
  void fill();
  void size_passes(double sample_s);
  void tune(double sample_s);
  std::string verify();

  const GpuMemorySpec spec_;
  GpuBytes sum_;
  Stream stream_;
  Event start_;
  Event end_;
  StreamArrays arrays_{};
  int blocks_ = 1;
  int passes_ = 1;
  bool tuned_ = false;
  // Of this repetition.
  std::unique_ptr<Observation> observation_;
  std::vector<Buffer*> buffers_;
  std::uint64_t passes_done_ = 0;
  unsigned long long expected_sum_ = 0;  // Of all reads so far.
};

void Streaming::begin(Team& team, bool fresh) {
  observation_
      .reset();  // Of a repetition that memory did not allow: its end would undo what follows.
  observation_ =
      std::make_unique<Observation>(fmt::format("gpu:{} memory {} bytes", spec_.gpu, spec_.size),
                                    std::vector<int>{spec_.gpu}, spec_.gpu, spec_.common);
  take_arrays(team, fresh);
  if (!tuned_) {
    fill();
    tune(std::max(spec_.common.sample_s, shortest_sample()));
  }
  fill();  // What tuning, or the repetition before, left proves nothing of the samples.
  check_cuda(cuda().cuStreamSynchronize(stream_.get()), "filling arrays");
  observation_->restart();
}

void Streaming::take_arrays(Team& team, bool fresh) {
  const GpuOperation operation = spec_.operation;
  const bool reads = operation == GpuOperation::kRead;
  const bool writes = operation == GpuOperation::kWrite || operation == GpuOperation::kRandom;
  const bool third = operation == GpuOperation::kAdd || operation == GpuOperation::kTriad;
  const int count = (reads ? 0 : 1) + (writes ? 0 : 1) + (third ? 1 : 0);
  const MemoryPlace place{.gpu = spec_.gpu};
  buffers_ = take_buffers(
      std::vector<BufferWish>(static_cast<std::size_t>(count), {place, spec_.size, spec_.gpu}),
      team, fresh);
  if (!sum_) {
    sum_ = make_gpu_bytes(spec_.gpu, sizeof(unsigned long long));
    stream_ = make_stream(spec_.gpu);
    start_ = make_event(spec_.gpu);
    end_ = make_event(spec_.gpu);
    arrays_.count = spec_.size / (2 * sizeof(double)) * 2;
    arrays_.sum = reinterpret_cast<unsigned long long*>(sum_.get());
    arrays_.access_size = spec_.access_size;
  }
  auto next = buffers_.begin();
  const auto take = [&](bool needed) {
    return needed ? reinterpret_cast<double*>((*next++)->data()) : nullptr;
  };
  arrays_.a = take(!reads);
  arrays_.b = take(!writes);
  arrays_.c = take(third);
}

// Sets up what is read, overwrites what is written, and clears the sum.
void Streaming::fill() {
  check_cuda(
      cuda().cuMemsetD8Async(address_of(sum_.get()), 0, sizeof(unsigned long long), stream_.get()),
      "clearing a sum");
  fill_stream(arrays_, spec_.operation, stream_.get());
  expected_sum_ = 0;
  passes_done_ = 0;
}

// Runs once, `passes_` times over the arrays.
GpuSample Streaming::sample() {
  // A grid that does not fit the GPU at once works block after block: passes inside it would go
  // over each block's own few kilobytes again, out of the L2. So it gets a launch for each pass.
  const bool resident = blocks_ <= most_stream_blocks(spec_.operation);
  const int launches = resident ? 1 : passes_;
  const double start = now_seconds();
  check_cuda(cuda().cuEventRecord(start_.get(), stream_.get()), "recording an event");
  for (int i = 0; i < launches; ++i) {
    launch_stream(arrays_, spec_.operation, resident ? passes_ : 1, blocks_, stream_.get());
    ++arrays_.seed;
  }
  check_cuda(cuda().cuEventRecord(end_.get(), stream_.get()), "recording an event");
  check_cuda(cuda().cuStreamSynchronize(stream_.get()), "waiting for a memory kernel");
  passes_done_ += static_cast<unsigned>(passes_);
  if (spec_.operation == GpuOperation::kRead) {
    expected_sum_ += stream_read_sum(arrays_.count) * static_cast<unsigned long long>(passes_);
  }
  const double seconds = seconds_between(start_, end_);
  return {.start_s = start,
          .duration_s = seconds,
          .values = {bytes_per_pass(spec_, arrays_) * passes_ / seconds}};
}

void Streaming::size_passes(double sample_s) {
  passes_ = 1;
  while (passes_ < kMaxPasses) {
    const double took = sample().duration_s;
    if (took >= sample_s) return;
    const double factor = std::clamp(sample_s / took * 1.05, 1.0, 16.0);
    passes_ = static_cast<int>(std::min<double>(kMaxPasses, passes_ * factor + 1));
  }
}

// Grids that fit the GPU at once, or parts of it, and one in which each thread works but once.
void Streaming::tune(double sample_s) {
  const int resident = most_stream_blocks(spec_.operation);
  std::set<int> grids{std::max(1, resident / 4), std::max(1, resident / 2), resident};
  if (arrays_.count * sizeof(double) >= kLargeArray) {
    grids.insert(single_pass_blocks(arrays_));
  }
  double best = 0;
  int chosen = resident;
  for (const int grid : grids) {
    blocks_ = grid;
    size_passes(std::min(sample_s, kTrialSeconds));
    const double rate = std::max(sample().values.front(), sample().values.front());
    if (rate > best) {
      best = rate;
      chosen = grid;
    }
  }
  blocks_ = chosen;
  size_passes(sample_s);
  tuned_ = true;
}

std::string Streaming::verify() {
  const unsigned long long sum = read_back(arrays_.sum);
  switch (spec_.operation) {
    case GpuOperation::kRead:
      if (sum != expected_sum_) {
        throw Failure(fmt::format("what was read adds up to {:x}, not to {:x}", sum, expected_sum_),
                      Cause::kVerification);
      }
      return fmt::format("the sum of all that {} passes read", passes_done_);
    case GpuOperation::kRandom:
      if (sum != 0) {
        throw Failure(fmt::format("{} random reads returned a wrong value", sum),
                      Cause::kVerification);
      }
      return "each access's value";
    default:
      break;
  }
  check_cuda(cuda().cuMemsetD8(address_of(arrays_.sum), 0, sizeof(unsigned long long)),
             "clearing a count");
  compare_stream(arrays_, spec_.operation, arrays_.sum, nullptr);
  const unsigned long long wrong = read_back(arrays_.sum);
  if (wrong != 0) {
    throw Failure(fmt::format("{} of {} elements are wrong", wrong, arrays_.count),
                  Cause::kVerification);
  }
  return fmt::format("{} elements, each compared on the GPU", arrays_.count);
}

void Streaming::end(nlohmann::ordered_json& evidence) {
  observation_->stop_watching();
  evidence["verified"] = verify();
  evidence["region_bytes"] = buffers_.size() * spec_.size;
  evidence["clock"] = kEventClock;
  evidence["grid_blocks"] = blocks_;
  observation_->report(evidence, {});
  observation_.reset();
}

}  // namespace

std::unique_ptr<GpuStreaming> make_gpu_streaming(const GpuMemorySpec& spec) {
  return std::make_unique<Streaming>(spec);
}

}  // namespace tierscope
