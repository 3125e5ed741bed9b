// Copies among GPUs of several processes (MPI ranks), each with one: this engine's part in them.
#include <fmt/format.h>

#include <algorithm>

#include "gpu/measuring.h"
#include "harness/kind.h"
#include "harness/leases.h"
#include "kinds/gpu_common.h"

namespace tierscope {
namespace {

constexpr std::int64_t kMaxRanks = 4096;
constexpr std::size_t kMaxTransfers = 1 << 14;

Transfer read_transfer(const nlohmann::json& value, const std::string& where,
                       const std::vector<int>& gpus) {
  ObjectReader reader(value, where);
  const auto last = static_cast<std::int64_t>(gpus.size()) - 1;
  const auto rank = [&](std::string_view key) {
    return static_cast<int>(reader.integer(key, 0, last));
  };
  const auto gpu_of = [&](int of) { return gpus[static_cast<std::size_t>(of)]; };
  const int source = rank("source");
  const int destination = rank("destination");
  const int mover = rank("rank");
  Transfer transfer{.name = reader.text("name"),
                    .source = {.gpu = gpu_of(source), .rank = source},
                    .destination = {.gpu = gpu_of(destination), .rank = destination},
                    .gpu = gpu_of(mover),
                    .engine = read_copy_engine(reader),
                    .streams = read_streams(reader),
                    .reported = !reader.has("reported") || reader.boolean("reported"),
                    .rank = mover};
  reader.finish();
  if (source == destination) throw reader.error("destination", "is the rank of the source");
  if (mover != source && mover != destination) {
    throw reader.error("rank", "is neither the source's nor the destination's");
  }
  return transfer;
}

std::vector<int> read_gpus(ObjectReader& measurement) {
  std::vector<int> gpus;
  for (const auto& value : measurement.array("gpus", kMaxRanks)) {
    if (!value.is_number_integer() || value < 0 || value > kMaxGpu) {
      throw measurement.error("gpus",
                              fmt::format("is not a list of numbers from 0 to {}", kMaxGpu));
    }
    gpus.push_back(value.get<int>());
  }
  return gpus;
}

std::optional<HandleKind> read_handles(ObjectReader& measurement) {
  static constexpr std::array<std::pair<std::string_view, std::optional<HandleKind>>, 3> kHandles{
      {{"any", std::nullopt}, {"fabric", HandleKind::kFabric}, {"ipc", HandleKind::kIpc}}};
  return measurement.has("handles") ? measurement.choice("handles", kHandles) : std::nullopt;
}

GpuRanksSpec read_spec(ObjectReader& measurement) {
  // No nested initializers: where a later one throws, gcc 12 frees twice what those before made.
  GpuRanksSpec spec{};
  spec.copies.common = read_gpu_common(measurement);
  spec.copies.verify = !measurement.has("verify") || measurement.boolean("verify");
  spec.gpus = read_gpus(measurement);
  spec.handles = read_handles(measurement);
  // Each rank's, the caller's own labels.
  const nlohmann::json& hosts = measurement.array("hosts", kMaxRanks);
  if (hosts.size() != spec.gpus.size()) {
    throw measurement.error("hosts", "is not one for each of gpus");
  }
  if (!std::ranges::all_of(hosts, [](const auto& host) { return host.is_string(); })) {
    throw measurement.error("hosts", "is not a list of strings");
  }
  ObjectReader pattern = measurement.object("pattern");
  spec.copies.size = static_cast<std::size_t>(pattern.integer("size", 1, kMaxGpuBytes));
  pattern.finish();
  for (const auto& value : measurement.array("transfers", kMaxTransfers)) {
    const std::string where =
        fmt::format("{}.transfers[{}]", measurement.where(), spec.copies.transfers.size());
    spec.copies.transfers.push_back(read_transfer(value, where, spec.gpus));
  }
  if (measurement.has("rank")) {
    const auto last = static_cast<std::int64_t>(spec.gpus.size()) - 1;
    spec.copies.rank = static_cast<int>(measurement.integer("rank", 0, last));
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

  Row take() {
    Row row = row_of(copies_->sample());
    row.values.resize(1 + transfers_shown().size());
    return row;
  }

  const GpuRanksSpec spec_;
  std::unique_ptr<GpuRankCopies> copies_;
};

}  // namespace

MakeState parse_gpu_ranks(ObjectReader& measurement) {
  return [spec = read_spec(measurement)] { return std::make_unique<GpuRanksState>(spec); };
}

}  // namespace tierscope
