#include "gpu/copy_run.h"

#include <algorithm>
#include <set>
#include <utility>

#include "errors.h"
#include "gpu/check.h"
#include "sampling/clock.h"
#include "threads/disturbance.h"

namespace tierscope {
namespace {

// Managed memory is where its transfer begins before each sample.
void bring_back(const CopyRun& run) {
  for (const Lane& lane : run.lanes) {
    if (!lane.from->managed() && !lane.to->managed()) continue;
    const OnGpu on(lane.transfer->gpu);
    if (lane.from == lane.to && !lane.transfer->source.on_host()) {
      lane.from->prefetch_to_gpu(lane.transfer->gpu, lane.stream.get());
      check_cuda(cuda().cuStreamSynchronize(lane.stream.get()), "moving managed memory");
    } else {
      for (const Buffer* buffer : {lane.from, lane.to}) {
        if (buffer->managed()) buffer->move_home();
      }
    }
  }
}

void queue(Lane& lane) {
  check_cuda(cuda().cuEventRecord(lane.start.get(), lane.stream.get()), "recording an event");
  for (const Event& checkpoint : lane.checkpoints) {
    lane.queue_copies();
    check_cuda(cuda().cuEventRecord(checkpoint.get(), lane.stream.get()), "recording an event");
  }
}

// Bytes that a sample moves in each transfer.
std::vector<double> bytes_by_transfer(const CopyRun& run) {
  std::vector<double> bytes(run.spec.transfers.size());
  for (const Lane& lane : run.lanes) {
    const double moved =
        lane.bytes_per_checkpoint() * static_cast<double>(lane.checkpoint_plan.count);
    bytes[lane.transfer_index] += moved;
    if (lane.opposite) bytes[lane.opposite->transfer_index] += moved;
  }
  return bytes;
}

void wait_for_all(const CopyRun& run) {
  for (const Lane& lane : run.lanes) {
    if (lane.ours)
      check_cuda(cuda().cuStreamSynchronize(lane.stream.get()), "waiting for the transfers");
  }
}

void hold_and_queue(CopyRun& run) {
  std::set<int> referred;
  std::set<CUstream> held;
  for (Lane& lane : run.lanes) {
    if (!lane.ours) continue;
    const OnGpu on(lane.transfer->gpu);
    if (referred.insert(lane.transfer->gpu).second) {
      check_cuda(
          cuda().cuEventRecord(run.references.at(lane.transfer->gpu).get(), lane.stream.get()),
          "recording an event");
    }
    if (held.insert(lane.stream.get()).second) run.gate->hold(lane.stream.get());
    queue(lane);
  }
}

// By number of the lane, in seconds from when the gate opened.
std::map<std::size_t, Timeline> own_timelines(const CopyRun& run) {
  std::map<std::size_t, Timeline> timelines;
  std::map<int, double> opened;  // When each GPU's first lane passed the gate, by its own clock.
  for (std::size_t i = 0; i < run.lanes.size(); ++i) {
    if (!run.lanes[i].ours) continue;
    const int gpu = run.lanes[i].transfer->gpu;
    const Timeline timeline = run.lanes[i].timeline(run.references.at(gpu));
    timelines.emplace(i, timeline);
    const auto known = opened.try_emplace(gpu, timeline.times.front()).first;
    known->second = std::min(known->second, timeline.times.front());
  }
  // One flag opens the gate for all GPUs within a poll of it, about a microsecond: that moment is
  // where their clocks are set against each other.
  for (auto& [i, timeline] : timelines) {
    const double open = opened.at(run.lanes[i].transfer->gpu);
    for (double& time : timeline.times) time -= open;
    timeline.end -= open;
  }
  return timelines;
}

}  // namespace

std::vector<Timeline> run_gated(CopyRun& run) {
  run.gate->close();
  try {
    hold_and_queue(run);
    run.gate->open();
  } catch (...) {
    run.gate->give_up();
    throw;
  }
  wait_for_all(run);
  std::map<std::size_t, Timeline> timelines = own_timelines(run);
  if (run.ranks) timelines = run.ranks->share(timelines);
  std::vector<Timeline> all;
  for (std::size_t i = 0; i < run.lanes.size(); ++i) all.push_back(std::move(timelines.at(i)));
  return all;
}

std::vector<Timeline> run_ungated(CopyRun& run) {
  bring_back(run);
  wait_for_all(run);
  const LostTime lost;
  const double start = now_seconds();
  for (Lane& lane : run.lanes) {
    const OnGpu on(lane.transfer->gpu);
    lane.queue_copies();
  }
  wait_for_all(run);
  const double end = now_seconds();
  run.lost_share = lost.share();
  std::vector<Timeline> timelines;
  for (const Lane& lane : run.lanes) {
    timelines.push_back({{start, end}, {lane.bytes_per_checkpoint()}});
  }
  return timelines;
}

GpuSample first_copy(CopyRun& run) {
  bring_back(run);
  const LostTime lost;
  const double start = now_seconds();
  double bytes = 0;
  for (Lane& lane : run.lanes) {
    const OnGpu on(lane.transfer->gpu);
    const int copies = std::exchange(lane.copies, 1);
    const int pieces = std::exchange(lane.pieces, 1);
    lane.queue_copies();
    lane.copies = copies;
    lane.pieces = pieces;
    if (lane.transfer->reported) bytes += static_cast<double>(lane.bytes);
  }
  wait_for_all(run);
  const double seconds = now_seconds() - start;
  start_anew(run);
  return {.start_s = start,
          .duration_s = seconds,
          .values = {bytes / seconds},
          .lost_share = lost.share()};
}

void start_anew(CopyRun& run) {
  for (Lane& lane : run.lanes) lane.done = 0;
}

void move_the_rest(CopyRun& run) {
  for (Lane& lane : run.lanes) {
    if (!lane.ours) continue;
    const OnGpu on(lane.transfer->gpu);
    while (lane.pieces > 1 && lane.done < static_cast<std::size_t>(lane.pieces)) {
      lane.queue_copies();
    }
  }
  wait_for_all(run);
}

std::vector<Timeline> by_engine(const CopyRun& run, const std::vector<Timeline>& lanes) {
  std::vector<Timeline> engines;
  for (const EngineLoad& engine : run.engines) {
    std::vector<Timeline> timelines;
    for (const std::size_t lane : engine.timed_lanes) timelines.push_back(lanes[lane]);
    engines.push_back(merge(timelines));
  }
  return engines;
}

GpuSample sample(CopyRun& run) {
  const double start = now_seconds();
  const std::vector<Timeline> timelines =
      by_engine(run, run.spec.gated() ? run_gated(run) : run_ungated(run));
  const std::vector<Window> windows =
      run.in_turn ? std::vector<Window>(timelines.size(), whole(timelines)) : contested(timelines);
  const std::vector<double> bytes = bytes_by_transfer(run);
  std::vector<double> values(1 + bytes.size());
  double longest = 0;
  for (std::size_t engine = 0; engine < timelines.size(); ++engine) {
    const double seconds = windows[engine].end - windows[engine].start;
    if (seconds <= 0) {
      throw Failure("the transfers were never all under way at once; ask for a larger size");
    }
    const double rate = bytes_in(timelines[engine], windows[engine]) / seconds;
    const std::vector<std::size_t>& transfers = run.engines[engine].transfers;
    double all = 0;
    for (const std::size_t transfer : transfers) all += bytes[transfer];
    for (const std::size_t transfer : transfers) {
      const double share = rate * bytes[transfer] / all;
      values[1 + transfer] = share;
      if (run.spec.transfers[transfer].reported) values.front() += share;
    }
    longest = std::max(longest, seconds);
  }
  return {.start_s = start,
          .duration_s = longest,
          .values = std::move(values),
          .lost_share = run.lost_share};
}

}  // namespace tierscope
