// Threads' shares of what a structure holds.
#pragma once

#include "database/keys.h"

namespace tierscope::database {

// Share number `share` of `shares` even ones of 0..count-1; the last one has what is left over.
constexpr Ranks share_of(std::uint64_t count, std::uint64_t shares, std::uint64_t share) {
  const std::uint64_t each = count / shares;
  return {each * share, share + 1 == shares ? count - each * share : each};
}

constexpr std::size_t in_whole_lines(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

// What a part takes that an option leaves unused: memory is leased for each part.
inline constexpr std::size_t kUnusedPart = 64;

}  // namespace tierscope::database
