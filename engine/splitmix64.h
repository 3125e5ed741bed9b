// SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
#pragma once

#include <cstdint>

namespace tierscope {

inline constexpr std::uint64_t kSplitMix64Step = 0x9e3779b97f4a7c15ULL;

// Mixes a word so that each bit of the result depends on all bits of it.
constexpr std::uint64_t splitmix64_mixed(std::uint64_t word) {
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ULL;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebULL;
  return word ^ (word >> 31);
}

// The generator's next number.
constexpr std::uint64_t splitmix64(std::uint64_t& state) {
  return splitmix64_mixed(state += kSplitMix64Step);
}

}  // namespace tierscope
