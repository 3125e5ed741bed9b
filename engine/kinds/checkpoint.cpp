// Checkpoints: a program's state, saved so that it outlives the program, and read back.
#include <fmt/format.h>

#include <algorithm>
#include <any>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "errors.h"
#include "harness/kind.h"
#include "harness/leases.h"
#include "kinds/checkpoint_kills.h"
#include "kinds/checkpoint_spec.h"
#include "kinds/checkpoint_state.h"
#include "kinds/checkpoint_target.h"
#include "kinds/checkpoints.h"
#include "kinds/drive_watch.h"
#include "kinds/evidence.h"
#include "sampling/clock.h"
#include "storage/gpu_io.h"
#include "threads/disturbance.h"

namespace tierscope {
namespace {

// What a region holds that was a state: cells, of any generation.
struct StateCells {};

constexpr std::uint32_t kFileOfMemory = 0x6d656d31;  // Number of targets that are no files.

class Checkpoint : public State {
 public:
  explicit Checkpoint(CheckpointSpec spec) : spec_(std::move(spec)) {}

  void open(Leases& leases) override {
    const double begin = now_seconds();
    checkpoints_.reset();
    watch_gpu();
    team_ = &leases.team(spec_.cpus);
    open_state(leases);
    if (!target_) make_target(leases);
    checkpoints_ = std::make_unique<Checkpoints>(*team_, *state_, *target_, file_);
    checkpoints_->erase();
    restarts_ = 0;
    asked_.reads = asked_.writes = asked_.bytes_read = asked_.bytes_written = 0;
    asked_.cached_bytes = 0;
    asked_.set_up_s = now_seconds() - begin;
    if (watch_) watch_->restart();
    if (drives_) drives_->restart();
  }

  std::vector<Series> series() override {
    const auto of = [this](std::string name, const char* time, const char* rate,
                           Sample (Checkpoint::*take)()) {
      return Series{.name = std::move(name),
                    .columns = {{.metric = rate, .part = ""}, {.metric = time, .part = ""}},
                    .take = [this, take] { return (this->*take)(); },
                    .watched_cpus = watched_cpus(*team_),
                    .keep_disturbed = true};
    };
    return {of("checkpoints", "checkpoint_time", "bandwidth", &Checkpoint::save),
            of("restarts", "restart_time", "restart_bandwidth", &Checkpoint::restart)};
  }

  void observe(nlohmann::ordered_json& evidence) override {
    if (watch_) watch_->stop();
    if (region_ != nullptr) evidence = region_evidence({region_});
    evidence["cpus"] = spec_.cpus;
    if (drives_) drives_->observe(evidence, asked_);
    target_->observe(evidence);
    nlohmann::ordered_json& found = evidence["checkpoint"];
    found["restarts"] = restarts_;
    found["set_up_s"] = asked_.set_up_s;
    kill_programs();
    if (kills_) {
      found["kills"] = {{"kills", kills_->kills},
                        {"while_saving", kills_->while_saving},
                        {"went_on", kills_->went_on}};
    }
    evidence["verified"] = verified();
    checkpoints_.reset();
    if (contents_ != nullptr) *contents_ = StateCells{};
    if (watch_) watch_->report(evidence, "", spec_.direct);
  }

 private:
  void watch_gpu() {
    watch_.reset();
    if (spec_.state.gpu < 0) return;
    const std::string_view way = spec_.directory.empty() ? "staged" : spec_.backend->name;
    watch_ = watch_gpu_io({spec_.state.gpu}, way, spec_.cpus.front());
  }

  // A region that was a state before has cells already.
  void open_state(Leases& leases) {
    contents_ = nullptr;
    bool filled = false;
    if (spec_.state.placement) {
      const std::array keys{RegionKey{spec_.size, spec_.pages, *spec_.state.placement}};
      const auto fits = [](std::size_t, const std::any& held) {
        return std::any_cast<StateCells>(&held) != nullptr;
      };
      const Lease lease = leases.regions(keys, *team_, fits).front();
      region_ = lease.region;
      contents_ = lease.contents;
      filled = fits(0, lease.found);
      state_ = std::make_unique<CheckpointState>(std::span(region_->data(), spec_.size),
                                                 spec_.block_bytes);
    } else if (state_) {
      return;  // A GPU's memory stays between repetitions.
    } else {
      const GpuBuffersWish wish{.gpu = spec_.state.gpu,
                                .memory = spec_.state.memory,
                                .count = (spec_.size + spec_.block_bytes - 1) / spec_.block_bytes,
                                .bytes = spec_.block_bytes,
                                .registered = false};
      state_ = std::make_unique<CheckpointState>(wish, spec_.size);
    }
    if (!filled) fill();
  }

  void fill() {
    const std::size_t blocks = state_->blocks().size();
    const auto threads = static_cast<std::size_t>(team_->size());
    team_->run([&](int thread) {
      for (auto block = static_cast<std::size_t>(thread); block < blocks; block += threads) {
        state_->fill(block);
      }
    });
  }

  void make_target(Leases& leases) {
    const std::uint64_t bytes = Checkpoints::target_bytes(spec_.size);
    if (spec_.directory.empty()) {
      file_ = kFileOfMemory;
      const Placement placement = spec_.placement.value_or(Placement{});
      const Backing backing = placement.persistent.value_or(Persistent{}).backing;
      target_ = backing == Backing::kPool ? make_pool_target(bytes, placement)
                                          : make_memory_target(bytes, placement, *team_);
      return;
    }
    OwnedFile* const file = leases.files()
                                .lease({.directory = spec_.directory,
                                        .stem = "tierscope-checkpoint.",
                                        .size = bytes,
                                        .cell = kCellBytes,
                                        .large = spec_.large})
                                .front();
    file_ = file->number;
    asked_.path = file->path;
    const Descriptor directory = open_directory(spec_.directory);
    const std::array devices{device_of(directory.get())};
    drives_ = std::make_unique<DriveWatch>(devices);
    target_ = make_file_target({.file = file,
                                .backend = spec_.backend,
                                .direct = spec_.direct,
                                .depth = spec_.depth,
                                .block_bytes = spec_.block_bytes,
                                .gpu = spec_.state.gpu,
                                .threads = spec_.cpus.size()});
  }

  Sample save() {
    checkpoints_->change();
    Sample sample{};
    sample.start_s = now_seconds();
    sample.duration_s = save_s_ = checkpoints_->save();
    asked_.writes += state_->blocks().size();
    asked_.bytes_written += spec_.size;
    sample.values = {static_cast<double>(spec_.size) / sample.duration_s, sample.duration_s * 1e9};
    sample.lost_share = checkpoints_->lost_s() / sample.duration_s;
    return sample;
  }

  Sample restart() {
    const std::uint64_t saved = checkpoints_->generation();
    asked_.cached_bytes = std::max(asked_.cached_bytes, target_->drop_cached());
    Sample sample{};
    sample.start_s = now_seconds();
    const Restart found = checkpoints_->restart();
    if (found.generation != saved || !found.rejected.empty()) {
      throw Failure(
          fmt::format("the last checkpoint was of generation {}, and the one that was "
                      "read back is of generation {}{}{}",
                      saved, found.generation, found.rejected.empty() ? "" : ": ", found.rejected),
          Cause::kVerification);
    }
    ++restarts_;
    asked_.reads += state_->blocks().size();
    asked_.bytes_read += spec_.size;
    sample.duration_s = found.seconds;
    sample.values = {static_cast<double>(spec_.size) / sample.duration_s, sample.duration_s * 1e9};
    sample.lost_share = checkpoints_->lost_s() / sample.duration_s;
    return sample;
  }

  // Once a measurement: it proves the order of steps, which no repetition changes.
  void kill_programs() {
    if (spec_.kills == 0 || kills_) return;
    kills_ = kill_writers({.kills = spec_.kills,
                           .save_s = save_s_,
                           .seed = static_cast<std::uint64_t>(now_ns()),
                           .cpus = spec_.cpus,
                           .file = file_},
                          *state_, *target_, checkpoints_->generation());
  }

  std::string verified() const {
    std::string text = fmt::format("all {} bytes of the state after each restart", spec_.size);
    if (kills_) text += fmt::format(", {} of them after kills", kills_->kills);
    return text;
  }

  CheckpointSpec spec_;
  Team* team_ = nullptr;
  const Region* region_ = nullptr;  // The state, where it is in host memory.
  std::any* contents_ = nullptr;    // Of that region.
  std::unique_ptr<CheckpointState> state_;
  std::unique_ptr<CheckpointTarget> target_;
  std::uint32_t file_ = 0;
  std::unique_ptr<Checkpoints> checkpoints_;  // Of this repetition.
  std::unique_ptr<GpuIoWatch> watch_;         // Where the state is a GPU's.
  std::optional<KillsReport> kills_;
  int restarts_ = 0;
  std::unique_ptr<DriveWatch> drives_;  // Below a file.
  AskedIo asked_;                       // By this repetition, but for headers.
  double save_s_ = 0;                   // Of the last checkpoint.
};

}  // namespace

MakeState parse_checkpoint(const ObjectReader& measurement) {
  CheckpointSpec spec = read_checkpoint_spec(measurement);
  return [spec = std::move(spec)] { return std::make_unique<Checkpoint>(spec); };
}

}  // namespace tierscope
