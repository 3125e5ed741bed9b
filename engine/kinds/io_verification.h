// Whether blocks that a job of input and output read and wrote are what they have to be.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kinds/io_memory.h"
#include "storage/backend.h"
#include "storage/target_files.h"

namespace tierscope {

// The blocks that one thread wrote in a repetition: all of them, or a random sample.
class WrittenBlocks {
 public:
  void clear();
  void note(const IoRequest& block, bool all);

  std::uint64_t writes() const { return writes_; }
  // Those that are known, each once, by file and offset.
  std::span<const IoRequest> distinct();

 private:
  std::vector<IoRequest> known_;
  std::uint64_t writes_ = 0;
  std::uint64_t random_ = 0;
};

class IoVerification {
 public:
  // `cell_bytes` is that of what is written (contents.h); 0: it has no headers.
  // `duplicates`: they have some that name no place (duplicates.h).
  IoVerification(const TargetFiles& files, std::uint32_t cell_bytes, bool duplicates = false)
      : files_(files), cell_bytes_(cell_bytes), duplicates_(duplicates) {}

  std::uint32_t cell_bytes() const { return cell_bytes_; }

  // A repetition begins: its writes are of `generation`, and have other images.
  void begin(std::uint64_t generation);
  // What one of the buffers writes where writes have no headers.
  void add_image(std::span<const std::byte> block);
  // Before each write, where writes have headers.
  void stamp(std::span<std::byte> block, const IoRequest& where) const;

  // Throws Failure where a buffer does not hold what anybody may have written there. Returns
  // whether the GPU that has the buffer checked it; the CPU then tells what is wrong only.
  bool check_read(const IoMemory& buffers, std::size_t slot, const IoRequest& where) const;
  // Reads blocks that were written in this repetition, of these open files; throws Failure where
  // one is not what was written. `block_bytes` is the size of the largest one.
  void read_back(std::span<const IoRequest> blocks, std::span<const int> files,
                 std::size_t block_bytes) const;

 private:
  std::uint32_t number_of(int file) const;
  void check(std::span<const std::byte> block, const IoRequest& where,
             std::uint64_t min_generation) const;
  void check_cells(std::span<const std::byte> block, const IoRequest& where) const;
  void check_image(std::span<const std::byte> block, const IoRequest& where) const;

  const TargetFiles& files_;
  std::uint32_t cell_bytes_;
  bool duplicates_;
  std::uint64_t generation_ = 0;
  std::vector<std::uint64_t> images_;  // Hashes.
};

}  // namespace tierscope
