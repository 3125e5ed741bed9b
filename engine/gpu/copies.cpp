// Copies between host memory and GPUs, and among GPUs: any set of transfers at once.
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <optional>
#include <set>

#include "benches/evidence.h"
#include "benches/workspace.h"
#include "errors.h"
#include "gpu/check.h"
#include "gpu/copy_kernels.h"
#include "gpu/copy_run.h"
#include "gpu/copy_sizing.h"
#include "gpu/measure.h"
#include "gpu/monitor.h"
#include "gpu/range.h"
#include "gpu/trace.h"
#include "gpu/verify.h"
#include "sampling/clock.h"
#include "threads/disturbance.h"

namespace tierscope {
namespace {

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
               !reaches_pageable_memory(transfer.gpu)) {
      throw Unavailable(
          fmt::format("GPU {} cannot reach pageable memory where it is", transfer.gpu),
          "it takes a coherent link (ATS); measure it by the copy engine");
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

// The later transfer that one kernel makes together with this one: the way back between the same
// GPU and the host. Two kernels would share the GPU by chance, not evenly.
std::optional<std::size_t> opposite_of(const GpuCopySpec& spec, std::size_t index,
                                       const std::set<std::size_t>& made) {
  constexpr std::size_t kVector = 16;
  const Transfer& one = spec.transfers[index];
  for (std::size_t i = index + 1; i < spec.transfers.size(); ++i) {
    const Transfer& other = spec.transfers[i];
    const bool back = one.source == other.destination && one.destination == other.source &&
                      one.source.on_host() != one.destination.on_host();
    const auto plain = [](const Transfer& transfer) {
      return transfer.engine == CopyEngine::kMultiprocessors && transfer.streams == 1;
    };
    if (back && plain(one) && plain(other) && spec.offset % kVector == 0 && !made.contains(i)) {
      return i;
    }
  }
  return std::nullopt;
}

// Transfers that the same copy engine moves: those of one GPU, the same way.
bool share_engine(const Transfer& one, const Transfer& other) {
  const auto own = [](const MemoryPlace& place, const Transfer& transfer) {
    return !place.on_host() && place.gpu == transfer.gpu;
  };
  return one.engine == CopyEngine::kCopyEngine && other.engine == one.engine &&
         one.gpu == other.gpu && one.source.on_host() == other.source.on_host() &&
         one.destination.on_host() == other.destination.on_host() &&
         own(one.source, one) == own(other.source, other) &&
         own(one.destination, one) == own(other.destination, other);
}

std::vector<std::vector<std::size_t>> engines_of(const GpuCopySpec& spec) {
  std::vector<std::vector<std::size_t>> engines;
  for (std::size_t i = 0; i < spec.transfers.size(); ++i) {
    const auto shared = std::find_if(engines.begin(), engines.end(), [&](const auto& engine) {
      return share_engine(spec.transfers[engine.front()], spec.transfers[i]);
    });
    if (shared == engines.end()) {
      engines.push_back({i});
    } else {
      shared->push_back(i);
    }
  }
  return engines;
}

// Several GPUs with several transfers each, as all to all. From streams of their own, copy engines
// would take them in an order that chance sets, and GPUs that write to the same one share its
// links: four H200 made 780 to 1560 GB/s, from one sample to the next.
bool left_to_chance(const CopyRun& run) {
  return run.engines.size() > 1 &&
         std::all_of(run.engines.begin(), run.engines.end(),
                     [](const std::vector<std::size_t>& engine) { return engine.size() > 1; });
}

void put_in_turn(CopyRun& run) {
  for (std::size_t engine = 0; engine < run.engines.size(); ++engine) {
    const std::vector<Lane*> lanes = lanes_of(run, engine);
    for (Lane* lane : lanes) lane->stream = lanes.front()->stream;
  }
  run.in_turn = true;
}

CheckpointPlan checkpoint_plan_of(const Transfer& transfer, bool alone) {
  if (alone) return kAlone;
  return transfer.engine == CopyEngine::kCopyEngine ? kCopyAmongOthers : kKernelAmongOthers;
}

std::vector<Lane> make_lanes(const CopyRun& run) {
  const GpuCopySpec& spec = run.spec;
  std::set<std::size_t> made;  // Together with an earlier one.
  std::vector<Lane> lanes;
  for (std::size_t i = 0; i < spec.transfers.size(); ++i) {
    if (made.contains(i)) continue;
    const Transfer& transfer = spec.transfers[i];
    const std::optional<std::size_t> back = opposite_of(spec, i, made);
    if (back) made.insert(*back);
    const bool alone = run.engines.size() == (back ? 2 : 1);
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
                .from = run.buffers[2 * i],
                .to = run.buffers[2 * i + 1],
                .first = spec.offset + from * step,
                .bytes = (to - from) * unit + rest,
                .row_bytes = spec.row_bytes,
                .pitch = spec.pitch,
                .stream = make_stream(transfer.gpu),
                .start = make_event(transfer.gpu),
                .checkpoint_plan = checkpoint_plan_of(transfer, alone),
                .checkpoints = {}};
      if (back) lane.opposite = {*back, run.buffers[2 * *back], run.buffers[2 * *back + 1]};
      for (std::size_t checkpoint = 0; checkpoint < lane.checkpoint_plan.count; ++checkpoint) {
        lane.checkpoints.push_back(make_event(transfer.gpu));
      }
      if (lane.bytes > 0) lanes.push_back(std::move(lane));
    }
  }
  return lanes;
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

// What a program waits that needs one copy now: from the call to the last byte, by the host's
// clock. To be asked for after the samples, since it resizes the lane.
Figure call_latency(CopyRun& run) {
  constexpr int kWarmUp = 64;
  constexpr int kCalls = 1000;
  Lane& lane = run.lanes.front();
  const OnGpu on(lane.transfer->gpu);
  lane.copies = 1;
  lane.pieces = 1;
  std::vector<double> ns;
  for (int i = 0; i < kWarmUp + kCalls; ++i) {
    const double start = now_seconds();
    lane.queue_copies();
    check_cuda(cudaStreamSynchronize(lane.stream.get()), "waiting for a copy");
    if (i >= kWarmUp) ns.push_back((now_seconds() - start) * 1e9);
  }
  const Estimate estimate = estimate_median(ns);
  return {.metric = "latency of one call",
          .unit = "ns",
          .estimate = estimate.median,
          .low = estimate.low,
          .high = estimate.high};
}

// Of large copies the call is nothing beside the copy; a trace is to show the samples.
bool call_matters(const CopyRun& run) {
  constexpr std::size_t kLarge = std::size_t{1} << 20;
  return run.lanes.size() == 1 && !run.spec.common.trace && !run.lanes.front().opposite &&
         run.spec.size <= kLarge && !run.lanes.front().from->managed() &&
         !run.lanes.front().to->managed();
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

CopyRun make_run(const GpuCopySpec& spec, Gate& gate, Team& team) {
  const bool gated =
      std::all_of(spec.transfers.begin(), spec.transfers.end(), [](const Transfer& transfer) {
        return can_be_held(transfer.source) && can_be_held(transfer.destination);
      });
  CopyRun run{.spec = spec,
              .buffers = take_buffers(spec, team),
              .lanes = {},
              .references = {},
              .gated = gated,
              .gate = gate,
              .engines = engines_of(spec)};
  run.lanes = make_lanes(run);
  if (left_to_chance(run)) put_in_turn(run);
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
  CopyRun run = make_run(spec, gate, workspace.team(spec.common.cpus));
  Verifier verifier(spec, run.buffers);
  verifier.fill();

  const double sample_s = std::max(spec.common.sampling.sample_s, shortest_sample());
  const std::optional<std::string> tuned = tune(run, sample_s);
  verifier.spoil();  // What was there already proves nothing of the samples.
  start_anew(run);
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
  outcome.evidence["sample_ns"] = estimate_median(run.seconds).median * 1e9;
  move_the_rest(run);
  if (call_matters(run)) outcome.figures.push_back(call_latency(run));
  if (spec.verify) outcome.evidence["verified"] = verifier.verify();
  add_buffer_evidence(outcome.evidence, notes, run.buffers);
  if (run.gated) outcome.evidence["clock"] = "CUDA events, about 0.5 us steps";
  if (run.in_turn) outcome.evidence["in_turn"] = true;
  outcome.evidence["gpus"] = std::move(gpus);
  if (tuned) notes.push_back(*tuned);
  for (const std::string& note : notes) outcome.evidence["notes"].push_back(note);
  if (spec.common.trace) outcome.evidence["trace"] = trace.report();
  return outcome;
}

}  // namespace tierscope
