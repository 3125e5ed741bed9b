// Pieces of a cache in a GPU's memory, gathered into objects and scattered out of them.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "errors.h"
#include "gpu/buffer.h"
#include "gpu/check.h"
#include "gpu/driver_version.h"
#include "gpu/measuring.h"
#include "gpu/observation.h"
#include "gpu/piece_kernels.h"
#include "gpu/reach.h"
#include "sampling/clock.h"

namespace tierscope {
namespace {

// What kernels' grids are tried at, in blocks. The first one that is nearly as fast as the fastest
// is taken: what the kernel does not take stays with the model.
constexpr std::array<int, 7> kGrids{2, 4, 8, 16, 32, 64, 128};
constexpr double kNearly = 0.99;
constexpr int kTrials = 3;

void require_batches() {
  if (cuda().cuMemcpyBatchAsync != nullptr) return;
  throw Unavailable(
      Cause::kGpuFeature,
      fmt::format("the NVIDIA driver, for CUDA {}, has no cuMemcpyBatchAsync: that came with CUDA "
                  "{}",
                  cuda_version(cuda().version), cuda_version(kCudaOfBatches)),
      fmt::format("install {} or newer, or use another method", driver_for(kCudaOfBatches)));
}

class Pieces final : public GpuPieces {
 public:
  explicit Pieces(const GpuPiecesSpec& spec) : spec_(spec) {
    require_gpu(spec_.gpu);
    require_reach(spec_.gpu, spec_.store, spec_.engine != PieceEngine::kKernel);
    if (spec_.engine == PieceEngine::kBatch) require_batches();
  }

  void begin(Team& team, bool fresh) override {
    observation_
        .reset();  // Of a repetition that memory did not allow: its end would undo what follows.
    observation_ = std::make_unique<Observation>(
        fmt::format("gpu:{} {} pieces of {} bytes", spec_.gpu, spec_.count, spec_.piece),
        std::vector<int>{spec_.gpu}, spec_.gpu, spec_.common);
    // The list of pieces goes from pinned memory to the GPU's own.
    const MemoryPlace own{.gpu = spec_.gpu};
    const std::size_t list = spec_.count * sizeof(PieceEnds);
    std::vector<BufferWish> wishes{
        {own, spec_.pool_bytes, spec_.gpu},
        {own, list, spec_.gpu},
        {MemoryPlace{.placement = spec_.store.placement}, list, spec_.gpu}};
    if (spec_.store_bytes > 0) wishes.push_back({spec_.store, spec_.store_bytes, spec_.gpu});
    buffers_ = take_buffers(wishes, team, fresh);
    while (lanes_.size() < spec_.lanes) lanes_.push_back(make_stream(spec_.gpu));
    observation_->restart();
  }

  std::span<std::byte> store() const override {
    if (spec_.store_bytes == 0) return {};
    return {buffers_[kStore]->data(), spec_.store_bytes};
  }

  void copy_out(std::size_t at, std::span<std::byte> to) override {
    copy_and_wait(to.data(), pool() + at, to.size(), lanes_.front(), "copying a pool");
  }
  void copy_in(std::size_t at, std::span<const std::byte> from) override {
    copy_and_wait(pool() + at, from.data(), from.size(), lanes_.front(), "copying a pool");
  }

  void set(std::span<const PieceEnds> ends) override {
    ends_.assign(ends.begin(), ends.end());
    std::ranges::copy(ends, reinterpret_cast<PieceEnds*>(buffers_[kHostList]->data()));
  }

  void send() override {
    if (spec_.engine != PieceEngine::kKernel) return;
    copy_and_wait(buffers_[kList]->data(), buffers_[kHostList]->data(),
                  ends_.size() * sizeof(PieceEnds), lanes_.front(), "sending a list of pieces");
  }

  void move(PieceRange range, std::byte* store, std::size_t lane) override {
    const CUstream stream = lanes_[lane].get();
    switch (spec_.engine) {
      case PieceEngine::kCopyEngine:
        return move_one_by_one(range, store, stream);
      case PieceEngine::kBatch:
        return move_as_batch(range, store, stream);
      case PieceEngine::kKernel:
        return launch_pieces(
            {.pool = pool(),
             .store = store,
             .ends = reinterpret_cast<const PieceEnds*>(buffers_[kList]->data()) + range.first,
             .count = range.count,
             .bytes = spec_.piece,
             .to_pool = spec_.to_pool},
            blocks_, stream);
    }
  }

  void wait(std::size_t lane) override {
    check_cuda(cuda().cuStreamSynchronize(lanes_[lane].get()), "waiting for pieces");
  }

  void tune(PieceRange range, std::byte* store) override {
    if (spec_.engine != PieceEngine::kKernel || blocks_ > 0) return;
    if (spec_.multiprocessors > 0) {
      blocks_ = spec_.multiprocessors;
      return;
    }
    const int most = attribute_of(spec_.gpu, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    std::vector<std::pair<int, double>> tried;
    for (const int grid : kGrids) {
      blocks_ = std::min(grid, most);
      double least = time_of(range, store);
      for (int trial = 1; trial < kTrials; ++trial) least = std::min(least, time_of(range, store));
      tried.emplace_back(blocks_, least);
    }
    const double fastest = std::ranges::min(tried, {}, &std::pair<int, double>::second).second;
    blocks_ = std::ranges::find_if(tried, [fastest](const auto& one) {
                return one.second <= fastest / kNearly;
              })->first;
  }

  void end(nlohmann::ordered_json& evidence) override {
    observation_->stop_watching();
    std::vector<std::string> notes;
    add_buffer_evidence(evidence, notes, buffers_);
    if (spec_.engine == PieceEngine::kKernel) evidence["grid_blocks"] = blocks_;
    observation_->report(evidence, std::move(notes));
    observation_.reset();
  }

 private:
  enum Wish : std::size_t { kPool, kList, kHostList, kStore };

  std::byte* pool() const { return buffers_[kPool]->data(); }

  std::pair<std::byte*, std::byte*> to_and_from(const PieceEnds& ends, std::byte* store) const {
    std::byte* const pooled = pool() + ends.pool;
    std::byte* const stored = store + ends.store;
    return spec_.to_pool ? std::pair(pooled, stored) : std::pair(stored, pooled);
  }

  void move_one_by_one(PieceRange range, std::byte* store, CUstream stream) const {
    for (std::size_t i = range.first; i < range.first + range.count; ++i) {
      const auto [to, from] = to_and_from(ends_[i], store);
      check_cuda(cuda().cuMemcpyAsync(address_of(to), address_of(from), spec_.piece, stream),
                 "copying a piece");
    }
  }

  void move_as_batch(PieceRange range, std::byte* store, CUstream stream) {
    to_.resize(range.count);
    from_.resize(range.count);
    sizes_.assign(range.count, spec_.piece);
    for (std::size_t i = 0; i < range.count; ++i) {
      const auto [to, from] = to_and_from(ends_[range.first + i], store);
      to_[i] = address_of(to);
      from_[i] = address_of(from);
    }
    CUmemcpyAttributes attributes{};
    // What is moved was there before the call, so the driver need not order its reads.
    attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
    std::size_t first = 0;  // The attributes are those of all copies from this one on.
    std::size_t failed = 0;
    check_cuda(cuda().cuMemcpyBatchAsync(to_.data(), from_.data(), sizes_.data(), range.count,
                                         &attributes, &first, 1, &failed, stream),
               "copying a batch of pieces");
  }

  double time_of(PieceRange range, std::byte* store) {
    const double start = now_seconds();
    move(range, store, 0);
    wait(0);
    return now_seconds() - start;
  }

  const GpuPiecesSpec spec_;
  std::vector<Stream> lanes_;
  std::vector<PieceEnds> ends_;
  std::vector<CUdeviceptr> to_, from_;  // Of a batch.
  std::vector<std::size_t> sizes_;
  int blocks_ = 0;  // 0: not tuned yet.
  // Of this repetition.
  std::vector<Buffer*> buffers_;
  std::unique_ptr<Observation> observation_;
};

}  // namespace

std::unique_ptr<GpuPieces> make_gpu_pieces(const GpuPiecesSpec& spec) {
  return std::make_unique<Pieces>(spec);
}

}  // namespace tierscope
