// Linux's older asynchronous I/O (io_submit and io_getevents), asynchronous for direct I/O only.
#include <fmt/format.h>
#include <libaio.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "errors.h"
#include "storage/backend.h"

namespace tierscope {
namespace {

// The head of the ring of completions that the kernel maps into the process (fs/aio.c). As long as
// the ring holds completions, they can be had without a system call.
struct Ring {
  unsigned id;
  unsigned count;
  unsigned head;
  unsigned tail;
  unsigned magic;
  unsigned compat_features;
  unsigned incompat_features;
  unsigned header_length;
  io_event events[];
};
constexpr unsigned kHasPriority = 1 << 1;  // IOCB_FLAG_IOPRIO of linux/aio_abi.h.
constexpr unsigned kRingMagic = 0xa10a10a1;

class LibAio : public Backend {
 public:
  explicit LibAio(const ThreadIo& io) : Backend(io), blocks_(io.buffers.size()) {
    pointers_.reserve(io.buffers.size());
    events_.resize(io.buffers.size());
    const int failed = io_setup(static_cast<int>(io.buffers.size()), &context_);
    if (failed != 0) {
      throw Unavailable(
          Cause::kStorage,
          fmt::format("io_setup refuses {} operations: {}", io.buffers.size(), strerror(-failed)),
          "raise /proc/sys/fs/aio-max-nr");
    }
  }
  ~LibAio() override { io_destroy(context_); }

  void submit(std::span<const IoRequest> operations) override {
    pointers_.clear();
    for (const IoRequest& operation : operations) {
      iocb& block = blocks_[operation.slot];
      const int fd = io_.files[static_cast<std::size_t>(operation.file)];
      const auto offset = static_cast<long long>(operation.offset);
      if (operation.write) {
        io_prep_pwrite(&block, fd, io_.buffers[operation.slot], operation.bytes, offset);
      } else {
        io_prep_pread(&block, fd, io_.buffers[operation.slot], operation.bytes, offset);
      }
      if (operation.priority != 0) {  // libaio has no function for it.
        block.u.c.flags |= kHasPriority;
        block.aio_reqprio = static_cast<short>(operation.priority);
      }
      pointers_.push_back(&block);
    }
    std::size_t done = 0;
    while (done < pointers_.size()) {
      const int accepted =
          io_submit(context_, static_cast<long>(pointers_.size() - done), pointers_.data() + done);
      if (accepted >= 0) {
        done += static_cast<std::size_t>(accepted);
      } else if (accepted == -EPERM && operations[done].priority != 0) {
        refuse_priority(operations[done].priority);
      } else if (accepted != -EAGAIN && accepted != -EINTR) {
        throw Failure(fmt::format("io_submit failed: {}", strerror(-accepted)), Cause::kStorage);
      }
    }
  }

  std::size_t reap(std::span<Completion> done, std::size_t least, double timeout_s) override {
    std::size_t count = from_ring(done);
    if (count >= least && count > 0) return count;
    timespec timeout{};
    const bool forever = !std::isfinite(timeout_s);
    if (!forever) {
      timeout.tv_sec = static_cast<time_t>(timeout_s);
      timeout.tv_nsec = static_cast<long>((timeout_s - std::floor(timeout_s)) * 1e9);
    }
    const auto wanted = static_cast<long>(least > count ? least - count : 0);
    const int got = io_getevents(context_, wanted, static_cast<long>(done.size() - count),
                                 events_.data(), forever ? nullptr : &timeout);
    if (got < 0 && got != -EINTR) {
      throw Failure(fmt::format("io_getevents failed: {}", strerror(-got)), Cause::kStorage);
    }
    for (int i = 0; i < got; ++i) done[count++] = of(events_[static_cast<std::size_t>(i)]);
    return count;
  }

 private:
  Completion of(const io_event& event) const {
    return {.slot = static_cast<std::uint32_t>(event.obj - blocks_.data()),
            .result = static_cast<std::int64_t>(static_cast<long>(event.res))};
  }

  std::size_t from_ring(std::span<Completion> done) {
    auto* const ring = reinterpret_cast<Ring*>(context_);
    if (ring->magic != kRingMagic) return 0;
    std::size_t count = 0;
    unsigned head = ring->head;
    while (count < done.size() && head != __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE)) {
      done[count++] = of(ring->events[head]);
      head = (head + 1) % ring->count;
    }
    __atomic_store_n(&ring->head, head, __ATOMIC_RELEASE);
    return count;
  }

  io_context_t context_ = nullptr;
  std::vector<iocb> blocks_;
  std::vector<iocb*> pointers_;
  std::vector<io_event> events_;
};

}  // namespace

std::unique_ptr<Backend> make_libaio(const ThreadIo& io) { return std::make_unique<LibAio>(io); }

}  // namespace tierscope
