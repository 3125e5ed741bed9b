// Blocks that one thread writes, and what it does after each to have it persist.
//
// A word holds a key plus its number among the region's words, so that what a walk has written can
// be told from what others left there, whatever the order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "access/flush.h"
#include "access/random_order.h"
#include "sampling/histogram.h"

namespace tierscope {

// How a block is written: ordinary stores, or non-temporal ones; after it, each of its lines is
// flushed, and a fence waits for flushes and non-temporal stores. Without flush and fence nothing
// persists.
struct BlockWrite {
  bool non_temporal = false;
  Flush flush = Flush::kNone;  // Not of non-temporal stores, which leave no line in the cache.
  bool fence = false;

  // "16-byte stores, clwb of each line, sfence"
  std::string text() const;
};

// The blocks of a thread, in sequential order from the first again and again, or in random order.
class BlockWalk {
 public:
  // `base` lies `offset` bytes into the region; at least one block.
  BlockWalk(std::byte* base, std::size_t offset, std::size_t block_bytes, std::uint64_t blocks,
            bool random, std::uint64_t key);

  // The block that is next.
  std::byte* next() {
    ++taken_;
    if (random_) return base_ + order_.next(state_) * block_bytes_;
    std::byte* const at = base_ + position_;
    position_ += block_bytes_;
    if (position_ == bytes_) position_ = 0;
    return at;
  }

  // What the first word of the block at this place holds once it is written; the following words
  // hold the following numbers.
  std::uint64_t first_word(const std::byte* block) const {
    return key_ + (offset_ + static_cast<std::size_t>(block - base_)) / sizeof(std::uint64_t);
  }

  std::size_t offset() const { return offset_; }  // Of the first block in the region.
  std::size_t bytes() const { return bytes_; }    // Of all blocks.
  std::size_t block_bytes() const { return block_bytes_; }
  std::uint64_t taken() const { return taken_; }  // Blocks so far.

  // Calls `visit` with every `step`th of the blocks that were taken, in the order in which they
  // were taken first; returns how many these are.
  std::uint64_t revisit(std::uint64_t step,
                        const std::function<void(const std::byte* block)>& visit) const;

  // Compares these blocks; returns their bytes. Throws Failure (verification) at a wrong word.
  std::uint64_t compare(std::uint64_t step) const;

 private:
  std::byte* base_;
  std::size_t offset_;
  std::size_t block_bytes_;
  std::size_t bytes_;
  bool random_;
  RandomOrder order_;
  std::uint64_t key_;
  std::uint64_t state_ = 0;
  std::size_t position_ = 0;
  std::uint64_t taken_ = 0;
};

// Stores of one block, none of which persists by itself.
void store_block(const BlockWalk& walk, std::byte* block);

// Writes the next `count` blocks of the walk.
using WriteBlocks = std::function<void(BlockWalk& walk, std::uint64_t count)>;
// The same, each by itself; records the ns of each, until a fence after it has passed where the
// write has one. A duration holds write_timer_ns().
using TimeBlocks = std::function<void(BlockWalk& walk, std::uint64_t count, Histogram& ns)>;

struct BlockWriter {
  WriteBlocks write;
  TimeBlocks time;
};

// Throws Unavailable (isa) where this CPU lacks the instruction.
void require_flush(Flush flush);

// Throws as require_flush.
BlockWriter block_writer(const BlockWrite& how);

// A writer of operations that are no instructions: each takes blocks of the walk by itself.
BlockWriter block_writer(const std::function<void(BlockWalk& walk)>& operation);

// Median ns that the timer shows where nothing lies between its two readings.
double write_timer_ns();

}  // namespace tierscope
