// Random order made in registers: no address array, every block visited.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace tierscope {

// Multiplier: Steele and Vigna, "Computationally easy, spectrally good multipliers", 2021.
inline constexpr std::uint64_t kRandomMultiplier = 0xd1342543de82ef95ULL;
inline constexpr std::uint64_t kRandomIncrement = 0x9e3779b97f4a7c15ULL;

// Multipliers and increments that take a state 1, 2, ... 8 steps further at once.
struct RandomLeaps {
  alignas(64) std::uint64_t multipliers[8];
  alignas(64) std::uint64_t increments[8];
};

inline constexpr RandomLeaps kRandomLeaps = [] {
  RandomLeaps leaps{};
  std::uint64_t multiplier = 1;
  std::uint64_t increment = 0;
  for (int step = 0; step < 8; ++step) {
    multiplier *= kRandomMultiplier;
    increment = increment * kRandomMultiplier + kRandomIncrement;
    leaps.multipliers[step] = multiplier;
    leaps.increments[step] = increment;
  }
  return leaps;
}();

// A generator of block numbers 0..blocks-1 in random order.
//
// The state is a linear congruential generator modulo 2^bits with full period (Hull and Dobell,
// SIAM Review 4, 1962: odd increment, multiplier 1 modulo 4). Its low bits alone would repeat
// soon, so they are mixed with the high ones by x ^ (x >> bits/2), which is one-to-one, and the
// result is scaled to `blocks` by a multiplication. In one period of 2^bits steps, 2^bits being
// the smallest power of two >= blocks, every block comes once or twice (exactly once where
// `blocks` is a power of two).
struct RandomOrder {
  explicit RandomOrder(std::uint64_t block_count)
      : blocks(block_count),
        bits(std::max(1U, static_cast<unsigned>(std::bit_width(block_count - 1)))),
        mask((std::uint64_t{1} << bits) - 1) {}

  std::uint64_t period() const { return mask + 1; }
  unsigned mixing_shift() const { return (bits + 1) / 2; }

  // Block number for the state, which moves on by one step.
  std::uint64_t next(std::uint64_t& state) const {
    state = (state * kRandomMultiplier + kRandomIncrement) & mask;
    const std::uint64_t mixed = state ^ (state >> mixing_shift());
    return static_cast<std::uint64_t>(
        (static_cast<unsigned __int128>(mixed << (64 - bits)) * blocks) >> 64);
  }

  std::uint64_t blocks;
  unsigned bits;
  std::uint64_t mask;
};

}  // namespace tierscope
