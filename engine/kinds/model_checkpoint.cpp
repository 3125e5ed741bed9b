// Checkpoints of large models: each rank writes its files, and reads them back.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "errors.h"
#include "harness/kind.h"
#include "harness/leases.h"
#include "interrupt.h"
#include "kinds/drive_watch.h"
#include "protocol/plan_parts.h"
#include "sampling/clock.h"
#include "storage/page_cache.h"
#include "storage/small_files.h"

namespace tierscope {
namespace {

struct ModelCheckpointSpec {
  std::vector<int> cpus;
  std::string directory;
  std::size_t block_bytes;
  std::vector<std::vector<std::uint64_t>> ranks;  // Bytes of the files of each.
};

// A repetition writes one checkpoint and reads it.
class ModelCheckpoint : public State {
 public:
  explicit ModelCheckpoint(ModelCheckpointSpec spec) : spec_(std::move(spec)) {
    for (const std::vector<std::uint64_t>& files : spec_.ranks) {
      first_.push_back(sizes_.size());
      sizes_.insert(sizes_.end(), files.begin(), files.end());
    }
    first_.push_back(sizes_.size());
    for (const std::uint64_t size : sizes_) bytes_ += size;
  }

  // The checkpoint before is gone, so that there is one at a time.
  void open(Leases& leases) override {
    const double begin = now_seconds();
    files_.reset();
    try {
      check_room(spec_.directory, sizes_, true);
    } catch (const Unavailable& error) {
      throw Unavailable(error.cause(), error.what(),
                        "scale the files down (--scale), ask for fewer --ranks, or name another "
                        "directory");
    }
    files_ = std::make_unique<SmallFiles>(spec_.directory, sizes_);
    team_ = &leases.team(CpuSets(spec_.ranks.size(), spec_.cpus));
    const Descriptor directory = open_directory(spec_.directory);
    const std::array devices{device_of(directory.get())};
    drives_ = std::make_unique<DriveWatch>(devices);
    asked_ = {.path = files_->path(), .set_up_s = now_seconds() - begin};
  }

  std::vector<Series> series() override {
    const auto of = [](std::string name, const char* rate, const char* time,
                       std::function<Sample()> take) {
      return Series{.name = std::move(name),
                    .columns = {{.metric = rate, .part = ""}, {.metric = time, .part = ""}},
                    .take = std::move(take),
                    .samples = 1,
                    .keep_disturbed = true};
    };
    return {of("checkpoints", "bandwidth", "checkpoint_time", [this] { return save(); }),
            of("restarts", "restart_bandwidth", "restart_time", [this] { return load(); })};
  }

  void observe(nlohmann::ordered_json& evidence) override {
    evidence["cpus"] = spec_.cpus;
    drives_->observe(evidence, asked_);
    evidence["rank_files"] = {{"files", sizes_.size()}, {"bytes", bytes_}};
    if (const auto problem = files_->wrong(0)) throw Failure(*problem, Cause::kVerification);
    evidence["verified"] = "the sizes of all files, and each whole cell of the first rank's first";
    files_.reset();
  }

 private:
  Sample save() {
    asked_.writes += sizes_.size();
    asked_.bytes_written += bytes_;
    return timed([this](std::size_t file) { files_->create(file, FileSync::kFile); });
  }

  Sample load() {
    std::uint64_t kept = 0;
    for (std::size_t file = 0; file < sizes_.size(); ++file) {
      kept += forget_cached(files_->opened(file).get(), sizes_[file]).value_or(0);
    }
    asked_.cached_bytes = std::max(asked_.cached_bytes, kept);
    asked_.bytes_read += bytes_;
    buffers_.resize(spec_.ranks.size());
    for (std::vector<std::byte>& buffer : buffers_) buffer.resize(spec_.block_bytes);
    std::atomic<std::uint64_t> reads{0};
    const Sample sample = timed([&](std::size_t file) {
      const auto after = std::ranges::upper_bound(first_, file);
      const auto rank = static_cast<std::size_t>(after - first_.begin()) - 1;
      files_->read_pieces(files_->opened(file), file, buffers_[rank], [&](auto, auto) {
        ++reads;
        return true;
      });
    });
    asked_.reads += reads;
    return sample;
  }

  // Ranks work at the same time, each on its files in their order.
  template <typename Work>
  Sample timed(const Work& work) {
    Sample sample{};
    sample.start_s = now_seconds();
    team_->run([&](int rank) {
      const auto number = static_cast<std::size_t>(rank);
      for (std::size_t file = first_[number]; file < first_[number + 1]; ++file) {
        if (interrupted()) throw Interrupted();
        work(file);
      }
    });
    sample.duration_s = now_seconds() - sample.start_s;
    sample.values = {static_cast<double>(bytes_) / sample.duration_s, sample.duration_s * 1e9};
    return sample;
  }

  ModelCheckpointSpec spec_;
  std::vector<std::uint64_t> sizes_;  // Of all files, rank by rank.
  std::vector<std::size_t> first_;    // Of each rank's files, and behind the last.
  std::uint64_t bytes_ = 0;
  Team* team_ = nullptr;
  std::unique_ptr<SmallFiles> files_;
  std::unique_ptr<DriveWatch> drives_;
  std::vector<std::vector<std::byte>> buffers_;  // One for each rank.
  AskedIo asked_;                                // By this repetition.
};

}  // namespace

MakeState parse_model_checkpoint(const ObjectReader& measurement) {
  ModelCheckpointSpec spec{};
  spec.cpus = measurement.integers("cpus");
  spec.directory = measurement.text("directory");
  const ObjectReader pattern = measurement.object("pattern");
  spec.block_bytes = pattern.bytes("block_size");
  for (const ObjectReader& rank : pattern.objects("ranks")) {
    spec.ranks.push_back(rank.any("bytes").get<std::vector<std::uint64_t>>());
  }
  return [spec = std::move(spec)] { return std::make_unique<ModelCheckpoint>(spec); };
}

}  // namespace tierscope
