// Copies between host memory and GPUs, and among GPUs: any set of transfers at once.
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "benches/evidence.h"
#include "benches/workspace.h"
#include "errors.h"
#include "gpu/check.h"
#include "gpu/copy_kernels.h"
#include "gpu/gate.h"
#include "gpu/lane.h"
#include "gpu/measure.h"
#include "gpu/monitor.h"
#include "gpu/range.h"
#include "gpu/trace.h"
#include "gpu/verify.h"
#include "sampling/clock.h"
#include "sampling/common_window.h"
#include "threads/disturbance.h"

namespace tierscope {
namespace {

// Copies that a stream takes while the gate holds it; a full queue would block us before we open.
constexpr int kMostQueued = 256;
// Marks of a lane among several transfers; a transfer alone needs none but its end. Copy engines
// may serve lanes in turn, so marks are close there; kernels share the GPU evenly, and each launch
// costs a little.
constexpr std::size_t kCopyMarks = 16;
constexpr std::size_t kKernelMarks = 4;
// From one mark of a copy engine to the next, so that its event costs about 0.1%.
constexpr double kMarkSeconds = 2e-3;
// What kernels' grids are tried at, as divisors of what the GPU holds: over a link, fewer loads in
// flight can be faster than more.
constexpr std::array<int, 4> kDivisors{1, 2, 4, 8};
// Beside those, a grid in which each thread works once; for parts that outlast a launch by far.
constexpr int kSinglePass = 0;
constexpr double kTrialSeconds = 4e-3;
constexpr std::size_t kLargePart = std::size_t{256} << 20;

struct Run {
  const GpuCopySpec& spec;
  std::vector<Buffer*> buffers;  // The source and the destination of each transfer in turn.
  std::vector<Lane> lanes;
  std::map<int, Event> references;  // By GPU.
  bool gated;
  Gate& gate;
  std::vector<std::vector<double>> rates{};  // By transfer, a sample each.
  std::vector<double> seconds{};             // Of each sample.
};

bool is_prefetch(const Transfer& transfer) {
  return (transfer.source.on_host() && transfer.source.kind == HostKind::kManagedPrefetch) ||
         (transfer.destination.on_host() &&
          transfer.destination.kind == HostKind::kManagedPrefetch);
}

// Pages of these come over one by one, or through the driver's own bounce buffer: the call itself
// waits for the GPU, so a stream that is held at a gate would hold us, too.
bool can_be_held(const MemoryPlace& place) {
  return !place.on_host() ||
         (place.kind != HostKind::kPageable && place.kind != HostKind::kManaged &&
          place.kind != HostKind::kManagedPrefetch);
}

std::size_t buffer_bytes(const GpuCopySpec& spec) {
  const std::size_t rows = spec.row_bytes == 0 ? 0 : spec.size / spec.row_bytes;
  return spec.offset + (rows == 0 ? spec.size : rows * spec.pitch);
}

void require_reach(const Transfer& transfer) {
  require_gpu(transfer.gpu);
  for (const MemoryPlace* place : {&transfer.source, &transfer.destination}) {
    if (!place->on_host()) {
      require_gpu(place->gpu);
      require_peer(transfer.gpu, place->gpu);
    } else if (place->kind == HostKind::kPageable && transfer.engine != CopyEngine::kCopyEngine &&
               attribute_of(transfer.gpu, cudaDevAttrPageableMemoryAccess) == 0) {
      throw Unavailable(
          fmt::format("GPU {} cannot reach pageable memory by itself", transfer.gpu),
          "it takes a coherent link (ATS) or the kernel's HMM; measure it by the copy engine");
    }
  }
  const int major = attribute_of(transfer.gpu, cudaDevAttrComputeCapabilityMajor);
  if (transfer.engine == CopyEngine::kBulk && !has_bulk_copy(major)) {
    throw Unavailable(fmt::format("GPU {} has compute capability {}; bulk copies (TMA) need 9",
                                  transfer.gpu, major),
                      "use the engine sm or ce");
  }
}

std::vector<Buffer*> take_buffers(const GpuCopySpec& spec, Team& team) {
  std::vector<BufferWish> wishes;
  for (const Transfer& transfer : spec.transfers) {
    if (is_prefetch(transfer)) {
      const MemoryPlace& host = transfer.source.on_host() ? transfer.source : transfer.destination;
      wishes.push_back({host, buffer_bytes(spec), transfer.gpu});
      continue;
    }
    wishes.push_back({transfer.source, buffer_bytes(spec), transfer.gpu});
    wishes.push_back({transfer.destination, buffer_bytes(spec), transfer.gpu});
  }
  const std::vector<Buffer*> taken = take_buffers(wishes, team);
  std::vector<Buffer*> ends;
  std::size_t next = 0;
  for (const Transfer& transfer : spec.transfers) {
    ends.push_back(taken[next]);
    ends.push_back(is_prefetch(transfer) ? taken[next] : taken[++next]);
    ++next;
  }
  return ends;
}

std::vector<Lane> make_lanes(const GpuCopySpec& spec, const std::vector<Buffer*>& buffers) {
  const bool alone = spec.transfers.size() == 1;
  std::vector<Lane> lanes;
  for (std::size_t i = 0; i < spec.transfers.size(); ++i) {
    const Transfer& transfer = spec.transfers[i];
    const auto streams = static_cast<std::size_t>(transfer.streams);
    // Whole rows, or 16-byte vectors, so that each stream keeps the buffer's alignment.
    const std::size_t unit = spec.row_bytes == 0 ? 16 : spec.row_bytes;
    const std::size_t units = spec.size / unit;
    for (std::size_t k = 0; k < streams; ++k) {
      const std::size_t from = units * k / streams;
      const std::size_t to = units * (k + 1) / streams;
      const std::size_t rest = k + 1 == streams ? spec.size - units * unit : 0;
      const std::size_t step = spec.row_bytes == 0 ? unit : spec.pitch;
      Lane lane{.transfer = &transfer,
                .transfer_index = i,
                .from = buffers[2 * i],
                .to = buffers[2 * i + 1],
                .first = spec.offset + from * step,
                .bytes = (to - from) * unit + rest,
                .row_bytes = spec.row_bytes,
                .pitch = spec.pitch,
                .stream = make_stream(transfer.gpu),
                .start = make_event(transfer.gpu),
                .marks = {}};
      const bool kernel = transfer.engine != CopyEngine::kCopyEngine;
      const std::size_t marks = alone ? 1 : (kernel ? kKernelMarks : kCopyMarks);
      for (std::size_t mark = 0; mark < marks; ++mark) {
        lane.marks.push_back(make_event(transfer.gpu));
      }
      if (lane.bytes > 0) lanes.push_back(std::move(lane));
    }
  }
  return lanes;
}

// Managed memory is where its transfer begins before each sample.
void bring_back(const Run& run) {
  for (const Lane& lane : run.lanes) {
    if (!lane.from->managed() && !lane.to->managed()) continue;
    const OnGpu on(lane.transfer->gpu);
    if (lane.from == lane.to && !lane.transfer->source.on_host()) {
      lane.from->prefetch_to_gpu(lane.transfer->gpu, lane.stream.get());
      check_cuda(cudaStreamSynchronize(lane.stream.get()), "moving managed memory");
    } else {
      for (const Buffer* buffer : {lane.from, lane.to}) {
        if (buffer->managed()) buffer->move_home();
      }
    }
  }
}

void queue(const Lane& lane) {
  check_cuda(cudaEventRecord(lane.start.get(), lane.stream.get()), "recording an event");
  int done = 0;
  for (const Event& mark : lane.marks) {
    lane.queue_copies(done);
    done += lane.copies;
    check_cuda(cudaEventRecord(mark.get(), lane.stream.get()), "recording an event");
  }
}

void wait_for_all(const Run& run) {
  for (const Lane& lane : run.lanes) {
    check_cuda(cudaStreamSynchronize(lane.stream.get()), "waiting for the transfers");
  }
}

// Every lane is held at the gate until all of them have all their work.
std::vector<Course> run_gated(Run& run) {
  std::set<int> referred;
  run.gate.close();
  try {
    for (const Lane& lane : run.lanes) {
      const OnGpu on(lane.transfer->gpu);
      if (referred.insert(lane.transfer->gpu).second) {
        check_cuda(cudaEventRecord(run.references.at(lane.transfer->gpu).get(), lane.stream.get()),
                   "recording an event");
      }
      run.gate.hold(lane.stream.get());
      queue(lane);
    }
  } catch (...) {
    run.gate.open();
    throw;
  }
  run.gate.open();
  wait_for_all(run);

  std::vector<Course> courses;
  std::map<int, double> opened;  // When each GPU's first lane passed the gate, by its own clock.
  for (const Lane& lane : run.lanes) {
    const int gpu = lane.transfer->gpu;
    courses.push_back({lane.times(run.references.at(gpu)),
                       std::vector<double>(lane.marks.size(), lane.bytes_per_mark())});
    const double start = courses.back().times.front();
    const auto known = opened.try_emplace(gpu, start).first;
    known->second = std::min(known->second, start);
  }
  // One flag opens the gate for all GPUs within a poll of it, about a microsecond: that moment is
  // where their clocks are set against each other.
  for (std::size_t i = 0; i < courses.size(); ++i) {
    for (double& time : courses[i].times) time -= opened.at(run.lanes[i].transfer->gpu);
  }
  return courses;
}

// One transfer on its own, timed by the host's clock from the first call to the last byte.
std::vector<Course> run_ungated(Run& run) {
  bring_back(run);
  wait_for_all(run);
  const double start = now_seconds();
  for (const Lane& lane : run.lanes) {
    const OnGpu on(lane.transfer->gpu);
    lane.queue_copies(0);
  }
  wait_for_all(run);
  const double end = now_seconds();
  std::vector<Course> courses;
  for (const Lane& lane : run.lanes) {
    courses.push_back({{start, end}, {lane.bytes_per_mark()}});
  }
  return courses;
}

double sample(Run& run) {
  const std::vector<Course> lanes = run.gated ? run_gated(run) : run_ungated(run);
  std::vector<std::vector<Course>> streams(run.spec.transfers.size());
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    streams[run.lanes[i].transfer_index].push_back(lanes[i]);
  }
  std::vector<Course> transfers;
  for (const std::vector<Course>& courses : streams) transfers.push_back(merge(courses));
  const Window window = common_window(transfers);
  if (window.end <= window.start) {
    throw Failure("the transfers were never all under way at once; ask for a larger size");
  }
  double total = 0;
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    run.rates[i].push_back(bytes_in(transfers[i], window) / (window.end - window.start));
    if (run.spec.transfers[i].reported) total += run.rates[i].back();
  }
  run.seconds.push_back(window.end - window.start);
  return total;
}

// Cuts a lane's part so that a piece lasts a mark's time at least; 16-byte vectors stay whole.
int pieces_of(const Lane& lane, double part_s) {
  int pieces = 1;
  if (lane.row_bytes != 0 || lane.marks.size() != kCopyMarks) return pieces;
  while (part_s / pieces >= 2 * kMarkSeconds &&
         lane.bytes % (static_cast<std::size_t>(pieces) * 32) == 0) {
    pieces *= 2;
  }
  return pieces;
}

// Sizes a lane that took `took` seconds so that it lasts for about `sample_s`.
void size_lane(Lane& lane, double took, double sample_s) {
  const auto marks = static_cast<double>(lane.marks.size());
  const double part_s = took / marks / lane.copies * lane.pieces;
  lane.pieces = pieces_of(lane, part_s);
  const bool queued = lane.transfer->engine == CopyEngine::kCopyEngine || lane.single_pass;
  const double mark_s = lane.transfer->engine == CopyEngine::kCopyEngine && marks > 1
                            ? std::max(kMarkSeconds, sample_s / marks)
                            : sample_s / marks;
  const double most = queued ? kMostQueued / marks : 1e6;
  lane.copies =
      static_cast<int>(std::clamp(mark_s / part_s * lane.pieces + 0.5, 1.0, std::max(1.0, most)));
}

// Sizes all lanes to last alike, so that they end at about the same time.
void size_lanes(Run& run, double sample_s) {
  constexpr int kRounds = 2;  // The first is too short for a good guess.
  for (int round = 0; round < kRounds && run.gated; ++round) {
    const std::vector<Course> courses = run_gated(run);
    for (std::size_t i = 0; i < run.lanes.size(); ++i) {
      size_lane(run.lanes[i], courses[i].times.back() - courses[i].times.front(), sample_s);
    }
  }
}

void size_ungated(Run& run, double sample_s) {
  for (Lane& lane : run.lanes) {
    const bool moves = lane.from->managed() || lane.to->managed();
    while (!moves && lane.copies < kMostQueued) {
      const Course course = run_ungated(run).front();
      if (course.times.back() - course.times.front() >= sample_s / 2) break;
      lane.copies *= 2;
    }
  }
}

bool is_kernel(const Lane& lane) { return lane.transfer->engine != CopyEngine::kCopyEngine; }

void set_blocks(Run& run, int divisor) {
  std::map<int, int> sharing;
  for (const Lane& lane : run.lanes) sharing[lane.transfer->gpu] += is_kernel(lane) ? 1 : 0;
  for (Lane& lane : run.lanes) {
    if (!is_kernel(lane)) continue;
    const OnGpu on(lane.transfer->gpu);
    lane.single_pass = divisor == kSinglePass;
    if (lane.single_pass) {
      lane.blocks = single_pass_copy_blocks(lane.bytes);
      continue;
    }
    const int most =
        lane.transfer->engine == CopyEngine::kBulk ? most_bulk_blocks() : most_copy_blocks();
    lane.blocks = std::max(1, most / sharing[lane.transfer->gpu] / divisor);
  }
}

// Bytes/s of one sample over all transfers, so that no grid wins by starving those not reported.
double rate_of_all(Run& run) {
  sample(run);
  double total = 0;
  for (const std::vector<double>& rates : run.rates) total += rates.back();
  return total;
}

// Tries grids of several sizes, for a short while each, and keeps the one that moves most; returns
// what to say of it.
std::optional<std::string> tune(Run& run, double sample_s) {
  if (std::none_of(run.lanes.begin(), run.lanes.end(), is_kernel)) {
    size_lanes(run, sample_s);
    return std::nullopt;
  }
  std::vector<int> divisors(kDivisors.begin(), kDivisors.end());
  if (run.lanes.size() == 1 && run.lanes.front().bytes >= kLargePart &&
      run.lanes.front().transfer->engine == CopyEngine::kMultiprocessors) {
    divisors.push_back(kSinglePass);
  }
  int best = divisors.front();
  double most = 0;
  for (const int divisor : divisors) {
    set_blocks(run, divisor);
    size_lanes(run, std::min(sample_s, kTrialSeconds));
    const double rate = std::max(rate_of_all(run), rate_of_all(run));
    if (rate > most) {
      most = rate;
      best = divisor;
    }
  }
  set_blocks(run, best);
  size_lanes(run, sample_s);
  const auto kernel = std::find_if(run.lanes.begin(), run.lanes.end(), is_kernel);
  return fmt::format("grid of {} blocks, the fastest of {} sizes tried", kernel->blocks,
                     divisors.size());
}

Figure figure_of(const Transfer& transfer, const std::vector<double>& rates,
                 const Sampled& sampled) {
  const auto first = static_cast<std::ptrdiff_t>(rates.size() - sampled.samples.size());
  const Estimate estimate = estimate_median(
      std::span(rates).subspan(static_cast<std::size_t>(first), sampled.samples.size()));
  return {.metric = "bandwidth " + transfer.name,
          .unit = "B/s",
          .estimate = estimate.median,
          .low = estimate.low,
          .high = estimate.high};
}

std::vector<int> gpus_of(const GpuCopySpec& spec) {
  std::set<int> gpus;
  for (const Transfer& transfer : spec.transfers) {
    gpus.insert(transfer.gpu);
    for (const MemoryPlace* place : {&transfer.source, &transfer.destination}) {
      if (!place->on_host()) gpus.insert(place->gpu);
    }
  }
  return {gpus.begin(), gpus.end()};
}

std::string label_of(const GpuCopySpec& spec) {
  return fmt::format("{} {} bytes", spec.transfers.front().name, spec.size);
}

Run make_run(const GpuCopySpec& spec, Gate& gate, Team& team) {
  const bool gated =
      std::all_of(spec.transfers.begin(), spec.transfers.end(), [](const Transfer& transfer) {
        return can_be_held(transfer.source) && can_be_held(transfer.destination);
      });
  Run run{.spec = spec,
          .buffers = take_buffers(spec, team),
          .lanes = {},
          .references = {},
          .gated = gated,
          .gate = gate};
  run.lanes = make_lanes(spec, run.buffers);
  run.rates.resize(spec.transfers.size());
  for (const Lane& lane : run.lanes) {
    run.references.try_emplace(lane.transfer->gpu, make_event(lane.transfer->gpu));
  }
  return run;
}

}  // namespace

Outcome measure_gpu_copy(const GpuCopySpec& spec, Workspace& workspace, const Progress& progress) {
  for (const Transfer& transfer : spec.transfers) require_reach(transfer);
  const NamedRange range(label_of(spec));
  Trace trace(spec.common.trace);
  const int cpu = spec.common.cpus.front();
  const OnCpu on(cpu);
  Monitor monitor(gpus_of(spec), cpu);
  const OnGpu first(spec.transfers.front().gpu);
  Gate gate;
  Run run = make_run(spec, gate, workspace.team(spec.common.cpus));
  Verifier verifier(spec, run.buffers);
  verifier.fill();

  const double sample_s = std::max(spec.common.sampling.sample_s, shortest_sample());
  if (!run.gated) size_ungated(run, sample_s);
  const std::optional<std::string> tuned = run.gated ? tune(run, sample_s) : std::nullopt;
  monitor.restart();
  const DisturbanceWatch watch({cpu});
  Outcome outcome{
      .metric = "bandwidth",
      .unit = "B/s",
      .sampled = take_samples(
          spec.common.sampling, [&] { return sample(run); }, real_surroundings(progress)),
      .figures = {},
      .evidence = {}};
  std::vector<std::string> notes;
  nlohmann::ordered_json gpus = monitor.report(notes);
  if (outcome.sampled.samples.empty()) return outcome;

  add_sampling_evidence(outcome.evidence, outcome.sampled, watch);
  if (spec.transfers.size() > 1) {
    for (std::size_t i = 0; i < spec.transfers.size(); ++i) {
      outcome.figures.push_back(figure_of(spec.transfers[i], run.rates[i], outcome.sampled));
    }
  }
  outcome.evidence["cpus"] = {sched_getcpu()};
  if (spec.verify) outcome.evidence["verified"] = verifier.verify();
  add_buffer_evidence(outcome.evidence, notes, run.buffers);
  outcome.evidence["sample_ns"] = estimate_median(run.seconds).median * 1e9;
  if (run.gated) outcome.evidence["clock"] = "CUDA events, about 0.5 us steps";
  outcome.evidence["gpus"] = std::move(gpus);
  if (tuned) notes.push_back(*tuned);
  for (const std::string& note : notes) outcome.evidence["notes"].push_back(note);
  if (spec.common.trace) outcome.evidence["trace"] = trace.report();
  return outcome;
}

}  // namespace tierscope
