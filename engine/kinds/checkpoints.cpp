#include "kinds/checkpoints.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <functional>
#include <mutex>
#include <vector>

#include "errors.h"
#include "interrupt.h"
#include "sampling/clock.h"
#include "storage/cell.h"

namespace tierscope {
namespace {

constexpr std::uint64_t kMagic = 0x31304b5043435354;  // "TSCCPK01"

struct Header {
  std::uint64_t magic;
  std::uint64_t file;
  std::uint64_t generation;
  std::uint64_t bytes;  // Of the state.
  std::uint64_t check;  // XXH3 of the fields above.
};

// Direct I/O needs the alignment.
struct alignas(kCellBytes) HeaderBlock {
  std::array<std::byte, kCellBytes> bytes{};
};

// Blocks of one of so many threads.
BlockRange share_of(std::size_t blocks, int thread, int threads) {
  const auto index = static_cast<std::size_t>(thread);
  const auto count = static_cast<std::size_t>(threads);
  return {blocks * index / count, blocks * (index + 1) / count};
}

std::uint64_t check_of(const Header& header) {
  return XXH3_64bits(&header, offsetof(Header, check));
}

}  // namespace

Checkpoints::Checkpoints(Team& team, CheckpointState& state, CheckpointTarget& target,
                         std::uint32_t file)
    : team_(team),
      state_(state),
      target_(target),
      file_(file),
      queues_(static_cast<std::size_t>(team.size())),
      lost_s_(queues_.size()) {}

std::uint64_t Checkpoints::target_bytes(std::uint64_t state_bytes) {
  return 2 * (kCellBytes + state_bytes);
}

std::uint64_t Checkpoints::slot_at(std::uint64_t generation) const {
  return generation % 2 * (kCellBytes + state_.bytes());
}

void Checkpoints::on_each_block(const std::function<void(std::size_t)>& work) {
  team_.run([&](int thread) {
    const BlockRange share = share_of(state_.blocks().size(), thread, team_.size());
    for (std::size_t block = share.first; block < share.last; ++block) {
      if (interrupted()) throw Interrupted();
      work(block);
    }
    const auto index = static_cast<std::size_t>(thread);
    lost_s_[index] = 0;
    if (queues_[index]) queues_[index]->lost_s();
  });
}

void Checkpoints::run_timed(const std::function<void(int)>& work) {
  team_.run([&](int thread) {
    work(thread);
    const auto index = static_cast<std::size_t>(thread);
    if (queues_[index]) lost_s_[index] += queues_[index]->lost_s();
  });
}

double Checkpoints::lost_s() const { return std::ranges::max(lost_s_); }

void Checkpoints::erase() {
  target_.close();
  target_.open();
  team_.run([&](int thread) {
    const auto index = static_cast<std::size_t>(thread);
    target_.prepare(index);
    queues_[index] = watch_run_queue(team_, thread);
  });
  const HeaderBlock empty;
  target_.write_header(slot_at(0), empty.bytes);
  target_.write_header(slot_at(1), empty.bytes);
  generation_ = 0;
}

void Checkpoints::change() {
  ++generation_;
  on_each_block([this](std::size_t block) { state_.change(block, file_, generation_); });
}

double Checkpoints::save() {
  const double begin = now_seconds();
  save_state();
  save_header();
  return now_seconds() - begin;
}

void Checkpoints::save_state() {
  run_timed([&](int thread) {
    const BlockRange share = share_of(state_.blocks().size(), thread, team_.size());
    target_.write(static_cast<std::size_t>(thread), state_, share,
                  slot_at(generation_) + kCellBytes);
  });
  target_.persist();
}

void Checkpoints::save_header() {
  Header header{.magic = kMagic, .file = file_, .generation = generation_, .bytes = state_.bytes()};
  header.check = check_of(header);
  HeaderBlock block;
  std::memcpy(block.bytes.data(), &header, sizeof header);
  target_.write_header(slot_at(generation_), block.bytes);
}

Restart Checkpoints::restart() {
  on_each_block([this](std::size_t block) { state_.forget(block); });
  target_.close();  // Untimed: the program before has ended.
  Restart found{};
  const double begin = now_seconds();
  target_.open();
  run_timed([&](int thread) { target_.prepare(static_cast<std::size_t>(thread)); });
  // A header that was cut off is as good as none: its checkpoint never became the last good one.
  std::vector<std::uint64_t> generations;
  for (const std::uint64_t slot : {0, 1}) {
    HeaderBlock block;
    target_.read_header(slot_at(slot), block.bytes);
    Header header{};
    std::memcpy(&header, block.bytes.data(), sizeof header);
    const bool whole = header.magic == kMagic && header.check == check_of(header) &&
                       header.file == file_ && header.bytes == state_.bytes() &&
                       header.generation % 2 == slot;
    if (whole) generations.push_back(header.generation);
  }
  std::ranges::sort(generations, std::greater());
  for (const std::uint64_t generation : generations) {
    const std::optional<std::string> wrong = read_back(generation);
    if (!wrong) {
      found.generation = generation;
      break;
    }
    if (found.rejected.empty()) found.rejected = *wrong;
  }
  found.seconds = now_seconds() - begin;
  generation_ = found.generation;
  return found;
}

std::optional<std::string> Checkpoints::read_back(std::uint64_t generation) {
  std::mutex mutex;
  std::optional<std::string> wrong;
  run_timed([&](int thread) {
    const BlockRange share = share_of(state_.blocks().size(), thread, team_.size());
    const auto verify = [&](std::size_t block) {
      std::optional<std::string> found = state_.wrong(block, file_, generation);
      if (!found) return;
      const std::lock_guard lock(mutex);
      if (!wrong) wrong = std::move(found);
    };
    target_.read(static_cast<std::size_t>(thread), state_, share, slot_at(generation) + kCellBytes,
                 verify);
  });
  return wrong;
}

}  // namespace tierscope
