// Storage and a GPU by way of host memory.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>

#include "gpu/buffer.h"
#include "gpu/check.h"
#include "gpu/device.h"
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
  check_cuda(
      cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, stream.get()),
      "copying a block between host and GPU");
}

void wait_for(const Stream& stream) {
  check_cuda(cudaStreamSynchronize(stream.get()), "copying a block between host and GPU");
}

// Pinned host memory, one piece for each slot.
class Staging {
 public:
  Staging(int gpu, std::size_t slots, std::size_t bytes)
      : memory_(make_gpu_buffers({.gpu = gpu,
                                  .memory = "pinned",
                                  .count = slots,
                                  .bytes = bytes,
                                  .registered = false})) {}
  std::byte* slot(std::uint32_t number) const { return memory_->slots()[number]; }

 private:
  std::unique_ptr<GpuBuffers> memory_;
};

// One after the other.
class Staged : public SynchronousBackend {
 public:
  explicit Staged(const ThreadIo& io)
      : SynchronousBackend(io),
        staging_(io.gpu, 1, io.buffer_bytes),
        on_gpu_(io.gpu),
        stream_(make_stream(io.gpu)) {}

 private:
  std::int64_t carry_out(const IoRequest& operation) override {
    const int descriptor = io_.files[static_cast<std::size_t>(operation.file)];
    std::byte* const buffer = io_.buffers[operation.slot];
    if (operation.write) {
      copy(staging_.slot(0), buffer, operation.bytes, stream_);
      wait_for(stream_);
      return move(descriptor, operation, staging_.slot(0));
    }
    const std::int64_t moved = move(descriptor, operation, staging_.slot(0));
    copy(buffer, staging_.slot(0), moved, stream_);
    wait_for(stream_);
    return moved;
  }

  Staging staging_;
  OnGpu on_gpu_;
  Stream stream_;
};

// The copy of a block runs while the next one is read, or the one before it is written.
class StagedAsync : public Backend {
 public:
  explicit StagedAsync(const ThreadIo& io)
      : Backend(io), staging_(io.gpu, io.buffers.size(), io.buffer_bytes), on_gpu_(io.gpu) {
    for (std::size_t i = 0; i < io.buffers.size(); ++i) streams_.push_back(make_stream(io.gpu));
  }
  ~StagedAsync() override {
    for (const Started& one : started_) cudaStreamSynchronize(stream(one).get());
  }

  void submit(std::span<const IoRequest> operations) override {
    for (const IoRequest& operation : operations) {
      Started one{.operation = operation, .moved = operation.bytes};
      std::byte* const buffer = io_.buffers[operation.slot];
      std::byte* const staging = staging_.slot(operation.slot);
      if (operation.write) {
        copy(staging, buffer, operation.bytes, stream(one));
      } else {
        one.moved = move(descriptor(operation), operation, staging);
        copy(buffer, staging, one.moved, stream(one));
      }
      started_.push_back(one);
    }
  }

  // Copies end in the order in which they began, and take microseconds: there is no timeout.
  std::size_t reap(std::span<Completion> done, std::size_t least, double) override {
    std::size_t count = 0;
    while (count < done.size() && !started_.empty()) {
      Started& first = started_.front();
      if (count >= least && cudaStreamQuery(stream(first).get()) == cudaErrorNotReady) break;
      wait_for(stream(first));
      if (first.operation.write) {
        first.moved =
            move(descriptor(first.operation), first.operation, staging_.slot(first.operation.slot));
      }
      done[count++] = {.slot = first.operation.slot, .result = first.moved};
      started_.pop_front();
      if (count >= least && !started_.empty() && started_.front().operation.write) break;
    }
    return count;
  }

 private:
  struct Started {
    IoRequest operation;
    std::int64_t moved;
  };

  int descriptor(const IoRequest& operation) const {
    return io_.files[static_cast<std::size_t>(operation.file)];
  }
  const Stream& stream(const Started& one) const { return streams_[one.operation.slot]; }

  Staging staging_;
  OnGpu on_gpu_;
  std::vector<Stream> streams_;
  std::deque<Started> started_;
};

// Managed memory: the driver moves its pages to the host and back to the GPU.
class StagedManaged : public SynchronousBackend {
 public:
  explicit StagedManaged(const ThreadIo& io)
      : SynchronousBackend(io), on_gpu_(io.gpu), stream_(make_stream(io.gpu)) {}

 private:
  std::int64_t carry_out(const IoRequest& operation) override {
    std::byte* const buffer = io_.buffers[operation.slot];
    const cudaMemLocation host{.type = cudaMemLocationTypeHostNumaCurrent, .id = 0};
    const cudaMemLocation gpu{.type = cudaMemLocationTypeDevice, .id = io_.gpu};
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
