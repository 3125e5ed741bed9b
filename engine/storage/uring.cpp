// io_uring: operations and completions in rings that the kernel and the thread share.
#include <fmt/format.h>
#include <liburing.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "errors.h"
#include "storage/backend.h"

namespace tierscope {
namespace {

constexpr unsigned kIdleMs = 1000;  // After which the kernel's submission thread goes to sleep.

[[noreturn]] void refuse(const char* what, int error) {
  const char* const remedy =
      error == EPERM ? "set /proc/sys/kernel/io_uring_disabled to 0, or run outside the container"
      : error == ENOMEM ? "raise `ulimit -l`"
                        : "";
  throw Unavailable(Cause::kStorage, fmt::format("{}: {}", what, strerror(error)), remedy);
}

class Uring : public Backend {
 public:
  explicit Uring(const ThreadIo& io) : Backend(io) {
    io_uring_params parameters{};
    if (io.sqpoll) parameters.flags |= IORING_SETUP_SQPOLL;
    if (io.iopoll) parameters.flags |= IORING_SETUP_IOPOLL;
    parameters.sq_thread_idle = kIdleMs;
    open_ring(parameters);
    try {
      register_wanted();
    } catch (...) {
      io_uring_queue_exit(&ring_);
      throw;
    }
  }
  ~Uring() override { io_uring_queue_exit(&ring_); }

  void submit(std::span<const IoRequest> operations) override {
    for (const IoRequest& operation : operations) prepare(operation);
    std::size_t left = operations.size();
    while (left > 0) {
      const int accepted = io_uring_submit(&ring_);
      if (accepted >= 0) {
        if (io_.sqpoll) return;
        left -= std::min(left, static_cast<std::size_t>(accepted));
      } else if (accepted != -EAGAIN && accepted != -EBUSY && accepted != -EINTR) {
        throw Failure(fmt::format("io_uring_enter failed: {}", strerror(-accepted)),
                      Cause::kStorage);
      }
    }
  }

  std::size_t reap(std::span<Completion> done, std::size_t least, double timeout_s) override {
    std::size_t count = take(done);
    while (count < least) {
      if (!wait(static_cast<unsigned>(least - count), timeout_s)) break;
      count += take(done.subspan(count));
    }
    return count;
  }

 private:
  void open_ring(io_uring_params& parameters) {
    const auto entries = static_cast<unsigned>(io_.buffers.size());
    // Both flags make completions cheaper where one thread uses the ring (Linux 6.1); older kernels
    // say EINVAL.
    const bool plain = !io_.sqpoll && !io_.iopoll;
    const unsigned own = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
    if (plain) parameters.flags |= own;
    int failed = io_uring_queue_init_params(entries, &ring_, &parameters);
    if (failed == -EINVAL && plain) {
      parameters.flags &= ~own;
      failed = io_uring_queue_init_params(entries, &ring_, &parameters);
    }
    if (failed == -ENOSYS) refuse("this kernel has no io_uring", ENOSYS);
    if (failed < 0) refuse("io_uring cannot be set up", -failed);
  }

  void register_wanted() {
    if (io_.registered_buffers) {
      std::vector<iovec> vectors;
      for (std::byte* const buffer : io_.buffers) vectors.push_back({buffer, io_.buffer_bytes});
      const int failed =
          io_uring_register_buffers(&ring_, vectors.data(), static_cast<unsigned>(vectors.size()));
      if (failed < 0) refuse("io_uring cannot register the buffers", -failed);
    }
    if (io_.registered_files) {
      const int failed = io_uring_register_files(&ring_, io_.files.data(),
                                                 static_cast<unsigned>(io_.files.size()));
      if (failed < 0) refuse("io_uring cannot register the files", -failed);
    }
    // Saves looking the ring up at each system call (Linux 5.18).
    if (io_.registered_buffers || io_.registered_files) io_uring_register_ring_fd(&ring_);
  }

  void prepare(const IoRequest& operation) {
    io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
    const int file =
        io_.registered_files ? operation.file : io_.files[static_cast<std::size_t>(operation.file)];
    std::byte* const buffer = io_.buffers[operation.slot];
    const auto slot = static_cast<int>(operation.slot);
    if (io_.registered_buffers && operation.write) {
      io_uring_prep_write_fixed(entry, file, buffer, operation.bytes, operation.offset, slot);
    } else if (io_.registered_buffers) {
      io_uring_prep_read_fixed(entry, file, buffer, operation.bytes, operation.offset, slot);
    } else if (operation.write) {
      io_uring_prep_write(entry, file, buffer, operation.bytes, operation.offset);
    } else {
      io_uring_prep_read(entry, file, buffer, operation.bytes, operation.offset);
    }
    if (io_.registered_files) io_uring_sqe_set_flags(entry, IOSQE_FIXED_FILE);
    if (operation.priority != 0) entry->ioprio = operation.priority;
    io_uring_sqe_set_data64(entry, operation.slot);
  }

  std::size_t take(std::span<Completion> done) {
    std::size_t count = 0;
    unsigned head = 0;
    io_uring_cqe* entry = nullptr;
    io_uring_for_each_cqe(&ring_, head, entry) {
      if (count == done.size()) break;
      done[count++] = {.slot = static_cast<std::uint32_t>(entry->user_data), .result = entry->res};
    }
    io_uring_cq_advance(&ring_, static_cast<unsigned>(count));
    return count;
  }

  // False where the time ran out.
  bool wait(unsigned count, double timeout_s) {
    io_uring_cqe* entry = nullptr;
    int failed = 0;
    if (std::isfinite(timeout_s)) {
      __kernel_timespec timeout{};
      timeout.tv_sec = static_cast<long long>(timeout_s);
      timeout.tv_nsec = static_cast<long long>((timeout_s - std::floor(timeout_s)) * 1e9);
      failed = io_uring_wait_cqes(&ring_, &entry, count, &timeout, nullptr);
    } else {
      failed = io_uring_wait_cqe_nr(&ring_, &entry, count);
    }
    if (failed == 0 || failed == -EINTR) return true;
    if (failed == -ETIME || failed == -EAGAIN) return false;
    throw Failure(fmt::format("waiting for completions failed: {}", strerror(-failed)),
                  Cause::kStorage);
  }

  io_uring ring_{};
};

}  // namespace

std::unique_ptr<Backend> make_io_uring(const ThreadIo& io) { return std::make_unique<Uring>(io); }

}  // namespace tierscope
