// Storage and a GPU by way of host memory.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>

#include "gpu/buffer.h"
#include "gpu/check.h"
#include "gpu/device.h"
#include "gpu/driver_version.h"
#include "sampling/clock.h"
#include "storage/gpu_io.h"

namespace tierscope {
namespace {

// Bytes that were moved, or -errno.
std::int64_t move(int descriptor, const IoRequest& operation, std::byte* memory) {
  const auto offset = static_cast<off_t>(operation.offset);
  while (true) {
    const ssize_t moved = operation.write ? pwrite(descriptor, memory, operation.bytes, offset)
                                          : pread(descriptor, memory, operation.bytes, offset);
    if (moved >= 0) return moved;
    if (errno != EINTR) return -errno;
  }
}

void copy(std::byte* to, const std::byte* from, std::int64_t bytes, const Stream& stream) {
  if (bytes <= 0) return;
  check_cuda(cuda().cuMemcpyAsync(address_of(to), address_of(from), static_cast<std::size_t>(bytes),
                                  stream.get()),
             "copying a block between host and GPU");
}

void wait_for(const Stream& stream) {
  check_cuda(cuda().cuStreamSynchronize(stream.get()), "copying a block between host and GPU");
}

std::unique_ptr<GpuBuffers> make_staging(const ThreadIo& io, std::size_t slots) {
  return make_gpu_buffers({.gpu = io.gpu,
                           .memory = "pinned",
                           .count = slots,
                           .bytes = io.buffer_bytes,
                           .registered = false});
}

// One after the other.
class Staged : public SynchronousBackend {
 public:
  explicit Staged(const ThreadIo& io)
      : SynchronousBackend(io),
        staging_(make_staging(io, 1)),
        on_gpu_(io.gpu),
        stream_(make_stream(io.gpu)) {}

 private:
  std::int64_t carry_out(const IoRequest& operation) override {
    const int descriptor = io_.files[static_cast<std::size_t>(operation.file)];
    std::byte* const buffer = io_.buffers[operation.slot];
    std::byte* const here = staging_->slots().front();
    if (operation.write) {
      copy(here, buffer, operation.bytes, stream_);
      wait_for(stream_);
      return move(descriptor, operation, here);
    }
    const std::int64_t moved = move(descriptor, operation, here);
    copy(buffer, here, moved, stream_);
    wait_for(stream_);
    return moved;
  }

  std::unique_ptr<GpuBuffers> staging_;
  OnGpu on_gpu_;
  Stream stream_;
};

// Blocks are read by libaio, as many at once as there are slots, and each one's copy runs while
// others are read. Writes go the other way round. (io_uring is refused in many containers.)
class StagedAsync : public Backend {
 public:
  explicit StagedAsync(const ThreadIo& io)
      : Backend(io),
        staging_(make_staging(io, io.buffers.size())),
        storage_(make_libaio(on_host(io))),
        on_gpu_(io.gpu),
        requests_(io.buffers.size()),
        ended_(io.buffers.size()) {
    for (std::size_t i = 0; i < io.buffers.size(); ++i) streams_.push_back(make_stream(io.gpu));
  }
  ~StagedAsync() override {
    for (const Completion& one : copies_) cuda().cuStreamSynchronize(streams_[one.slot].get());
  }

  void submit(std::span<const IoRequest> operations) override {
    reads_.clear();
    for (const IoRequest& operation : operations) {
      requests_[operation.slot] = operation;
      if (operation.write) {
        start_copy({.slot = operation.slot, .result = operation.bytes});
      } else {
        reads_.push_back(operation);
      }
    }
    if (!reads_.empty()) hand_over(reads_);
  }

  std::size_t reap(std::span<Completion> done, std::size_t least, double timeout_s) override {
    std::size_t count = 0;
    const double until = now_seconds() + timeout_s;
    do {
      // Nothing to poll while nothing is copied: the kernel wakes this thread.
      const bool idle = copies_.empty() && count < least;
      count += from_storage(done.subspan(count), idle ? 1 : 0, idle ? until - now_seconds() : 0);
      count += from_copies(done.subspan(count));
    } while (count < least && now_seconds() < until);
    return count;
  }

 private:
  ThreadIo on_host(ThreadIo io) const {
    io.buffers = staging_->slots();
    io.gpu = -1;
    return io;
  }

  void hand_over(std::span<const IoRequest> operations) {
    storage_->submit(operations);
    in_storage_ += operations.size();
  }

  // `moved`: bytes of a block to copy, or -errno of its read, of which nothing is copied.
  void start_copy(const Completion& moved) {
    std::byte* const there = io_.buffers[moved.slot];
    std::byte* const here = staging_->slots()[moved.slot];
    const bool write = requests_[moved.slot].write;
    copy(write ? here : there, write ? there : here, moved.result, streams_[moved.slot]);
    copies_.push_back(moved);
  }

  // Writes that have ended; copies of reads that have ended begin.
  std::size_t from_storage(std::span<Completion> done, std::size_t least, double timeout_s) {
    if (in_storage_ == 0 || done.empty()) return 0;
    const std::size_t room = std::min(done.size(), ended_.size());
    const std::size_t ended = storage_->reap(std::span(ended_).first(room), least, timeout_s);
    in_storage_ -= ended;
    std::size_t count = 0;
    for (std::size_t i = 0; i < ended; ++i) {
      if (requests_[ended_[i].slot].write) {
        done[count++] = ended_[i];
      } else {
        start_copy(ended_[i]);
      }
    }
    return count;
  }

  // Reads whose copies have ended; writes of copies that have ended begin.
  std::size_t from_copies(std::span<Completion> done) {
    std::size_t count = 0;
    while (!copies_.empty() && count < done.size()) {
      const Completion first = copies_.front();
      const CUresult state = cuda().cuStreamQuery(streams_[first.slot].get());
      if (state == CUDA_ERROR_NOT_READY) break;
      check_cuda(state, "copying a block between host and GPU");
      copies_.pop_front();
      const IoRequest& operation = requests_[first.slot];
      if (operation.write) {
        hand_over({&operation, 1});
      } else {
        done[count++] = first;
      }
    }
    return count;
  }

  std::unique_ptr<GpuBuffers> staging_;
  std::unique_ptr<Backend> storage_;  // Between drive and staging; ends before that does.
  OnGpu on_gpu_;
  std::vector<Stream> streams_;
  std::vector<IoRequest> requests_;  // By slot.
  std::vector<IoRequest> reads_;
  std::vector<Completion> ended_;
  std::deque<Completion> copies_;  // In the order in which they began.
  std::size_t in_storage_ = 0;
};

// Managed memory: the driver moves its pages to the host and back to the GPU.
class StagedManaged : public SynchronousBackend {
 public:
  explicit StagedManaged(const ThreadIo& io)
      : SynchronousBackend(io), on_gpu_(io.gpu), stream_(make_stream(io.gpu)) {
    require_driver_of_host_nodes(cuda().version);
  }

 private:
  std::int64_t carry_out(const IoRequest& operation) override {
    std::byte* const buffer = io_.buffers[operation.slot];
    const CUmemLocation host{.type = CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, .id = 0};
    const CUmemLocation gpu{.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = io_.gpu};
    prefetch_managed(buffer, operation.bytes, host, stream_.get());
    wait_for(stream_);
    const int descriptor = io_.files[static_cast<std::size_t>(operation.file)];
    const std::int64_t moved = move(descriptor, operation, buffer);
    prefetch_managed(buffer, operation.bytes, gpu, stream_.get());
    wait_for(stream_);
    return moved;
  }

  OnGpu on_gpu_;
  Stream stream_;
};

}  // namespace

std::unique_ptr<Backend> make_staged(const ThreadIo& io) { return std::make_unique<Staged>(io); }
std::unique_ptr<Backend> make_staged_async(const ThreadIo& io) {
  return std::make_unique<StagedAsync>(io);
}
std::unique_ptr<Backend> make_staged_managed(const ThreadIo& io) {
  return std::make_unique<StagedManaged>(io);
}

}  // namespace tierscope
