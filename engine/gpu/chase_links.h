// The order in which a chase goes through its slots, as the CPU knows it. Pure.
#pragma once

#include <cstdint>
#include <vector>

namespace tierscope {

// next[i] is the slot after slot i; all slots are one cycle. Linear: in their order; else in a
// random one, the same each time, so that runs compare. Throws Failure where it is not a cycle.
std::vector<std::uint32_t> chase_links(std::uint32_t slots, bool linear);

// The slot that is `loads` links after slot `at`.
std::uint32_t follow_links(const std::vector<std::uint32_t>& next, std::uint32_t at,
                           std::uint32_t loads);

}  // namespace tierscope
