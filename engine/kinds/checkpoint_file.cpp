// Checkpoints in a file.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "errors.h"
#include "kinds/checkpoint_target.h"
#include "storage/in_flight.h"
#include "storage/page_cache.h"

namespace tierscope {
namespace {

class FileTarget : public CheckpointTarget {
 public:
  explicit FileTarget(const FileTargetWish& wish) : wish_(wish) {}
  ~FileTarget() override { FileTarget::close(); }

  void open() override {
    const int flags = O_RDWR | O_CLOEXEC | (wish_.direct ? O_DIRECT : 0);
    file_ = Descriptor(wish_.file->open(flags));
    lanes_.resize(wish_.threads);
  }

  void close() override {
    lanes_.clear();
    file_.reset();
  }

  void prepare(std::size_t thread) override {
    lanes_[thread] = std::make_unique<InFlight>(
        InFlightWish{.file = wish_.file,
                     .descriptor = file_.get(),
                     .backend = wish_.backend,
                     .buffers = std::vector<std::byte*>(wish_.depth),  // Blocks of the state.
                     .buffer_bytes = wish_.block_bytes,
                     .writes = true,
                     .direct = wish_.direct,
                     .gpu = wish_.gpu});
  }

  void write(std::size_t thread, const CheckpointState& state, BlockRange range,
             std::uint64_t at) override {
    move(*lanes_[thread], state, range, at, true, [](std::size_t) {});
  }

  void read(std::size_t thread, CheckpointState& state, BlockRange range, std::uint64_t at,
            const std::function<void(std::size_t)>& arrived) override {
    move(*lanes_[thread], state, range, at, false, arrived);
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
  static void move(InFlight& lane, const CheckpointState& state, BlockRange range, std::uint64_t at,
                   bool write, const std::function<void(std::size_t)>& arrived) {
    lane.carry_out(
        range.last - range.first,
        [&](std::size_t number, std::uint32_t) {
          const CheckpointState::Block& block = state.blocks()[range.first + number];
          return InFlight::Operation{.data = block.data,
                                     .offset = at + block.offset,
                                     .bytes = block.bytes,
                                     .write = write};
        },
        [&](std::size_t number, std::uint32_t) { arrived(range.first + number); });
  }

  [[noreturn]] void fail(const char* what) const {
    throw Failure(fmt::format("{}: {} failed: {}", wish_.file->path, what, std::strerror(errno)),
                  Cause::kStorage);
  }

  FileTargetWish wish_;
  Descriptor file_;
  std::vector<std::unique_ptr<InFlight>> lanes_;  // One for each thread.
};

}  // namespace

std::unique_ptr<CheckpointTarget> make_file_target(const FileTargetWish& wish) {
  return std::make_unique<FileTarget>(wish);
}

}  // namespace tierscope
