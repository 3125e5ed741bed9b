// Transfers under way at once: their lanes, the gate that lets them go, and one sample of them.
#pragma once

#include <map>
#include <vector>

#include "gpu/gate.h"
#include "gpu/lane.h"
#include "sampling/timelines.h"

namespace tierscope {

struct CopyRun {
  const GpuCopySpec& spec;
  std::vector<Buffer*> buffers;  // The source and the destination of each transfer in turn.
  std::vector<Lane> lanes;
  std::map<int, Event> references;  // By GPU.
  bool gated;
  Gate& gate;
  // Transfers by what moves them: one each, but for those that share a GPU's copy engine.
  std::vector<std::vector<std::size_t>> engines{};
  // The transfers go one after the other, although all are queued at once.
  bool in_turn = false;
  std::vector<std::vector<double>> rates{};  // By transfer, a sample each.
  std::vector<double> seconds{};             // Of each sample.
};

// Every lane is held at the gate until all of them have all their work; how far each was when.
std::vector<Timeline> run_gated(CopyRun& run);

// One transfer on its own, timed by the host's clock from the first call to the last byte.
std::vector<Timeline> run_ungated(CopyRun& run);

// Lanes whose copies are cut into pieces begin with the first one again; and, where the samples
// since then were too few to go over all of them, the rest is moved.
void start_anew(CopyRun& run);
void move_the_rest(CopyRun& run);

// The lanes of one of run.engines; of one kernel for both ways, with the way there.
std::vector<Lane*> lanes_of(CopyRun& run, std::size_t engine);

// The timelines of the lanes, by engine.
std::vector<Timeline> by_engine(const CopyRun& run, const std::vector<Timeline>& lanes);

// One sample, gated or not: appends to run.rates and run.seconds, and returns the bytes/s of all
// transfers that are reported. Each has its share of its engine's rate while all other engines are
// under way; those served in turn, of the rate at which all bytes were moved. Throws Failure where
// they were never all under way at once.
double sample(CopyRun& run);

}  // namespace tierscope
