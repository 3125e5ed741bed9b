// What it costs that blocks persist: stores with flushes or fences after each block, beside the
// same stores without.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <deque>
#include <stdexcept>

#include "access/block_writes.h"
#include "errors.h"
#include "harness/kind.h"
#include "harness/leases.h"
#include "kinds/evidence.h"
#include "kinds/persist_memory.h"
#include "kinds/persist_pool.h"
#include "kinds/persist_spec.h"
#include "kinds/window_sample.h"
#include "memory/rounds.h"
#include "memory/system_memory.h"
#include "threads/disturbance.h"

namespace tierscope {
namespace {

// Blocks of a first repetition are all compared, of further ones one in so many.
constexpr std::uint64_t kCompareStep = 64;

// Keys differ by more than there are words in any region, so that no region holds words of two
// measurements that are alike.
std::uint64_t new_key() {
  static std::atomic<std::uint64_t> count = 0;
  return ++count << 48;
}

[[noreturn]] void fail(const char* call) {
  throw Failure(fmt::format("{} failed: {}", call, std::strerror(errno)), Cause::kStorage);
}

// Stores to a mapped file, and the system call that has them written. Throws Failure.
BlockWriter file_writer(PersistBy by, int file) {
  if (by == PersistBy::kFdatasync) {
    return block_writer([file](BlockWalk& walk) {
      store_block(walk, walk.next());
      if (fdatasync(file) != 0) fail("fdatasync");
    });
  }
  const std::uintptr_t page = base_page_bytes();
  return block_writer([page](BlockWalk& walk) {
    std::byte* const block = walk.next();
    store_block(walk, block);
    std::byte* const first = block - reinterpret_cast<std::uintptr_t>(block) % page;
    const auto bytes = static_cast<std::size_t>(block - first) + walk.block_bytes();
    if (msync(first, bytes, MS_SYNC) != 0) fail("msync");
  });
}

BlockWriter writer_of(const PersistSpec& spec, const PersistMemory& memory) {
  switch (spec.method.by) {
    case PersistBy::kInstructions:
      return block_writer(spec.method.write);
    case PersistBy::kMsync:
    case PersistBy::kFdatasync:
      return file_writer(spec.method.by, memory.file());
    case PersistBy::kPoolPersist:
      return pool_persist_writer(memory.pool());
    case PersistBy::kTransaction:
      return transaction_writer(memory.pool(), spec.ranges);
    case PersistBy::kAllocation:
      return allocation_writer(memory.pool());
  }
  throw std::logic_error("a method without a writer");
}

class Persist : public State {
 public:
  explicit Persist(const PersistSpec& spec) : spec_(spec), durations_(spec.cpus.size()) {}

  void open(Leases& leases) override {
    require_fit(spec_);
    require_flush(spec_.method.write.flush);
    team_ = &leases.team(spec_.cpus);
    spec_.size = in_whole_rounds(spec_.size, spec_.pages, spec_.placement,
                                 {.shares = spec_.cpus.size(), .access_size = spec_.block_size});
    const bool holds_blocks = memory_.open(spec_, leases, *team_);
    writer_ = writer_of(spec_, memory_);
    if (!holds_blocks) begin_walks();
    if (!sized_) {
      size_chunks(*team_, writing_, window_s());
      size_chunks(*team_, timing_, window_s());
    }
    sized_ = true;
  }

  std::vector<Series> series() override {
    const std::vector<int> watched = sleeps() ? watched_cpus(*team_) : spec_.cpus;
    return {{.name = "windows",
             .columns = {{.metric = "time_per_operation", .part = ""},
                         {.metric = "bandwidth", .part = ""}},
             .take = [this] { return take(writing_); },
             .watched_cpus = watched},
            {.name = "operations",
             .columns = {{.metric = "time_per_operation", .part = "timed"}},
             .take = [this] { return take_timed(); },
             .watched_cpus = watched,
             .distributions = {{.metric = "persist_latency", .part = ""}}}};
  }

  void observe(nlohmann::ordered_json& evidence) override {
    std::vector<WalkedShare> walks;
    for (const BlockWalk& walk : walks_) {
      walks.push_back({.walk = {.bytes = walk.bytes(), .access_size = spec_.range_size()},
                       .order = spec_.random ? Order::kRandom : Order::kSequential,
                       .first = walk.offset(),
                       .accesses = walk.taken(),
                       .counted = 1});
    }
    evidence = memory_.evidence(walks, spec_.method);
    evidence["cpus"] = cpus_of(writing_);
    evidence["timer_ns"] = write_timer_ns();
    evidence["persist"] = {{"operation", spec_.method.text()},
                           {"cpu_has", flushes_of_cpu()},
                           {"durable", durable(evidence)}};
    evidence["verified"] = verify();
  }

 private:
  double window_s() const { return window_seconds(spec_.sampling); }

  // In the kernel, which waits for the device.
  bool sleeps() const { return spec_.method.by != PersistBy::kInstructions; }

  // Every thread begins at the first block of its share, and the region holds none of its words.
  void begin_walks() {
    const std::size_t grain = share_grain(spec_.pages, spec_.placement, spec_.block_size);
    const std::vector<ByteRange> shares = cut_into_shares(spec_.size, grain, spec_.cpus.size());
    const std::uint64_t key = new_key();
    std::vector<Worker> writing;
    std::vector<Worker> timing;
    walks_.clear();
    for (std::size_t thread = 0; thread < shares.size(); ++thread) {
      const auto [first, last] = shares[thread];
      BlockWalk& walk = walks_.emplace_back(memory_.data() + first, first, spec_.range_size(),
                                            (last - first) / spec_.range_size(), spec_.random, key);
      Histogram& durations = durations_[thread];
      writing.push_back({.work = [this, &walk](std::uint64_t count) { writer_.write(walk, count); },
                         .chunk = sized_ ? writing_[thread].chunk : 1,
                         .sleeps = sleeps()});
      timing.push_back({.work = [this, &walk, &durations](
                                    std::uint64_t count) { writer_.time(walk, count, durations); },
                        .chunk = sized_ ? timing_[thread].chunk : 1,
                        .sleeps = sleeps()});
    }
    writing_ = std::move(writing);
    timing_ = std::move(timing);
    compared_all_ = false;
  }

  // A sample of these workers: the time that a block takes one thread, and the bytes of all blocks.
  Sample take(std::vector<Worker>& workers) {
    Sample sample = window_sample(*team_, workers, window_s());
    const double blocks = units_in_window(workers);
    const auto threads = static_cast<double>(workers.size());
    sample.values = {window_s() * 1e9 * threads / blocks,
                     blocks * static_cast<double>(spec_.block_size) / window_s()};
    return sample;
  }

  Sample take_timed() {
    for (Histogram& durations : durations_) durations.clear();
    Sample sample = take(timing_);
    sample.values.pop_back();
    for (std::size_t thread = 1; thread < durations_.size(); ++thread) {
      durations_.front().add(durations_[thread]);
    }
    sample.histograms = {durations_.front().counts()};
    return sample;
  }

  // Whether a block that was written survives a loss of power once its operation has ended.
  std::string durable(const nlohmann::ordered_json& evidence) const {
    if (!spec_.method.persists()) return "not-asked";
    if (!evidence.contains("persistent")) return "volatile-memory";
    return evidence["persistent"]["survives_power_loss"];
  }

  static std::vector<std::string> flushes_of_cpu() {
    std::vector<std::string> found;
    for (const auto& [name, flush] : kFlushNames) {
      if (has_flush(flush)) found.emplace_back(name);
    }
    return found;
  }

  // All blocks written, or a sample of them in further repetitions; throws Failure where one
  // differs.
  std::string verify() {
    const std::uint64_t step = compared_all_ ? kCompareStep : 1;
    std::vector<std::uint64_t> bytes(walks_.size());
    team_->run([&](int thread) {
      const auto index = static_cast<std::size_t>(thread);
      bytes[index] = spec_.method.by == PersistBy::kAllocation ? compare_freed(walks_[index], step)
                                                               : walks_[index].compare(step);
    });
    std::uint64_t compared = 0;
    for (const std::uint64_t one : bytes) compared += one;
    compared_all_ = true;
    if (step == 1) {
      return fmt::format("{} bytes in all blocks that were written", compared);
    }
    return fmt::format(
        "{} bytes in one of {} blocks that were written, after a repetition that compared "
        "all of its blocks",
        compared, step);
  }

  PersistSpec spec_;
  BlockWriter writer_;
  std::deque<BlockWalk> walks_;       // One for each thread; workers point into it,
  std::vector<Histogram> durations_;  // and into this.
  std::vector<Worker> writing_;
  std::vector<Worker> timing_;
  Team* team_ = nullptr;
  PersistMemory memory_;
  bool sized_ = false;
  bool compared_all_ = false;
};

}  // namespace

MakeState parse_persist(const ObjectReader& measurement) {
  const PersistSpec spec = read_persist_spec(measurement);
  return [spec] { return std::make_unique<Persist>(spec); };
}

}  // namespace tierscope
