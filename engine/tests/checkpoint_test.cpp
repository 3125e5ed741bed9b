// Checkpoints: what is saved comes back, what was cut off does not, and kills are told apart.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include "errors.h"
#include "kinds/checkpoint_kills.h"
#include "kinds/checkpoints.h"
#include "scratch_directory.h"

namespace tierscope {
namespace {

constexpr std::size_t kCheckpointBlock = 64 << 10;
constexpr std::size_t kSize = 5 * kCheckpointBlock + kCellBytes;  // The last block is shorter.
constexpr std::uint32_t kFile = 7;

std::vector<int> cpus() {
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof allowed, &allowed);
  std::vector<int> found;
  for (int cpu = 0; cpu < CPU_SETSIZE && found.size() < 2; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) found.push_back(cpu);
  }
  return found;
}

// A state, a target of either kind, and checkpoints between them.
class CheckpointTest : public testing::TestWithParam<const char*> {
 protected:
  CheckpointTest() {
    state_ = std::make_unique<CheckpointState>(std::span(memory_.get(), kSize), kCheckpointBlock);
    fill();
    const std::uint64_t bytes = Checkpoints::target_bytes(kSize);
    const std::string_view kind(GetParam());
    Placement placement{.policy = Policy::kBind, .nodes = {{.node = 0}}};
    if (kind == "memory") {
      target_ = make_memory_target(bytes, placement, team_);
    } else if (kind == "mapped") {
      placement.persistent = Persistent{.backing = Backing::kFile, .path = directory_.path()};
      target_ = make_memory_target(bytes, placement, team_);
    } else if (kind == "bound") {
      placement.persistent =
          Persistent{.backing = Backing::kFile, .path = "/dev/shm", .bound = true};
      target_ = make_memory_target(bytes, placement, team_);
    } else if (kind == "pool" || kind == "boundpool") {
      const bool bound = kind == "boundpool";
      placement.persistent = Persistent{.backing = Backing::kPool,
                                        .path = bound ? "/dev/shm" : directory_.path(),
                                        .bound = bound};
      target_ = make_pool_target(bytes, placement);
    } else {
      file_ = pool_.lease({.directory = directory_.path(), .stem = "c.", .size = bytes}).front();
      const auto backend =
          std::ranges::find(backend_kinds(), std::string_view(GetParam()), &BackendKind::name);
      target_ = make_file_target({.file = file_,
                                  .backend = &*backend,
                                  .direct = false,
                                  .depth = backend->synchronous ? 1U : 3U,
                                  .block_bytes = kCheckpointBlock,
                                  .gpu = -1,
                                  .threads = cpus().size()});
    }
    checkpoints_ = std::make_unique<Checkpoints>(team_, *state_, *target_, kFile);
    checkpoints_->erase();
  }

  void fill() {
    for (std::size_t block = 0; block < state_->blocks().size(); ++block) state_->fill(block);
  }

  void save(int count) {
    for (int i = 0; i < count; ++i) {
      checkpoints_->change();
      checkpoints_->save();
    }
  }

  // Where the state of a generation begins in the target.
  static std::uint64_t state_at(std::uint64_t generation) {
    return generation % 2 * (kCellBytes + kSize) + kCellBytes;
  }

  // Changes a byte of a slot's state behind everybody's back.
  void damage(std::uint64_t generation, std::uint64_t offset) {
    alignas(kCellBytes) std::array<std::byte, kCellBytes> cell{};
    const std::uint64_t at = state_at(generation) + offset / kCellBytes * kCellBytes;
    target_->read_header(at, cell);
    cell[offset % kCellBytes] ^= std::byte{1};
    target_->write_header(at, cell);
  }

  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };
  ScratchDirectory directory_;
  FilePool pool_;
  Team team_{cpus()};
  std::unique_ptr<std::byte, Free> memory_{
      static_cast<std::byte*>(std::aligned_alloc(kCellBytes, kSize))};
  OwnedFile* file_ = nullptr;
  std::unique_ptr<CheckpointState> state_;
  std::unique_ptr<CheckpointTarget> target_;
  std::unique_ptr<Checkpoints> checkpoints_;
};

INSTANTIATE_TEST_SUITE_P(Targets, CheckpointTest,
                         testing::Values("memory", "mapped", "bound", "pool", "boundpool", "posix",
                                         "libaio"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(CheckpointTest, TheLastOneComesBackWholeAndTheOneBeforeIsKept) {
  EXPECT_EQ(checkpoints_->restart().generation, 0) << "nothing was saved yet";
  fill();
  save(3);
  const Restart restart = checkpoints_->restart();
  EXPECT_EQ(restart.generation, 3);
  EXPECT_EQ(restart.rejected, "");
  for (std::size_t block = 0; block < state_->blocks().size(); ++block) {
    EXPECT_EQ(state_->wrong(block, kFile, 3), std::nullopt);
  }
  EXPECT_NE(state_->wrong(0, kFile, 2), std::nullopt) << "a later generation is not this one";
  save(1);
  EXPECT_EQ(checkpoints_->restart().generation, 4) << "a restarted program goes on";
}

TEST_P(CheckpointTest, AStateWithoutItsHeaderIsNoCheckpoint) {
  save(2);
  checkpoints_->change();
  checkpoints_->save_state();
  const Restart restart = checkpoints_->restart();
  EXPECT_EQ(restart.generation, 2);
  EXPECT_EQ(restart.rejected, "");
}

TEST_P(CheckpointTest, AHeaderBeforeItsStateIsNoticed) {
  save(2);
  checkpoints_->change();
  checkpoints_->save_header();
  const Restart restart = checkpoints_->restart();
  EXPECT_EQ(restart.generation, 2);
  EXPECT_NE(restart.rejected.find("expected generation 3"), std::string::npos) << restart.rejected;
}

TEST_P(CheckpointTest, ADamagedCheckpointIsNamedAndTheOlderOneTaken) {
  save(4);
  damage(4, 2 * kCheckpointBlock + 1000);
  const Restart restart = checkpoints_->restart();
  EXPECT_EQ(restart.generation, 3);
  EXPECT_NE(restart.rejected.find("offset 131072"), std::string::npos) << restart.rejected;
  damage(3, 0);
  EXPECT_EQ(checkpoints_->restart().generation, 0) << "none is left";
}

TEST_P(CheckpointTest, ProgramsThatAreKilledFindTheLastGoodOne) {
  save(2);
  const KillsReport report = kill_writers(
      {.kills = 6, .save_s = 0.01, .seed = 1, .cpus = cpus(), .file = kFile}, *state_, *target_, 2);
  EXPECT_EQ(report.kills, 6);
  EXPECT_LE(report.went_on, report.while_saving);
  EXPECT_GE(checkpoints_->restart().generation, 2 + 6) << "each saved one at least";
}

// A target of a careless program: its headers come before the state.
class HeaderFirst : public CheckpointTarget {
 public:
  explicit HeaderFirst(CheckpointTarget& target) : target_(target) {}

  void open() override { target_.open(); }
  void close() override { target_.close(); }
  void prepare(std::size_t thread) override { target_.prepare(thread); }
  void write(std::size_t, const CheckpointState& state, BlockRange range,
             std::uint64_t at) override {
    const std::lock_guard lock(mutex_);
    for (std::size_t block = range.first; block < range.last; ++block) {
      later_.push_back([this, &state, block, at] {
        target_.write(0, state, {block, block + 1}, at);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      });
    }
  }
  void read(std::size_t thread, CheckpointState& state, BlockRange range, std::uint64_t at,
            const std::function<void(std::size_t)>& arrived) override {
    target_.read(thread, state, range, at, arrived);
  }
  void persist() override {}
  void write_header(std::uint64_t at, std::span<const std::byte> header) override {
    target_.write_header(at, header);
    for (const auto& write : later_) write();
    later_.clear();
    target_.persist();
  }
  void read_header(std::uint64_t at, std::span<std::byte> header) override {
    target_.read_header(at, header);
  }
  void observe(nlohmann::ordered_json&) const override {}

 private:
  CheckpointTarget& target_;
  std::mutex mutex_;
  std::vector<std::function<void()>> later_;
};

TEST_P(CheckpointTest, KillsFindAProgramThatWritesTheHeaderFirst) {
  save(2);
  HeaderFirst careless(*target_);
  const KillsWish wish{.kills = 30, .save_s = 0.03, .seed = 1, .cpus = cpus(), .file = kFile};
  try {
    kill_writers(wish, *state_, careless, 2);
    FAIL() << "30 kills found nothing";
  } catch (const Failure& failure) {
    EXPECT_NE(std::string(failure.what()).find("has its header and is not whole"),
              std::string::npos)
        << failure.what();
  }
}

TEST_P(CheckpointTest, ATargetThatForgetsIsFoundOut) {
  save(2);
  const KillsWish wish{.kills = 1, .save_s = 0.01, .seed = 1, .cpus = cpus(), .file = kFile};
  EXPECT_THROW(kill_writers(wish, *state_, *target_, 5), Failure) << "generation 5 was durable";
}

}  // namespace
}  // namespace tierscope
