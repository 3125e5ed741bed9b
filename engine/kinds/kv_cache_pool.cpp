#include "kinds/kv_cache_pool.h"

#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "kinds/evidence.h"

namespace tierscope {
namespace {

// Objects that are in memory, or buffers of all threads that they go through.
std::size_t store_bytes(const KvCacheSpec& spec) {
  if (bypasses_host(spec)) return 0;
  const std::size_t threads = spec.on_gpu() ? 1 : spec.cpus.size();
  return spec.stride() * (spec.in_file() ? spec.depth * threads : spec.objects);
}

class HostPool final : public KvPool {
 public:
  explicit HostPool(const KvCacheSpec& spec) : spec_(spec) {}

  void open(Leases& leases, Team& team) override {
    const std::array keys{
        RegionKey{spec_.all_bytes(), spec_.pages, spec_.pool.placement.value_or(Placement{})},
        RegionKey{store_bytes(spec_), spec_.pages, spec_.placement}};
    const std::vector<Lease> taken = leases.regions(keys, team);
    pool_ = taken[0].region;
    store_ = taken[1].region;
  }

  std::span<std::byte> store() const override { return {store_->data(), store_bytes(spec_)}; }
  std::span<std::byte> memory() const override { return {pool_->data(), spec_.all_bytes()}; }

  void read(std::size_t at, std::span<std::byte> to) const override {
    std::memcpy(to.data(), pool_->data() + at, to.size());
  }
  void write(std::size_t at, std::span<const std::byte> from) override {
    std::memcpy(pool_->data() + at, from.data(), from.size());
  }

  void set(const KvOrder& order) override { ends_ = order.ends(spec_.in_file()); }
  void send() override {}
  void tune(PieceRange, std::byte*) override {}

  void move(PieceRange range, std::byte* store, std::size_t) override {
    for (std::size_t i = range.first; i < range.first + range.count; ++i) {
      std::byte* const pooled = pool_->data() + ends_[i].pool;
      std::byte* const stored = store + ends_[i].store;
      std::memcpy(spec_.fetch ? pooled : stored, spec_.fetch ? stored : pooled, spec_.piece);
    }
  }
  void wait(std::size_t) override {}

  void observe(nlohmann::ordered_json& evidence) override {
    evidence = region_evidence({pool_, store_});
    evidence["cpus"] = spec_.cpus;
  }

 private:
  const KvCacheSpec& spec_;
  Region* pool_ = nullptr;
  Region* store_ = nullptr;
  std::vector<PieceEnds> ends_;
};

PieceEngine engine_of(PieceMethod method) {
  switch (method) {
    case PieceMethod::kCopyEngine:
      return PieceEngine::kCopyEngine;
    case PieceMethod::kBatch:
      return PieceEngine::kBatch;
    default:
      return PieceEngine::kKernel;
  }
}

class GpuPool final : public KvPool {
 public:
  explicit GpuPool(const KvCacheSpec& spec) : spec_(spec) {}

  void open(Leases& leases, Team& team) override {
    if (!pieces_) {
      pieces_ = make_gpu_pieces(
          {.common = {.cpus = spec_.cpus, .sample_s = spec_.sampling.sample_s, .trace = false},
           .gpu = spec_.pool.gpu,
           .pool_bytes = spec_.all_bytes(),
           .piece = spec_.piece,
           .count = spec_.all_pieces(),
           .engine = engine_of(spec_.method),
           .multiprocessors = spec_.multiprocessors,
           .to_pool = spec_.fetch,
           .store = {.placement = spec_.placement},
           .store_bytes = store_bytes(spec_),
           .lanes = spec_.in_file() ? spec_.depth : 1});
    }
    pieces_->begin(team, leases.fresh());
  }

  std::span<std::byte> store() const override { return pieces_->store(); }
  std::span<std::byte> memory() const override { return {}; }

  void read(std::size_t at, std::span<std::byte> to) const override { pieces_->copy_out(at, to); }
  void write(std::size_t at, std::span<const std::byte> from) override {
    pieces_->copy_in(at, from);
  }

  void set(const KvOrder& order) override { pieces_->set(order.ends(spec_.in_file())); }
  void send() override { pieces_->send(); }
  void tune(PieceRange range, std::byte* store) override { pieces_->tune(range, store); }
  void move(PieceRange range, std::byte* store, std::size_t lane) override {
    pieces_->move(range, store, lane);
  }
  void wait(std::size_t lane) override { pieces_->wait(lane); }

  void observe(nlohmann::ordered_json& evidence) override { pieces_->end(evidence); }

 private:
  const KvCacheSpec& spec_;
  std::unique_ptr<GpuPieces> pieces_;
};

}  // namespace

bool bypasses_host(const KvCacheSpec& spec) { return spec.in_file() && spec.backend->gpu; }

std::unique_ptr<KvPool> make_kv_pool(const KvCacheSpec& spec) {
  if (spec.on_gpu()) return std::make_unique<GpuPool>(spec);
  return std::make_unique<HostPool>(spec);
}

}  // namespace tierscope
