// A pointer chase: dependent loads through one cycle that visits every cache line of a region.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tierscope {

enum class ChaseOrder {
  kRandom,      // Random order over the whole region.
  kPageRandom,  // Random order inside a group of 64 ordinary pages, one group after the other in
                // random order: each TLB fill serves many loads (multichase's "page-grouped").
};

inline constexpr std::size_t kMaxChases = 32;

// Where chases enter a cycle: so many of its links, evenly spaced. 960 is a multiple of most counts
// of chases, so that their entries are evenly spaced, too. A shorter cycle has links more than
// once.
using ChaseEntries = std::array<void**, 960>;

// Links the lines of `region` into one cycle and returns where to enter it.
//
// The region is cut into slots of `stride` bytes (a multiple of 64; a rest at the end that fills no
// slot is left out). The cycle goes through all slots in random order at their first line, then
// through all slots in another order at their second line, and so on: successive loads never touch
// neighbouring lines, which adjacent-line prefetchers would bring along; the whole region is
// walked, so its size is what a cache must hold; and the order does not repeat before stride / 64
// passes, which temporal prefetchers would learn (see docs/method.md).
ChaseEntries link_chase(std::span<std::byte> region, std::size_t stride, ChaseOrder order);

// Loads that the cycle through `bytes` consists of.
std::uint64_t chase_length(std::size_t bytes, std::size_t stride);

// Follows `loads` links (rounded up to a multiple of kChaseUnroll) and returns where that leads.
inline constexpr std::uint64_t kChaseUnroll = 64;
void** follow_chase(void** start, std::uint64_t loads);

// Follows `loads` links (rounded up likewise) of each of 1 to kMaxChases chases at once: one load
// of each in turn, none of which waits for another chase's. `at` moves on.
//
// The loop holds the chases' places in registers as far as there are any, on x86-64 those of 14
// chases. It keeps the others on the stack, so that each of their loads takes one more load and a
// store, which the L1 cache serves (docs/method.md says what that costs).
void follow_chases(std::span<void**> at, std::uint64_t loads);

}  // namespace tierscope
