// Checkpoints in mapped memory that outlives the process: of a node, or of a file.
#include <fmt/format.h>
#include <numaif.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "access/write_back.h"
#include "errors.h"
#include "interrupt.h"
#include "kinds/checkpoint_target.h"
#include "memory/numa_policy.h"
#include "memory/persistent.h"
#include "memory/read_back.h"
#include "memory/requirements.h"
#include "memory/system_memory.h"
#include "sizes.h"

namespace tierscope {
namespace {

constexpr std::size_t kBytesPerCheck = std::size_t{16} << 20;  // Populated between signal checks.

// Shared memory of a node, which child processes have, too.
class SharedMemory {
 public:
  SharedMemory(std::size_t bytes, int node) : bytes_(bytes) {
    void* const start =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) {
      throw Unavailable(Cause::kMemory,
                        fmt::format("{} of shared memory cannot be mapped: {}", size_text(bytes),
                                    std::strerror(errno)),
                        "ask for a smaller size");
    }
    data_ = static_cast<std::byte*>(start);
    try {
      set_range_policy(data_, bytes_, MPOL_BIND, std::array{node});
    } catch (...) {
      munmap(data_, bytes_);
      throw;
    }
  }
  ~SharedMemory() { munmap(data_, bytes_); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  std::byte* data() const { return data_; }

 private:
  std::size_t bytes_;
  std::byte* data_;
};

// How stores are made durable.
enum class Steps { kNone, kKeepLines, kDropLines, kMsync };

Steps steps_of(const PersistentMapping& mapping) {
  if (mapping.durable_by() == Durable::kMsync) return Steps::kMsync;
  if (has_write_back(WriteBack::kKeep)) return Steps::kKeepLines;
  if (has_write_back(WriteBack::kDrop)) return Steps::kDropLines;
  throw Unavailable(Cause::kIsa, "this CPU has neither CLWB nor CLFLUSHOPT");
}

class MappedTarget : public CheckpointTarget {
 public:
  MappedTarget(std::size_t bytes, const Placement& placement, Team& team)
      : bytes_(whole_pages(bytes)), placement_(placement) {
    const bool on_node = !placement.persistent || placement.persistent->bound;
    if (on_node) require_memory(bytes_, Pages::kBase, placement, true);
    if (placement.persistent) {
      file_ =
          std::make_unique<PersistentMapping>(bytes_, Pages::kBase, base_page_bytes(), placement);
      steps_ = steps_of(*file_);
    } else {
      memory_ = std::make_unique<SharedMemory>(bytes_, placement.nodes.front().node);
    }
    populate(team);
    if (on_node) verify_placement(placement, base_page_bytes(), pages());
  }
  ~MappedTarget() override { MappedTarget::close(); }

  // A new mapping of the same memory (mremap(2), old_size 0), which has no page tables yet: a new
  // process has none either.
  void open() override {
    void* const start = mremap(first(), 0, bytes_, MREMAP_MAYMOVE);
    if (start == MAP_FAILED) {
      throw Failure(fmt::format("mremap failed: {}", std::strerror(errno)), Cause::kMemory);
    }
    data_ = static_cast<std::byte*>(start);
  }

  void close() override {
    if (data_ != nullptr) munmap(data_, bytes_);
    data_ = nullptr;
  }

  void prepare(std::size_t) override {}

  void write(std::size_t, const CheckpointState& state, BlockRange range,
             std::uint64_t at) override {
    for (std::size_t block = range.first; block < range.last; ++block) {
      const CheckpointState::Block& one = state.blocks()[block];
      state.copy_out(block, data_ + at + one.offset);
      make_durable(data_ + at + one.offset, one.bytes);
    }
    // Orders what was written back, and non-temporal stores, which memcpy uses for large blocks.
    write_back_fence();
  }

  void read(std::size_t, CheckpointState& state, BlockRange range, std::uint64_t at,
            const std::function<void(std::size_t)>& arrived) override {
    for (std::size_t block = range.first; block < range.last; ++block) {
      state.copy_in(block, data_ + at + state.blocks()[block].offset);
      arrived(block);
    }
  }

  // Each thread has waited for its own stores.
  void persist() override { write_back_fence(); }

  void write_header(std::uint64_t at, std::span<const std::byte> header) override {
    std::memcpy(data_ + at, header.data(), header.size());
    make_durable(data_ + at, header.size());
    write_back_fence();
  }

  void read_header(std::uint64_t at, std::span<std::byte> header) override {
    std::memcpy(header.data(), data_ + at, header.size());
  }

  void observe(nlohmann::ordered_json& evidence) const override {
    static constexpr std::array kWords{"nothing", "CLWB and a fence", "CLFLUSHOPT and a fence",
                                       "msync"};
    // Another key of `evidence` would move what `found` refers to.
    if (file_) evidence["persistent"] = file_->evidence(true);
    nlohmann::ordered_json& found = evidence["checkpoint"];
    found["medium"] = file_ ? "mapped" : "memory";
    found["durable_by"] = kWords[static_cast<std::size_t>(steps_)];
    if (file_ && !file_->has_page_nodes()) return;
    for (const auto& [node, count] : pages().pages) found["pages"][std::to_string(node)] = count;
  }

 private:
  static std::size_t whole_pages(std::size_t bytes) {
    return (bytes + base_page_bytes() - 1) / base_page_bytes() * base_page_bytes();
  }

  std::byte* first() const { return file_ ? file_->data() : memory_->data(); }
  RegionReport pages() const { return count_pages(first(), bytes_, base_page_bytes()); }

  void make_durable(std::byte* from, std::size_t bytes) const {
    if (steps_ == Steps::kKeepLines) for_each_line(from, bytes, write_back<WriteBack::kKeep>);
    if (steps_ == Steps::kDropLines) for_each_line(from, bytes, write_back<WriteBack::kDrop>);
    if (steps_ != Steps::kMsync) return;
    const std::size_t before = reinterpret_cast<std::uintptr_t>(from) % base_page_bytes();
    if (msync(from - before, bytes + before, MS_SYNC) != 0) {
      throw Failure(fmt::format("msync failed: {}", std::strerror(errno)), Cause::kStorage);
    }
  }

  void populate(Team& team) {
    team.run([&](int thread) {
      const auto index = static_cast<std::size_t>(thread);
      const auto threads = static_cast<std::size_t>(team.size());
      const std::size_t count = bytes_ / base_page_bytes();
      const std::size_t end = count * (index + 1) / threads * base_page_bytes();
      for (std::size_t at = count * index / threads * base_page_bytes(); at < end;
           at += kBytesPerCheck) {
        if (interrupted()) throw Interrupted();
        std::memset(first() + at, 0, std::min(kBytesPerCheck, end - at));
      }
    });
  }

  std::size_t bytes_;
  Placement placement_;
  std::unique_ptr<SharedMemory> memory_;
  std::unique_ptr<PersistentMapping> file_;  // In place of it.
  Steps steps_ = Steps::kNone;
  std::byte* data_ = nullptr;  // As the program that runs now has mapped it.
};

}  // namespace

std::unique_ptr<CheckpointTarget> make_memory_target(std::size_t bytes, const Placement& placement,
                                                     Team& team) {
  return std::make_unique<MappedTarget>(bytes, placement, team);
}

}  // namespace tierscope
