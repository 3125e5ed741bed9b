// Storage whose data goes to a GPU or comes from it: what engine/gpu gives those who measure
// storage. In a build without CUDA everything here throws Unavailable (gpu/none.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/backend.h"
#include "storage/cell.h"

namespace tierscope {

// By cuFile; ThreadIo::buffers are GpuBuffers::slots() of one GpuBuffers.
std::unique_ptr<Backend> make_cufile(const ThreadIo& io);         // cuFileRead, cuFileWrite.
std::unique_ptr<Backend> make_cufile_stream(const ThreadIo& io);  // A stream for each operation.
std::unique_ptr<Backend> make_cufile_batch(const ThreadIo& io);   // A batch for each submission.
std::unique_ptr<Backend> make_cufile_batch_stream(const ThreadIo& io);  // A stream for each one.
// Through host memory: pread, then a copy to the GPU; for writes the other way round.
std::unique_ptr<Backend> make_staged(const ThreadIo& io);
std::unique_ptr<Backend> make_staged_async(const ThreadIo& io);    // Copies while it reads on.
std::unique_ptr<Backend> make_staged_managed(const ThreadIo& io);  // The driver moves the pages.

// Buffers of one thread. `memory` is device (cuMemAlloc), vmm (cuMemCreate), pinned
// (cuMemHostAlloc), plain (malloc) or managed (cuMemAllocManaged).
struct GpuBuffersWish {
  int gpu;
  std::string memory;
  std::size_t count;  // Slots.
  std::size_t bytes;  // Of each of them.
  bool registered;    // By cuFileBufRegister, which starts cuFile.
};

class GpuBuffers {
 public:
  GpuBuffers() = default;
  virtual ~GpuBuffers() = default;
  GpuBuffers(const GpuBuffers&) = delete;
  GpuBuffers& operator=(const GpuBuffers&) = delete;

  std::span<std::byte* const> slots() const { return slots_; }

  // Between a slot and host memory, for contents and their verification; waits. Throws Failure.
  virtual void copy_out(std::size_t slot, std::span<std::byte> to) const = 0;
  virtual void copy_in(std::size_t slot, std::span<const std::byte> from) = 0;

  // Whether the first `bytes` of a slot are the expected cells, checked by the GPU; waits. Nothing
  // where the slots are host memory, which the CPU checks faster. Throws Failure.
  virtual std::optional<bool> are_cells(std::size_t slot, std::size_t bytes,
                                        const ExpectedCells& expected) const = 0;

 protected:
  std::vector<std::byte*> slots_;
};

// Throws Unavailable where there is no such GPU, too little memory, or no cuFile to register with.
std::unique_ptr<GpuBuffers> make_gpu_buffers(const GpuBuffersWish& wish);

// What moved the data of a repetition, seen from its making, or restart(), on.
class GpuIoWatch {
 public:
  GpuIoWatch() = default;
  virtual ~GpuIoWatch() = default;
  GpuIoWatch(const GpuIoWatch&) = delete;
  GpuIoWatch& operator=(const GpuIoWatch&) = delete;

  // Forgets what was seen so far; call when the first sample begins.
  virtual void restart() = 0;
  // Call when the last sample has ended.
  virtual void stop() = 0;
  // After stop(): adds gpus, pcie, cufile, storage_io.ways and notes to `evidence`. `require` is
  // p2p, nvfs, gpudirect (p2p or nvfs), odirect or nothing; `direct`: files were opened with
  // O_DIRECT. Throws Failure (Cause::kPath) where operations went another way, or nobody counted
  // which way they went.
  virtual void report(nlohmann::ordered_json& evidence, std::string_view require, bool direct) = 0;
};

// Of `backend`, one of the above, and the GPUs that take part. The watch keeps off a CPU that
// measures. Throws Unavailable where there is no such GPU.
std::unique_ptr<GpuIoWatch> watch_gpu_io(const std::vector<int>& gpus, std::string_view backend,
                                         int measuring_cpu);

}  // namespace tierscope
