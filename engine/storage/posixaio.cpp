// POSIX asynchronous I/O, which the C library carries out by threads of its own: one for each file
// at a time.
#include <aio.h>
#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <cstring>

#include "errors.h"
#include "storage/backend.h"

namespace tierscope {
namespace {

class PosixAio : public Backend {
 public:
  explicit PosixAio(const ThreadIo& io) : Backend(io), blocks_(io.buffers.size()) {
    pending_.reserve(io.buffers.size());
  }
  ~PosixAio() override {
    for (const aiocb* const block : pending_) {
      while (aio_error(block) == EINPROGRESS) aio_suspend(&block, 1, nullptr);
    }
  }

  void submit(std::span<const IoRequest> operations) override {
    for (const IoRequest& operation : operations) {
      aiocb& block = blocks_[operation.slot];
      block = {};
      block.aio_fildes = io_.files[static_cast<std::size_t>(operation.file)];
      block.aio_offset = static_cast<off_t>(operation.offset);
      block.aio_buf = io_.buffers[operation.slot];
      block.aio_nbytes = operation.bytes;
      block.aio_sigevent.sigev_notify = SIGEV_NONE;
      if ((operation.write ? aio_write(&block) : aio_read(&block)) != 0) {
        throw Failure(fmt::format("{} failed: {}", operation.write ? "aio_write" : "aio_read",
                                  strerror(errno)),
                      Cause::kStorage);
      }
      pending_.push_back(&block);
    }
  }

  std::size_t reap(std::span<Completion> done, std::size_t least, double timeout_s) override {
    std::size_t count = take(done);
    timespec timeout{};
    const bool forever = !std::isfinite(timeout_s);
    if (!forever) {
      timeout.tv_sec = static_cast<time_t>(timeout_s);
      timeout.tv_nsec = static_cast<long>((timeout_s - std::floor(timeout_s)) * 1e9);
    }
    while (count < least) {
      const int failed = aio_suspend(pending_.data(), static_cast<int>(pending_.size()),
                                     forever ? nullptr : &timeout);
      if (failed != 0 && errno == EAGAIN) break;
      if (failed != 0 && errno != EINTR) {
        throw Failure(fmt::format("aio_suspend failed: {}", strerror(errno)), Cause::kStorage);
      }
      count += take(done.subspan(count));
    }
    return count;
  }

 private:
  std::size_t take(std::span<Completion> done) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < pending_.size() && count < done.size();) {
      const int state = aio_error(pending_[i]);
      if (state == EINPROGRESS) {
        ++i;
        continue;
      }
      aiocb& block = const_cast<aiocb&>(*pending_[i]);
      const ssize_t moved = aio_return(&block);
      done[count++] = {.slot = static_cast<std::uint32_t>(&block - blocks_.data()),
                       .result = state == 0 ? std::int64_t{moved} : -std::int64_t{state}};
      pending_[i] = pending_.back();
      pending_.pop_back();
    }
    return count;
  }

  std::vector<aiocb> blocks_;          // By slot.
  std::vector<const aiocb*> pending_;  // As aio_suspend takes them.
};

}  // namespace

std::unique_ptr<Backend> make_posixaio(const ThreadIo& io) {
  return std::make_unique<PosixAio>(io);
}

}  // namespace tierscope
