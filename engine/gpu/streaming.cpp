// Bandwidth of a GPU's own memory.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "benches/evidence.h"
#include "errors.h"
#include "gpu/check.h"
#include "gpu/device.h"
#include "gpu/measure.h"
#include "gpu/monitor.h"
#include "gpu/range.h"
#include "gpu/stream_kernels.h"
#include "gpu/trace.h"
#include "sampling/clock.h"

namespace tierscope {
namespace {

constexpr int kMostPasses = 1 << 20;
constexpr double kTrialSeconds = 4e-3;  // Of each grid that is tried.
// From here on a pass outlasts a launch by so much that passes can be launches.
constexpr std::size_t kLargeArray = std::size_t{256} << 20;

struct Streaming {
  const GpuMemorySpec& spec;
  std::vector<GpuBytes> memory;
  GpuBytes sum;
  StreamArrays arrays;
  Stream stream;
  Event start;
  Event end;
  int blocks = 1;
  int passes = 1;
  unsigned long long expected_sum = 0;  // Of all reads so far.
  std::vector<double> seconds{};
};

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

Streaming set_up(const GpuMemorySpec& spec) {
  Streaming run{.spec = spec,
                .memory = {},
                .sum = make_gpu_bytes(spec.gpu, sizeof(unsigned long long)),
                .arrays = {},
                .stream = make_stream(spec.gpu),
                .start = make_event(spec.gpu),
                .end = make_event(spec.gpu)};
  const GpuOperation operation = spec.operation;
  const bool reads = operation == GpuOperation::kRead;
  const bool writes = operation == GpuOperation::kWrite || operation == GpuOperation::kRandom;
  const bool third = operation == GpuOperation::kAdd || operation == GpuOperation::kTriad;
  const auto allocate = [&](bool needed) -> double* {
    if (!needed) return nullptr;
    run.memory.push_back(make_gpu_bytes(spec.gpu, spec.size));
    return reinterpret_cast<double*>(run.memory.back().get());
  };
  run.arrays = {.a = allocate(!reads),
                .b = allocate(!writes),
                .c = allocate(third),
                .count = spec.size / (2 * sizeof(double)) * 2,
                .sum = reinterpret_cast<unsigned long long*>(run.sum.get()),
                .access_size = spec.access_size,
                .seed = 0};
  check_cuda(cudaMemsetAsync(run.sum.get(), 0, sizeof(unsigned long long), run.stream.get()),
             "clearing a sum");
  fill_stream(run.arrays, operation, run.stream.get());
  return run;
}

// Runs once, `passes` times over the arrays; returns bytes/s.
double sample(Streaming& run) {
  // A grid that does not fit the GPU at once works block after block: passes inside it would go
  // over each block's own few kilobytes again, out of the L2. So it gets a launch for each pass.
  const bool resident = run.blocks <= most_stream_blocks(run.spec.operation);
  const int launches = resident ? 1 : run.passes;
  check_cuda(cudaEventRecord(run.start.get(), run.stream.get()), "recording an event");
  for (int i = 0; i < launches; ++i) {
    launch_stream(run.arrays, run.spec.operation, resident ? run.passes : 1, run.blocks,
                  run.stream.get());
    ++run.arrays.seed;
  }
  check_cuda(cudaEventRecord(run.end.get(), run.stream.get()), "recording an event");
  check_cuda(cudaStreamSynchronize(run.stream.get()), "waiting for a memory kernel");
  if (run.spec.operation == GpuOperation::kRead) {
    run.expected_sum +=
        stream_read_sum(run.arrays.count) * static_cast<unsigned long long>(run.passes);
  }
  run.seconds.push_back(seconds_between(run.start, run.end));
  return bytes_per_pass(run.spec, run.arrays) * run.passes / run.seconds.back();
}

void size_passes(Streaming& run, double sample_s) {
  run.passes = 1;
  while (run.passes < kMostPasses) {
    sample(run);
    const double took = run.seconds.back();
    if (took >= sample_s) return;
    const double factor = std::clamp(sample_s / took * 1.05, 1.0, 16.0);
    run.passes = static_cast<int>(std::min<double>(kMostPasses, run.passes * factor + 1));
  }
}

// Grids that fit the GPU at once, or parts of it, and one in which each thread works but once.
std::string tune(Streaming& run, double sample_s) {
  const int most = most_stream_blocks(run.spec.operation);
  std::set<int> grids{std::max(1, most / 4), std::max(1, most / 2), most};
  if (run.arrays.count * sizeof(double) >= kLargeArray) {
    grids.insert(single_pass_blocks(run.arrays));
  }
  double best = 0;
  int chosen = most;
  for (const int grid : grids) {
    run.blocks = grid;
    size_passes(run, std::min(sample_s, kTrialSeconds));
    const double rate = std::max(sample(run), sample(run));
    if (rate > best) {
      best = rate;
      chosen = grid;
    }
  }
  run.blocks = chosen;
  size_passes(run, sample_s);
  return fmt::format("grid of {} blocks, the fastest of {} sizes tried", chosen, grids.size());
}

unsigned long long read_back(const unsigned long long* memory) {
  unsigned long long value = 0;
  check_cuda(cudaMemcpy(&value, memory, sizeof value, cudaMemcpyDefault), "reading a sum back");
  return value;
}

std::string verify(Streaming& run) {
  const unsigned long long sum = read_back(run.arrays.sum);
  switch (run.spec.operation) {
    case GpuOperation::kRead:
      if (sum != run.expected_sum) {
        throw Failure(
            fmt::format("what was read adds up to {:x}, not to {:x}", sum, run.expected_sum));
      }
      return fmt::format("the sum of all that {} passes read", run.seconds.size());
    case GpuOperation::kRandom:
      if (sum != 0) throw Failure(fmt::format("{} random reads brought a wrong value", sum));
      return "each access's value";
    default:
      break;
  }
  check_cuda(cudaMemset(run.arrays.sum, 0, sizeof(unsigned long long)), "clearing a count");
  compare_stream(run.arrays, run.spec.operation, run.arrays.sum, nullptr);
  const unsigned long long wrong = read_back(run.arrays.sum);
  if (wrong != 0) {
    throw Failure(fmt::format("{} of {} elements are wrong", wrong, run.arrays.count));
  }
  return fmt::format("{} elements, each compared on the GPU", run.arrays.count);
}

}  // namespace

Outcome measure_gpu_memory(const GpuMemorySpec& spec, Workspace&, const Progress& progress) {
  require_gpu(spec.gpu);
  const NamedRange range(fmt::format("gpu:{} memory {} bytes", spec.gpu, spec.size));
  Trace trace(spec.common.trace);
  const int cpu = spec.common.cpus.front();
  const OnCpu on_cpu(cpu);
  const OnGpu on(spec.gpu);
  Monitor monitor({spec.gpu}, cpu);
  Streaming run = set_up(spec);
  const double sample_s = std::max(spec.common.sampling.sample_s, shortest_sample());
  const std::string tuned = tune(run, sample_s);
  monitor.restart();
  const DisturbanceWatch watch({cpu});
  Outcome outcome{
      .metric = "bandwidth",
      .unit = "B/s",
      .sampled = take_samples(
          spec.common.sampling, [&] { return sample(run); }, real_surroundings(progress)),
      .figures = {},
      .evidence = {}};
  std::vector<std::string> notes{tuned};
  nlohmann::ordered_json gpus = monitor.report(notes);
  if (outcome.sampled.samples.empty()) return outcome;
  add_sampling_evidence(outcome.evidence, outcome.sampled, watch);
  outcome.evidence["verified"] = verify(run);
  outcome.evidence["region_bytes"] = run.memory.size() * spec.size;
  outcome.evidence["sample_ns"] = estimate_median(run.seconds).median * 1e9;
  outcome.evidence["clock"] = "CUDA events, about 0.5 us steps";
  outcome.evidence["gpus"] = std::move(gpus);
  for (const std::string& note : notes) outcome.evidence["notes"].push_back(note);
  if (spec.common.trace) outcome.evidence["trace"] = trace.report();
  return outcome;
}

}  // namespace tierscope
