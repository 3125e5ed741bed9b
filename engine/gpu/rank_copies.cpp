// Copies among GPUs of several processes: each copies by the lanes, gates and sizes of copies of
// one process, from and to memory that the others share.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "gpu/copy_lanes.h"
#include "gpu/copy_run.h"
#include "gpu/copy_sizing.h"
#include "gpu/measuring.h"
#include "gpu/observation.h"
#include "gpu/rank_gate.h"
#include "gpu/rank_memory.h"
#include "gpu/ranks.h"
#include "gpu/reach.h"
#include "gpu/verify.h"
#include "sampling/clock.h"

namespace tierscope {
namespace {

class RankCopies final : public GpuRankCopies {
 public:
  RankCopies(const GpuRanksSpec& spec, Exchange exchange)
      : spec_(spec),
        copies_(spec_.copies),
        gpu_(spec_.gpus.at(static_cast<std::size_t>(copies_.rank))),
        ranks_(spec_, std::move(exchange)) {
    require_gpu(gpu_);
    for (const Transfer& transfer : copies_.transfers) {
      if (copies_.moves(transfer) && transfer.engine == CopyEngine::kBulk)
        require_bulk_copies(gpu_);
    }
  }

  // No rank changes what others may still read or write: they meet before it.
  void begin(Team&, bool) override {
    end_repetition();  // One that failed.
    observation_ = std::make_unique<Observation>(
        fmt::format("{} {} bytes", copies_.transfers.front().name, copies_.size),
        std::vector<int>{gpu_}, gpu_, copies_.common);
    memory_ = std::make_unique<RankMemory>(spec_, ranks_);
    gate_ = std::make_unique<RankGate>(
        ranks_, gpu_, memory_->flag(),
        ranks_.leads() ? memory_->flags() : std::vector<RankGate::Flag>{});
    verifier_ = std::make_unique<Verifier>(copies_, memory_->ends());
    verifier_->fill_sources();
    prepare_run();
    verifier_->poison_destinations();
    ranks_.meet("ready");
    start_anew(*run_);
    samples_ = 0;
    observation_->restart();
  }

  GpuSample sample() override {
    if (samples_++ > 0 && ranks_.leads()) ranks_.another_sample(true);
    return tierscope::sample(*run_);
  }

  std::function<bool()> was_last() override {
    if (ranks_.leads()) return {};
    return [this] { return !ranks_.another_sample(false); };
  }

  void end(nlohmann::ordered_json& evidence) override {
    if (ranks_.leads()) ranks_.another_sample(false);
    observation_->stop_watching();
    move_the_rest(*run_);
    ranks_.meet("moved");
    if (copies_.verify) evidence["verified"] = describe(verify());
    evidence["region_bytes"] = copies_.size * static_cast<std::size_t>(std::ranges::count_if(
                                                  memory_->ends(), own_or_mapped));
    evidence["clock"] = kEventClock;
    if (run_->in_turn) evidence["in_turn"] = true;
    if (grid_blocks_) evidence["grid_blocks"] = *grid_blocks_;
    const bool fabric = memory_->kind() == HandleKind::kFabric;
    evidence["memory_handles"] = fabric ? "fabric" : "ipc";
    std::vector<std::string> notes;
    if (!memory_->why_no_fabric().empty()) {
      notes.push_back("no fabric handles: " + memory_->why_no_fabric());
    }
    observation_->report(evidence, std::move(notes));
    gate_.reset();
    memory_->give_back(ranks_);
    end_repetition();
  }

 private:
  static bool own_or_mapped(const Buffer* buffer) { return buffer != nullptr; }

  // Lanes are sized anew where one rank has none: an engine that was started again knows nothing.
  void prepare_run() {
    bool all_sized = true;
    double sample_s = copies_.common.sample_s;
    for (const auto& [rank, said] :
         ranks_.meet("filled", {{"sized", run_ != nullptr}, {"shortest_s", shortest_sample()}})) {
      all_sized = all_sized && said.at("sized").get<bool>();
      sample_s = std::max(sample_s, said.at("shortest_s").get<double>());
    }
    if (!all_sized) {
      run_ = std::make_unique<CopyRun>(CopyRun{.spec = copies_, .ranks = &ranks_});
      make_lanes(*run_);
    }
    run_->gate = gate_.get();
    assign_buffers(*run_, memory_->ends());
    if (!all_sized) grid_blocks_ = tune(*run_, sample_s);
  }

  Verifier::Verified verify() {
    const Verifier::Verified own = verifier_->verify();
    Verifier::Verified all;
    for (const auto& [rank, said] :
         ranks_.meet("verified", {{"bytes", own.bytes}, {"destinations", own.destinations}})) {
      all.bytes += said.at("bytes").get<std::size_t>();
      all.destinations += said.at("destinations").get<std::size_t>();
    }
    return all;
  }

  void end_repetition() {
    verifier_.reset();
    gate_.reset();  // Before the memory that its kernels poll.
    memory_.reset();
    observation_.reset();
  }

  const GpuRanksSpec spec_;
  const GpuCopySpec& copies_;
  const int gpu_;
  Ranks ranks_;
  std::unique_ptr<CopyRun> run_;
  std::optional<int> grid_blocks_;
  // Of this repetition.
  int samples_ = 0;
  std::unique_ptr<Observation> observation_;
  std::unique_ptr<RankMemory> memory_;
  std::unique_ptr<RankGate> gate_;
  std::unique_ptr<Verifier> verifier_;
};

}  // namespace

std::unique_ptr<GpuRankCopies> make_gpu_rank_copies(const GpuRanksSpec& spec, Exchange exchange) {
  return std::make_unique<RankCopies>(spec, std::move(exchange));
}

}  // namespace tierscope
