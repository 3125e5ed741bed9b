#include "pmem_check/slots.h"

#include <fmt/format.h>

namespace tierscope {
namespace {

constexpr std::size_t kSelector = 0;

std::size_t slot_of(std::uint64_t generation) { return kLineWords + (generation % 2) * kSlotWords; }

}  // namespace

void write_slots(DurableMemory& memory, std::uint64_t generation, SlotsFault fault) {
  const std::size_t slot = slot_of(generation);
  for (std::size_t word = 0; word < kSlotWords; ++word) memory.store(slot + word, generation);
  if (fault != SlotsFault::kNoFlush) memory.flush(slot, kSlotWords);
  if (fault != SlotsFault::kNoFence) memory.fence();
  memory.store(kSelector, generation);
  if (fault != SlotsFault::kNoFlush) memory.flush(kSelector, 1);
  memory.fence();
  memory.acknowledge(generation);
}

Survivor read_slots(std::span<const std::uint64_t> words) {
  const std::uint64_t generation = words[kSelector];
  const std::size_t slot = slot_of(generation);
  for (std::size_t word = 0; word < kSlotWords; ++word) {
    const std::uint64_t found = words[slot + word];
    if (found == generation) continue;
    return {generation, fmt::format("generation {} counts, and word {} of its slot is of "
                                    "generation {}",
                                    generation, word, found)};
  }
  return {generation, ""};
}

}  // namespace tierscope
