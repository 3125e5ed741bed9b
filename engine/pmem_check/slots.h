// A writer of two slots: each generation goes to the slot that does not count, and a word that is
// written at once (the selector) then makes it count. It is consistent if each flush and each fence
// is there, which is what it is for: leave one out, and a crash can show it.
#pragma once

#include <span>

#include "pmem_check/durable_memory.h"

namespace tierscope {

inline constexpr std::size_t kSlotWords = 4 * kLineWords;
inline constexpr std::size_t kSlotsWords =
    kLineWords + 2 * kSlotWords;  // The selector's line first.

enum class SlotsFault {
  kNone,
  kNoFlush,  // Nothing is flushed.
  kNoFence,  // The slot is flushed, and the selector written without waiting for that.
};

// Writes a generation, from 1 in steps of 1, and acknowledges it.
void write_slots(DurableMemory& memory, std::uint64_t generation, SlotsFault fault);

// The generation that counts, and whether each word of its slot is of it. Zeros are generation 0.
Survivor read_slots(std::span<const std::uint64_t> words);

}  // namespace tierscope
