// Skewed random order: few blocks get most of the accesses, made in registers and 1 KiB of table.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "access/random_order.h"

namespace tierscope {

// A generator of block numbers 0..blocks-1 in which the block of rank r (from 1) comes with a
// probability that falls as r^-alpha, as Zipf's law has it.
//
// Ranks come by inverting the distribution function of the continuous law (a bounded Pareto
// distribution) with a table of its 256-quantiles, between which it is taken as straight; so each
// 256th of all accesses goes to the right ranks. Ranks are scattered over the blocks, so that hot
// blocks are not neighbours; two ranks may share a block where `blocks` is not a power of two.
class ZipfOrder {
 public:
  // alpha > 0.
  ZipfOrder(std::uint64_t blocks, double alpha) : scatter_(blocks) {
    const double n = static_cast<double>(blocks);
    for (std::size_t i = 0; i <= kQuantiles; ++i) {
      const double share = static_cast<double>(i) / kQuantiles;
      const double power = 1 - alpha;
      const double rank = std::abs(power) < 1e-9
                              ? std::pow(n + 1, share)
                              : std::pow(1 + share * (std::pow(n + 1, power) - 1), 1 / power);
      const double last = n * (1 - 1e-12);
      ranks_[i] = static_cast<float>(std::fmin(rank - 1, last));
    }
  }

  // Rank, from 0, of the block that the state stands for; the state moves on by one step.
  std::uint64_t next_rank(std::uint64_t& state) const {
    state = state * 0xd1342543de82ef95ULL + 0x9e3779b97f4a7c15ULL;
    const std::uint64_t index = state >> (64 - kQuantileBits);
    const auto fraction = static_cast<float>(static_cast<std::uint32_t>(state >> 32) & kFraction) /
                          static_cast<float>(kFraction + 1);
    const float rank = ranks_[index] + fraction * (ranks_[index + 1] - ranks_[index]);
    const auto whole = static_cast<std::uint64_t>(rank);
    return whole < scatter_.blocks ? whole : scatter_.blocks - 1;
  }

  // Block number for the state.
  std::uint64_t next(std::uint64_t& state) const {
    std::uint64_t rank = next_rank(state);
    return scatter_.next(rank);
  }

 private:
  static constexpr unsigned kQuantileBits = 8;
  static constexpr std::size_t kQuantiles = 1U << kQuantileBits;
  static constexpr std::uint32_t kFraction = (1U << (32 - kQuantileBits)) - 1;

  RandomOrder scatter_;
  std::array<float, kQuantiles + 1> ranks_{};
};

}  // namespace tierscope
