// A Bloom filter that looks at one cache line for a key: Putze, Sanders and Singler, "Cache-, hash-
// and space-efficient Bloom filters", JEA 14, 2009. About one in a hundred absent keys passes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "database/keys.h"
#include "protocol/constants.h"

namespace tierscope::database {

class BloomFilter {
 public:
  static constexpr std::uint64_t kBitsPerKey = tables::kOpsFilterBits;
  static constexpr int kProbes = 6;

  static std::size_t bytes(std::uint64_t keys) { return lines_for(keys) * 64; }

  BloomFilter() = default;
  // In bytes(keys) of memory, on a boundary of 64; empty where that is zero.
  BloomFilter(std::byte* memory, std::uint64_t keys)
      : words_(reinterpret_cast<std::uint64_t*>(memory)), lines_(lines_for(keys)) {}

  // Several threads may add at once.
  void add(std::uint64_t hashed) {
    std::uint64_t* const line = line_of(hashed);
    for_each_bit(hashed, [line](std::uint64_t bit) {
      std::atomic_ref(line[bit / 64])
          .fetch_or(std::uint64_t{1} << bit % 64, std::memory_order_relaxed);
    });
  }

  // False only of keys that were not added.
  bool may_hold(std::uint64_t hashed) const {
    const std::uint64_t* const line = line_of(hashed);
    std::uint64_t all = 1;
    for_each_bit(hashed, [&](std::uint64_t bit) { all &= line[bit / 64] >> bit % 64; });
    return (all & 1) != 0;
  }

 private:
  static std::uint64_t lines_for(std::uint64_t keys) { return (keys * kBitsPerKey + 511) / 512; }

  // The hash's high bits choose the line; nine of its mixed bits each of the probes' bits.
  std::uint64_t* line_of(std::uint64_t hashed) const { return words_ + scaled(hashed, lines_) * 8; }

  template <typename Use>
  static void for_each_bit(std::uint64_t hashed, const Use& use) {
    std::uint64_t bits = splitmix64_mixed(hashed);
    for (int probe = 0; probe < kProbes; ++probe, bits >>= 9) use(bits & 511);
  }

  std::uint64_t* words_ = nullptr;
  std::uint64_t lines_ = 0;
};

}  // namespace tierscope::database
