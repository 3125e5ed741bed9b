// Checkpoints in a file.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <vector>

#include "errors.h"
#include "kinds/checkpoint_target.h"
#include "storage/page_cache.h"

namespace tierscope {
namespace {

// A thread's operations in flight.
struct Lane {
  std::vector<std::byte*> slots;  // The block that each operation in flight moves.
  std::vector<std::size_t> blocks;
  std::vector<Completion> done;
  std::unique_ptr<Backend> backend;
};

class FileTarget : public CheckpointTarget {
 public:
  explicit FileTarget(const FileTargetWish& wish) : wish_(wish) {}
  ~FileTarget() override { FileTarget::close(); }

  void open() override {
    const int flags = O_RDWR | O_CLOEXEC | (wish_.direct ? O_DIRECT : 0);
    file_ = Descriptor(wish_.file->open(flags));
    descriptors_ = {file_.get()};
    sizes_ = {wish_.file->size};
    lanes_.resize(wish_.threads);
  }

  void close() override {
    lanes_.clear();
    file_.reset();
  }

  void prepare(std::size_t thread) override {
    Lane& lane = lanes_[thread];
    lane.slots.resize(wish_.depth);
    lane.blocks.resize(wish_.depth);
    lane.done.resize(wish_.depth);
    lane.backend = wish_.backend->make({.files = descriptors_,
                                        .sizes = sizes_,
                                        .buffers = lane.slots,
                                        .buffer_bytes = wish_.block_bytes,
                                        .writes = true,
                                        .direct = wish_.direct,
                                        .gpu = wish_.gpu});
  }

  void write(std::size_t thread, const CheckpointState& state, BlockRange range,
             std::uint64_t at) override {
    move(lanes_[thread], state, range, at, true, [](std::size_t) {});
  }

  void read(std::size_t thread, CheckpointState& state, BlockRange range, std::uint64_t at,
            const std::function<void(std::size_t)>& arrived) override {
    move(lanes_[thread], state, range, at, false, arrived);
  }

  void persist() override {
    if (fdatasync(file_.get()) != 0) fail("fdatasync");
  }

  void write_header(std::uint64_t at, std::span<const std::byte> header) override {
    if (pwrite(file_.get(), header.data(), header.size(), static_cast<off_t>(at)) !=
        static_cast<ssize_t>(header.size())) {
      fail("writing a header");
    }
    persist();
  }

  void read_header(std::uint64_t at, std::span<std::byte> header) override {
    if (pread(file_.get(), header.data(), header.size(), static_cast<off_t>(at)) !=
        static_cast<ssize_t>(header.size())) {
      fail("reading a header");
    }
  }

  std::uint64_t drop_cached() override {
    const Descriptor file(wish_.file->open(O_RDWR | O_CLOEXEC));
    return forget_cached(file.get(), wish_.file->size).value_or(0);
  }

  void observe(nlohmann::ordered_json& evidence) const override {
    nlohmann::ordered_json& found = evidence["checkpoint"];
    found["medium"] = "file";
    found["durable_by"] = wish_.direct ? "O_DIRECT and fdatasync" : "fdatasync";
  }

 private:
  // Keeps as many operations in flight as the depth says. A lane has none in flight before and
  // after.
  void move(Lane& lane, const CheckpointState& state, BlockRange range, std::uint64_t at,
            bool write, const std::function<void(std::size_t)>& arrived) {
    std::vector<std::uint32_t> idle;
    for (std::size_t slot = 0; slot < wish_.depth; ++slot) {
      idle.push_back(static_cast<std::uint32_t>(slot));
    }
    std::size_t next = range.first;
    while (next < range.last || idle.size() < wish_.depth) {
      while (next < range.last && !idle.empty()) {
        const std::uint32_t slot = idle.back();
        idle.pop_back();
        submit(lane, state.blocks()[next], slot, at, write);
        lane.blocks[slot] = next++;
      }
      const std::size_t ended =
          lane.backend->reap(lane.done, 1, std::numeric_limits<double>::infinity());
      for (std::size_t i = 0; i < ended; ++i) {
        const Completion& one = lane.done[i];
        const std::size_t block = lane.blocks[one.slot];
        check(one, state.blocks()[block], at, write);
        arrived(block);
        idle.push_back(one.slot);
      }
    }
  }

  static void submit(Lane& lane, const CheckpointState::Block& block, std::uint32_t slot,
                     std::uint64_t at, bool write) {
    lane.slots[slot] = block.data;
    const IoRequest operation{.offset = at + block.offset,
                              .bytes = static_cast<std::uint32_t>(block.bytes),
                              .slot = slot,
                              .file = 0,
                              .write = write};
    lane.backend->submit({&operation, 1});
  }

  void check(const Completion& one, const CheckpointState::Block& block, std::uint64_t at,
             bool write) const {
    if (one.result == static_cast<std::int64_t>(block.bytes)) return;
    const std::string what =
        one.result < 0 ? std::strerror(static_cast<int>(-one.result))
                       : fmt::format("{} of {} bytes were moved", one.result, block.bytes);
    throw Failure(fmt::format("{}: {} at offset {} failed: {}", wish_.file->path,
                              write ? "writing" : "reading", at + block.offset, what),
                  Cause::kStorage);
  }

  [[noreturn]] void fail(const char* what) const {
    throw Failure(fmt::format("{}: {} failed: {}", wish_.file->path, what, std::strerror(errno)),
                  Cause::kStorage);
  }

  FileTargetWish wish_;
  Descriptor file_;
  std::vector<int> descriptors_;
  std::vector<std::uint64_t> sizes_;
  std::vector<Lane> lanes_;
};

}  // namespace

std::unique_ptr<CheckpointTarget> make_file_target(const FileTargetWish& wish) {
  return std::make_unique<FileTarget>(wish);
}

}  // namespace tierscope
