// The state that checkpoints save: what a program has computed, in host memory or in a GPU's.
//
// It consists of cells (storage/contents.h). Each carries its offset in the state, the state's
// generation and checksums (XXH3), so that a state that was read back proves itself: one cell of
// another generation, of another place, or cut in the middle shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/gpu_io.h"

namespace tierscope {

class CheckpointState {
 public:
  // What is saved and read back as one.
  struct Block {
    std::byte* data;  // May be a GPU's memory.
    std::uint64_t offset;
    std::size_t bytes;  // A multiple of kCellBytes.
  };

  // In host memory of the caller's.
  CheckpointState(std::span<std::byte> memory, std::size_t block_bytes);
  // In a GPU's memory, allocated as GpuBuffersWish says. Throws Unavailable.
  CheckpointState(const GpuBuffersWish& wish, std::uint64_t bytes);

  std::span<const Block> blocks() const { return blocks_; }
  std::uint64_t bytes() const;
  bool on_gpu() const { return gpu_ != nullptr; }

  // Each of these works on one block, and may run in several threads for different blocks.

  // Random data, of no generation yet.
  void fill(std::size_t block);
  // The cells become those of this generation and file.
  void change(std::size_t block, std::uint32_t file, std::uint64_t generation);
  // The cells are none any more, so that what is not read back cannot be right.
  void forget(std::size_t block);
  // What is wrong with the block, in one line; nothing where all of it is of just this generation.
  std::optional<std::string> wrong(std::size_t block, std::uint32_t file,
                                   std::uint64_t generation) const;
  // Between a block and host memory; waits.
  void copy_out(std::size_t block, std::byte* to) const;
  void copy_in(std::size_t block, const std::byte* from);

 private:
  void edit(std::size_t block, const std::function<void(std::span<std::byte>)>& work);

  std::unique_ptr<GpuBuffers> gpu_;
  std::vector<Block> blocks_;
};

}  // namespace tierscope
