// Copies among GPUs of several processes (MPI ranks), each with one: this engine's part in them.
#include <fmt/format.h>

#include <algorithm>

#include "gpu/measuring.h"
#include "harness/kind.h"
#include "harness/leases.h"
#include "kinds/gpu_common.h"
#include "protocol/constants.h"

namespace tierscope {
namespace {

// The GPUs of its ranks are filled in once all ranks are known to have one.
Transfer read_rank_transfer(const ObjectReader& reader) {
  const int source = reader.integer<int>("source");
  const int destination = reader.integer<int>("destination");
  const int mover = reader.integer<int>("rank");
  reader.check(tables::kRankTransferRank, mover == source || mover == destination);
  return {.name = reader.text("name"),
          .source = {.rank = source},
          .destination = {.rank = destination},
          .engine = read_copy_engine(reader),
          .streams = reader.integer<int>("streams"),
          .reported = reader.boolean("reported"),
          .rank = mover};
}

std::optional<HandleKind> read_handles(const ObjectReader& measurement) {
  static constexpr std::array<std::pair<std::string_view, std::optional<HandleKind>>, 3> kHandles{
      {{"any", std::nullopt}, {"fabric", HandleKind::kFabric}, {"ipc", HandleKind::kIpc}}};
  return measurement.choice("handles", kHandles);
}

GpuRanksSpec read_gpu_ranks(const ObjectReader& measurement) {
  // No nested initializers: where a later one throws, gcc 12 frees twice what those before made.
  GpuRanksSpec spec{};
  spec.copies.common = read_gpu_common(measurement);
  spec.copies.verify = measurement.boolean("verify");
  spec.copies.rank = measurement.integer<int>("rank");
  spec.gpus = measurement.integers("gpus");
  spec.handles = read_handles(measurement);
  spec.copies.size = measurement.object("pattern").bytes("size");
  int last = spec.copies.rank;
  for (const ObjectReader& reader : measurement.objects("transfers")) {
    const Transfer& one = spec.copies.transfers.emplace_back(read_rank_transfer(reader));
    last = std::max({last, one.source.rank, one.destination.rank});
  }
  measurement.check(tables::kGpuRanksSpecHosts,
                    measurement.any("hosts").size() == spec.gpus.size());
  measurement.check(tables::kGpuRanksSpecGpus, static_cast<std::size_t>(last) < spec.gpus.size());
  const auto gpu_of = [&](int rank) { return spec.gpus[static_cast<std::size_t>(rank)]; };
  for (Transfer& one : spec.copies.transfers) {
    one.source.gpu = gpu_of(one.source.rank);
    one.destination.gpu = gpu_of(one.destination.rank);
    one.gpu = gpu_of(one.rank);
  }
  return spec;
}

class GpuRanksState final : public State {
 public:
  explicit GpuRanksState(GpuRanksSpec spec) : spec_(std::move(spec)) {}

  void open(Leases& leases) override {
    if (!copies_) {
      copies_ = make_gpu_rank_copies(
          spec_, [&leases](const nlohmann::json& said) { return leases.exchange(said); });
    }
    copies_->begin(leases.team(spec_.copies.common.cpus), leases.fresh());
  }

  std::vector<Series> series() override {
    Series series{.name = "copies",
                  .columns = {{.metric = "bandwidth", .part = ""}},
                  .take = [this] { return take(); },
                  .was_last = copies_->was_last()};
    for (const Transfer& transfer : transfers_shown()) {
      series.columns.push_back({.metric = "bandwidth", .part = transfer.name});
    }
    return {series};
  }

  void observe(nlohmann::ordered_json& evidence) override { copies_->end(evidence); }

 private:
  // A single one's figure is that of the whole.
  std::span<const Transfer> transfers_shown() const {
    const std::vector<Transfer>& all = spec_.copies.transfers;
    return all.size() == 1 ? std::span<const Transfer>{} : all;
  }

  Sample take() {
    Sample sample = sample_of(copies_->sample());
    sample.values.resize(1 + transfers_shown().size());
    return sample;
  }

  const GpuRanksSpec spec_;
  std::unique_ptr<GpuRankCopies> copies_;
};

}  // namespace

MakeState parse_gpu_ranks(const ObjectReader& measurement) {
  return [spec = read_gpu_ranks(measurement)] { return std::make_unique<GpuRanksState>(spec); };
}

}  // namespace tierscope
