#include "gpu/copy_lanes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "errors.h"
#include "gpu/devices.h"

namespace tierscope {
namespace {

constexpr std::size_t kVector = 16;  // Bytes that a kernel moves at once.

// The later transfer that one kernel makes, too: the way back between the same GPU and the host.
// Two kernels would share the GPU by chance, not evenly.
std::optional<std::size_t> opposite_of(const GpuCopySpec& spec, std::size_t index,
                                       const std::set<std::size_t>& fused) {
  const Transfer& one = spec.transfers[index];
  for (std::size_t i = index + 1; i < spec.transfers.size(); ++i) {
    const Transfer& other = spec.transfers[i];
    const bool back = one.source == other.destination && one.destination == other.source &&
                      one.source.on_host() != one.destination.on_host();
    const auto plain = [](const Transfer& transfer) {
      return transfer.engine == CopyEngine::kMultiprocessors && transfer.streams == 1;
    };
    if (back && plain(one) && plain(other) && spec.offset % kVector == 0 && !fused.contains(i)) {
      return i;
    }
  }
  return std::nullopt;
}

// Transfers that the same copy engine moves: those of one GPU in one direction.
bool share_engine(const Transfer& one, const Transfer& other) {
  const auto own = [](const MemoryPlace& place, const Transfer& transfer) {
    return !place.on_host() && place.gpu == transfer.gpu && place.rank == transfer.rank;
  };
  return one.engine == CopyEngine::kCopyEngine && other.engine == one.engine &&
         one.worker() == other.worker() && one.source.on_host() == other.source.on_host() &&
         one.destination.on_host() == other.destination.on_host() &&
         own(one.source, one) == own(other.source, other) &&
         own(one.destination, one) == own(other.destination, other);
}

std::vector<EngineLoad> engines_of(const GpuCopySpec& spec) {
  std::vector<EngineLoad> engines;
  for (std::size_t i = 0; i < spec.transfers.size(); ++i) {
    const auto shared = std::find_if(engines.begin(), engines.end(), [&](const auto& engine) {
      return share_engine(spec.transfers[engine.transfers.front()], spec.transfers[i]);
    });
    if (shared == engines.end()) {
      engines.push_back({.transfers = {i}});
    } else {
      shared->transfers.push_back(i);
    }
  }
  return engines;
}

void add_lanes_to_engines(CopyRun& run) {
  for (EngineLoad& engine : run.engines) {
    const auto moves = [&engine](std::size_t transfer) {
      return std::find(engine.transfers.begin(), engine.transfers.end(), transfer) !=
             engine.transfers.end();
    };
    for (std::size_t i = 0; i < run.lanes.size(); ++i) {
      const Lane& lane = run.lanes[i];
      const bool own = moves(lane.transfer_index);
      if (own) engine.lanes.push_back(i);
      if (own || (lane.opposite && moves(lane.opposite->transfer_index))) {
        engine.timed_lanes.push_back(i);
      }
    }
  }
}

// Several GPUs with several transfers each, as all to all. From streams of their own, copy engines
// would take them in an order that chance sets, and GPUs that write to the same one share its
// links: four H200 made 780 to 1560 GB/s, from one sample to the next.
bool left_to_chance(const CopyRun& run) {
  return run.engines.size() > 1 &&
         std::all_of(run.engines.begin(), run.engines.end(),
                     [](const EngineLoad& engine) { return engine.transfers.size() > 1; });
}

void put_in_turn(CopyRun& run) {
  for (const EngineLoad& engine : run.engines) {
    for (const std::size_t lane : engine.lanes) {
      run.lanes[lane].stream = run.lanes[engine.lanes.front()].stream;
    }
  }
  run.in_turn = true;
}

// Each stream has a queue of its GPU to itself: see kQueues.
void require_queues(const CopyRun& run) {
  std::map<int, std::set<CUstream>> streams;
  for (const Lane& lane : run.lanes) {
    if (lane.ours) streams[lane.transfer->gpu].insert(lane.stream.get());
  }
  for (const auto& [gpu, own] : streams) {
    if (own.size() <= kQueues) continue;
    throw Unavailable(
        Cause::kGpuFeature,
        fmt::format("GPU {} would have {} concurrent streams, and it has {} queues for them", gpu,
                    own.size(), kQueues),
        "ask for fewer streams, or for fewer concurrent transfers");
  }
}

CheckpointPlan checkpoint_plan_of(const Transfer& transfer, bool alone) {
  if (alone) return kAlone;
  return transfer.engine == CopyEngine::kCopyEngine ? kCopyAmongOthers : kKernelAmongOthers;
}

// The k-th of a transfer's lanes: whole rows, or 16-byte vectors, so that each stream keeps the
// buffer's alignment.
Lane make_lane(const GpuCopySpec& spec, std::size_t index, std::size_t k,
               const CheckpointPlan& plan) {
  const Transfer& transfer = spec.transfers[index];
  const auto streams = static_cast<std::size_t>(transfer.streams);
  const std::size_t unit = spec.row_bytes == 0 ? kVector : spec.row_bytes;
  const std::size_t units = spec.size / unit;
  const std::size_t from = units * k / streams;
  const std::size_t to = units * (k + 1) / streams;
  const std::size_t rest = k + 1 == streams ? spec.size - units * unit : 0;
  const std::size_t step = spec.row_bytes == 0 ? unit : spec.pitch;
  Lane lane{.transfer = &transfer,
            .transfer_index = index,
            .first = spec.offset + from * step,
            .bytes = (to - from) * unit + rest,
            .row_bytes = spec.row_bytes,
            .pitch = spec.pitch,
            .ours = spec.moves(transfer),
            .stream = {},
            .start = {},
            .checkpoint_plan = plan,
            .checkpoints = {}};
  if (!lane.ours) return lane;
  lane.stream = make_stream(transfer.gpu);
  lane.start = make_event(transfer.gpu);
  for (std::size_t checkpoint = 0; checkpoint < plan.count; ++checkpoint) {
    lane.checkpoints.push_back(make_event(transfer.gpu));
  }
  return lane;
}

}  // namespace

void make_lanes(CopyRun& run) {
  const GpuCopySpec& spec = run.spec;
  run.engines = engines_of(spec);
  std::set<std::size_t> fused;  // With an earlier one.
  for (std::size_t i = 0; i < spec.transfers.size(); ++i) {
    if (fused.contains(i)) continue;
    const Transfer& transfer = spec.transfers[i];
    const std::optional<std::size_t> back = opposite_of(spec, i, fused);
    if (back) fused.insert(*back);
    const bool alone = run.engines.size() == (back ? 2 : 1);
    for (std::size_t k = 0; k < static_cast<std::size_t>(transfer.streams); ++k) {
      Lane lane = make_lane(spec, i, k, checkpoint_plan_of(transfer, alone));
      if (back) lane.opposite = {.transfer_index = *back};
      if (lane.bytes > 0) run.lanes.push_back(std::move(lane));
    }
  }
  add_lanes_to_engines(run);
  if (left_to_chance(run)) put_in_turn(run);
  require_queues(run);
  for (const Lane& lane : run.lanes) {
    if (lane.ours) run.references.try_emplace(lane.transfer->gpu, make_event(lane.transfer->gpu));
  }
}

void assign_buffers(CopyRun& run, const std::vector<Buffer*>& buffers) {
  for (Lane& lane : run.lanes) {
    lane.from = buffers[2 * lane.transfer_index];
    lane.to = buffers[2 * lane.transfer_index + 1];
    if (!lane.opposite) continue;
    lane.opposite->from = buffers[2 * lane.opposite->transfer_index];
    lane.opposite->to = buffers[2 * lane.opposite->transfer_index + 1];
  }
}

std::vector<std::pair<std::string, std::string>> fused_transfers(const CopyRun& run) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const Lane& lane : run.lanes) {
    if (!lane.opposite) continue;
    pairs.emplace_back(lane.transfer->name, run.spec.transfers[lane.opposite->transfer_index].name);
  }
  return pairs;
}

}  // namespace tierscope
