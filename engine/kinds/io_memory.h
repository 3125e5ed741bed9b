// Buffers of one thread of input and output, and their contents as the CPU sees them.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/gpu_io.h"

namespace tierscope {

// Throws Unavailable for what gives wrong data: with cuFile 1.15.1 in compatibility mode, reads of
// batches were said to have ended before their data was in host memory, and the process crashed.
void refuse_unsound(const BackendKind& backend, const std::string& memory);

class IoMemory {
 public:
  // In host memory from `first` on, `stride` bytes from one slot to the next.
  void place(std::byte* first, std::size_t slots, std::size_t stride);
  // Beside a GPU, once: registering them again takes longer than a repetition. Throws Unavailable.
  void place_beside_gpu(const GpuBuffersWish& wish);

  std::span<std::byte* const> slots() const { return slots_; }

  // Contents that the CPU may change; send() takes them to a buffer that is a GPU's.
  std::span<std::byte> block(std::size_t slot, std::size_t bytes) const;
  void send(std::size_t slot, std::size_t bytes) const;
  // What is in the buffer.
  std::span<std::byte> fetch(std::size_t slot, std::size_t bytes) const;
  // As GpuBuffers::are_cells; nothing without a GPU.
  std::optional<bool> are_cells(std::size_t slot, std::size_t bytes,
                                const ExpectedCells& expected) const;

 private:
  std::vector<std::byte*> slots_;
  std::unique_ptr<GpuBuffers> gpu_;
  std::unique_ptr<GpuBuffers> mirror_;  // Pinned host memory, a block for each of the GPU's.
};

}  // namespace tierscope
