// Copies between host memory and GPUs, and among GPUs: any set of concurrent transfers.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "errors.h"
#include "gpu/check.h"
#include "gpu/copy_lanes.h"
#include "gpu/copy_run.h"
#include "gpu/copy_sizing.h"
#include "gpu/measuring.h"
#include "gpu/observation.h"
#include "gpu/reach.h"
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

std::size_t buffer_bytes(const GpuCopySpec& spec) {
  const std::size_t rows = spec.row_bytes == 0 ? 0 : spec.size / spec.row_bytes;
  return spec.offset + (rows == 0 ? spec.size : rows * spec.pitch);
}

void require_transfer(const Transfer& transfer) {
  require_gpu(transfer.gpu);
  const bool by_copy_engine = transfer.engine == CopyEngine::kCopyEngine;
  require_reach(transfer.gpu, transfer.source, by_copy_engine);
  require_reach(transfer.gpu, transfer.destination, by_copy_engine);
  if (transfer.engine == CopyEngine::kBulk) require_bulk_copies(transfer.gpu);
}

// The source and the destination of each transfer in turn; one and the same for prefetches.
std::vector<Buffer*> take_endpoints(const GpuCopySpec& spec, Team& team, bool fresh) {
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
  const std::vector<Buffer*> taken = take_buffers(wishes, team, fresh);
  std::vector<Buffer*> endpoints;
  std::size_t next = 0;
  for (const Transfer& transfer : spec.transfers) {
    endpoints.push_back(taken[next]);
    endpoints.push_back(is_prefetch(transfer) ? taken[next] : taken[++next]);
    ++next;
  }
  return endpoints;
}

bool by_copy_engines(const GpuCopySpec& spec) {
  return std::ranges::all_of(spec.transfers, [](const Transfer& transfer) {
    return transfer.engine == CopyEngine::kCopyEngine;
  });
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

class Copies final : public GpuCopies {
 public:
  explicit Copies(const GpuCopySpec& spec) : spec_(spec) {
    for (const Transfer& transfer : spec_.transfers) require_transfer(transfer);
  }

  void begin(Team& team, bool fresh) override {
    const int first = spec_.transfers.front().gpu;
    observation_
        .reset();  // Of a repetition that memory did not allow: its end would undo what follows.
    observation_ = std::make_unique<Observation>(
        fmt::format("{} {} bytes", spec_.transfers.front().name, spec_.size), gpus_of(spec_), first,
        spec_.common);
    if (!gate_) gate_ = std::make_unique<HostGate>();
    buffers_ = take_endpoints(spec_, team, fresh);
    if (!run_) {
      run_ = std::make_unique<CopyRun>(CopyRun{.spec = spec_, .gate = gate_.get()});
      make_lanes(*run_);
    }
    assign_buffers(*run_, buffers_);
    first_.reset();
    if ((fresh || !tuned_) && by_copy_engines(spec_)) first_ = first_copy(*run_);
    verifier_ = std::make_unique<Verifier>(spec_, buffers_);
    verifier_->fill_sources();
    if (!tuned_) {
      grid_blocks_ = tune(*run_, std::max(spec_.common.sample_s, shortest_sample()));
      tuned_ = true;
    }
    verifier_->poison_destinations();  // What was there already proves nothing of the samples.
    start_anew(*run_);
    observation_->restart();
  }

  GpuSample sample() override { return tierscope::sample(*run_); }

  std::optional<GpuSample> first() const override { return first_; }

  GpuSample calls(int count) override {
    observation_->stop_watching();
    Lane& lane = run_->lanes.front();
    const OnGpu on(lane.transfer->gpu);
    const int copies = std::exchange(lane.copies, 1);
    const int pieces = std::exchange(lane.pieces, 1);
    const LostTime lost;
    const double start = now_seconds();
    for (int i = 0; i < count; ++i) {
      lane.queue_copies();
      check_cuda(cuda().cuStreamSynchronize(lane.stream.get()), "waiting for a copy");
    }
    const double seconds = now_seconds() - start;
    const double lost_share = lost.share();
    lane.copies = copies;
    lane.pieces = pieces;
    return {.start_s = start,
            .duration_s = seconds,
            .values = {seconds * 1e9 / count},
            .lost_share = lost_share};
  }

  void end(nlohmann::ordered_json& evidence) override {
    observation_->stop_watching();
    move_the_rest(*run_);
    if (spec_.verify) evidence["verified"] = describe(verifier_->verify());
    std::vector<std::string> notes;
    add_buffer_evidence(evidence, notes, buffers_);
    if (spec_.gated()) evidence["clock"] = kEventClock;
    if (run_->in_turn) evidence["in_turn"] = true;
    const auto fused = fused_transfers(*run_);
    if (!fused.empty()) evidence["fused"] = fused;
    if (grid_blocks_) evidence["grid_blocks"] = *grid_blocks_;
    observation_->report(evidence, std::move(notes));
    verifier_.reset();
    observation_.reset();
  }

 private:
  const GpuCopySpec spec_;
  std::unique_ptr<HostGate> gate_;
  std::unique_ptr<CopyRun> run_;
  bool tuned_ = false;
  std::optional<int> grid_blocks_;  // Of kernels: the fastest of the grids that were tried.
  // Of this repetition.
  std::optional<GpuSample> first_;
  std::unique_ptr<Observation> observation_;
  std::vector<Buffer*> buffers_;
  std::unique_ptr<Verifier> verifier_;
};

}  // namespace

std::unique_ptr<GpuCopies> make_gpu_copies(const GpuCopySpec& spec) {
  return std::make_unique<Copies>(spec);
}

}  // namespace tierscope
