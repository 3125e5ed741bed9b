// Concurrent transfers: their lanes, the gate that lets them go, and one sample of them.
#pragma once

#include <map>
#include <vector>

#include "gpu/gate.h"
#include "gpu/lane.h"
#include "gpu/measuring.h"
#include "gpu/ranks.h"
#include "sampling/timelines.h"

namespace tierscope {

// What one copy engine or one kernel moves; all are indices.
struct EngineLoad {
  std::vector<std::size_t> transfers;  // One, but for those that share a GPU's copy engine.
  std::vector<std::size_t> lanes{};    // Those of these transfers.
  // Lanes whose timelines tell how far it is: its own or, where one kernel moves both directions,
  // those of the transfer that it is fused with.
  std::vector<std::size_t> timed_lanes{};
};

struct CopyRun {
  const GpuCopySpec& spec;
  Gate* gate = nullptr;
  // Of several processes that measure together: all of them make the same runs in the same order,
  // each moves its own lanes, and all learn how far every lane was when.
  Ranks* ranks = nullptr;
  std::vector<EngineLoad> engines{};
  std::vector<Lane> lanes{};
  std::map<int, Event> references{};  // By GPU, of this process.
  // The transfers go one after the other, although all are queued at once.
  bool in_turn = false;
  double lost_share = 0;  // Of the last ungated run's time, what others took from this thread.
};

// Every lane is held at the gate until all of them have all their work; how far each was when.
std::vector<Timeline> run_gated(CopyRun& run);

// One transfer on its own, timed by the host's clock from the first call to the last byte.
std::vector<Timeline> run_ungated(CopyRun& run);

// Every transfer's bytes once, all queued at once; timed as run_ungated is. Of copy engines only.
GpuSample first_copy(CopyRun& run);

// Lanes whose copies are cut into pieces begin with the first one again; and, where the samples
// since then were too few to go over all of them, the rest is moved.
void start_anew(CopyRun& run);
void move_the_rest(CopyRun& run);

// The timelines of the lanes, by engine.
std::vector<Timeline> by_engine(const CopyRun& run, const std::vector<Timeline>& lanes);

// One sample, gated or not: bytes/s of all transfers that are reported, then of each transfer. Each
// has its share of its engine's rate while all other engines are under way; those served in turn,
// of the rate at which all bytes were moved. Throws Failure where they were never all under way at
// once.
GpuSample sample(CopyRun& run);

}  // namespace tierscope
