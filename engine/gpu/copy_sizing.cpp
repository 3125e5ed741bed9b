#include "gpu/copy_sizing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "gpu/copy_kernels.h"

namespace tierscope {
namespace {

// Copies that a stream takes while the gate holds it; a full queue would block us before we open.
constexpr int kMaxQueued = 256;
// What all streams of a GPU take together: they share its queues, of some thousand entries each.
constexpr int kMaxQueuedOnGpu = 2048;
// What kernels' grids are tried at, as divisors of what the GPU holds: over a link, fewer loads in
// flight can be faster than more.
constexpr std::array<int, 5> kDivisors{1, 2, 4, 8, 16};
// Besides those, a grid in which each thread works once; for parts that outlast a launch by far.
constexpr int kSinglePass = 0;
constexpr double kTrialSeconds = 4e-3;
constexpr std::size_t kLargePart = std::size_t{256} << 20;
// Of each lane's part, what trials move: more than a GPU's L2 holds, and a quarter of the time that
// a part of the usual size takes.
constexpr std::size_t kTrialBytes = std::size_t{128} << 20;

// Copies of a copy engine in one piece each can be cut; 16-byte vectors stay whole.
bool can_be_cut(const Lane& lane, int pieces) {
  return lane.row_bytes == 0 && lane.checkpoint_plan.seconds > 0 &&
         lane.bytes % (static_cast<std::size_t>(pieces) * 16) == 0;
}

// Cuts a lane's part so that a piece lasts a checkpoint's time at least.
int pieces_of(const Lane& lane, double part_s) {
  int pieces = 1;
  while (part_s / pieces >= 2 * lane.checkpoint_plan.seconds && can_be_cut(lane, 2 * pieces))
    pieces *= 2;
  return pieces;
}

// Sizes a lane that moves its part in `part_s` seconds so that what counts lasts for about
// `sample_s`; false where it does.
bool size_lane(Lane& lane, double part_s, double sample_s, int lanes_on_gpu) {
  const std::pair before(lane.copies, lane.pieces);
  const auto checkpoints = static_cast<double>(lane.checkpoint_plan.count);
  lane.pieces = pieces_of(lane, part_s);
  const bool queued = lane.transfer->engine == CopyEngine::kCopyEngine || lane.single_pass;
  const auto counted = static_cast<double>(lane.checkpoint_plan.count - lane.checkpoint_plan.tail);
  const double checkpoint_s = std::max(lane.checkpoint_plan.seconds, sample_s / counted);
  const double most =
      queued ? std::min(kMaxQueued, kMaxQueuedOnGpu / lanes_on_gpu) / checkpoints : 1e6;
  const double wanted = checkpoint_s / part_s * lane.pieces;
  lane.copies = static_cast<int>(std::lround(std::clamp(wanted, 1.0, std::max(1.0, most))));
  return std::pair(lane.copies, lane.pieces) != before;
}

// Sizes all lanes to last alike, so that they end at about the same time; those of one engine have
// the same to do, however it takes turns.
void size_lanes(CopyRun& run, double sample_s) {
  constexpr int kRounds = 2;  // The first is too short for a good guess.
  std::map<std::pair<int, int>, int> lanes_on;
  for (const Lane& lane : run.lanes) ++lanes_on[lane.transfer->worker()];
  bool changed = true;
  for (int round = 0; round < kRounds && changed; ++round) {
    const std::vector<Timeline> timelines = by_engine(run, run_gated(run));
    changed = false;
    for (std::size_t engine = 0; engine < timelines.size(); ++engine) {
      const Timeline& timeline = timelines[engine];
      const double rate =
          bytes_in(timeline, whole({timeline})) / (timeline.times.back() - timeline.times[0]);
      const std::vector<std::size_t>& lanes = run.engines[engine].lanes;
      for (const std::size_t index : lanes) {
        Lane& lane = run.lanes[index];
        const double part_s = static_cast<double>(lane.bytes * lanes.size()) / rate;
        changed |= size_lane(lane, part_s, sample_s, lanes_on.at(lane.transfer->worker()));
      }
    }
  }
}

// Whether the GPUs serve lanes of one size in turn. Twice, since a stall of the host's can look
// alike.
bool served_in_turn(CopyRun& run) {
  constexpr int kLooks = 2;
  if (run.engines.size() < 2) return false;
  for (int look = 0; look < kLooks; ++look) {
    if (!in_turn(by_engine(run, run_gated(run)))) return false;
  }
  return true;
}

// Gives lanes that go in turn equal parts of a sample.
void level(CopyRun& run) {
  int fewest = run.lanes.front().copies;
  int pieces = 1;
  for (const Lane& lane : run.lanes) {
    fewest = std::min(fewest, lane.copies);
    pieces = std::max(pieces, lane.pieces);
  }
  for (Lane& lane : run.lanes) {
    lane.copies = fewest;
    if (can_be_cut(lane, pieces)) lane.pieces = pieces;
  }
}

void size_to_end_alike(CopyRun& run, double sample_s) {
  size_lanes(run, sample_s);
  run.in_turn = run.in_turn || served_in_turn(run);
  if (run.in_turn) level(run);
}

bool is_kernel(const Lane& lane) { return lane.transfer->engine != CopyEngine::kCopyEngine; }

void set_blocks(CopyRun& run, int divisor) {
  std::map<std::pair<int, int>, int> sharing;
  for (const Lane& lane : run.lanes) sharing[lane.transfer->worker()] += is_kernel(lane) ? 1 : 0;
  for (Lane& lane : run.lanes) {
    lane.single_pass = is_kernel(lane) && divisor == kSinglePass;
    if (!is_kernel(lane) || !lane.ours) continue;
    const OnGpu on(lane.transfer->gpu);
    if (lane.single_pass) {
      lane.blocks = single_pass_copy_blocks(lane.bytes);
      continue;
    }
    const int most = lane.opposite                                ? most_exchange_blocks()
                     : lane.transfer->engine == CopyEngine::kBulk ? most_bulk_blocks()
                                                                  : most_copy_blocks();
    lane.blocks = std::max(1, most / sharing[lane.transfer->worker()] / divisor);
  }
}

// Bytes/s of one sample over all transfers, so that no grid wins by starving those not reported.
double rate_of_all(CopyRun& run) {
  const std::vector<double> values = sample(run).values;
  return std::accumulate(values.begin() + 1, values.end(), 0.0);
}

// Of lanes that cannot wait at a gate: enough copies to last for about `sample_s`, on all that the
// GPU holds, since each trial of memory that moves would take a sample's time.
void size_ungated(CopyRun& run, double sample_s) {
  set_blocks(run, 1);
  for (Lane& lane : run.lanes) {
    const bool moves = lane.from->managed() || lane.to->managed();
    while (!moves && lane.copies < kMaxQueued) {
      const Timeline timeline = run_ungated(run).front();
      if (timeline.times.back() - timeline.times.front() >= sample_s / 2) break;
      lane.copies *= 2;
    }
  }
}

// While it lives, lanes move kTrialBytes at most.
class ShortParts {
 public:
  explicit ShortParts(CopyRun& run) : run_(run) {
    for (Lane& lane : run_.lanes) {
      whole_.push_back(std::exchange(lane.bytes, std::min(lane.bytes, kTrialBytes)));
    }
  }
  ~ShortParts() {
    for (std::size_t i = 0; i < whole_.size(); ++i) run_.lanes[i].bytes = whole_[i];
  }
  ShortParts(const ShortParts&) = delete;
  ShortParts& operator=(const ShortParts&) = delete;

 private:
  CopyRun& run_;
  std::vector<std::size_t> whole_;
};

// The grid that is fastest in trials, as a divisor.
int fastest_grid(CopyRun& run, const std::vector<int>& divisors, double sample_s) {
  const ShortParts parts(run);
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
  return best;
}

}  // namespace

std::optional<int> tune(CopyRun& run, double sample_s) {
  if (!run.spec.gated()) {
    size_ungated(run, sample_s);
    return std::nullopt;
  }
  if (std::none_of(run.lanes.begin(), run.lanes.end(), is_kernel)) {
    size_to_end_alike(run, sample_s);
    return std::nullopt;
  }
  std::vector<int> divisors(kDivisors.begin(), kDivisors.end());
  if (run.lanes.size() == 1 && !run.lanes.front().opposite &&
      run.lanes.front().bytes >= kLargePart &&
      run.lanes.front().transfer->engine == CopyEngine::kMultiprocessors) {
    divisors.push_back(kSinglePass);
  }
  set_blocks(run, fastest_grid(run, divisors, sample_s));
  size_to_end_alike(run, sample_s);
  const auto kernel = std::find_if(run.lanes.begin(), run.lanes.end(),
                                   [](const Lane& lane) { return is_kernel(lane) && lane.ours; });
  return kernel == run.lanes.end() ? std::nullopt : std::optional(kernel->blocks);
}

}  // namespace tierscope
