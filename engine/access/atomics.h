// Atomic updates of 64-bit counters, one in each cache line.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "access/random_order.h"
#include "sizes.h"

namespace tierscope {

enum class Atomic { kFetchAndAdd, kCompareAndSwap };

// Adds one to `count` counters, each in a line of its own of the `lines` at `base`, in random
// order. A compare-and-swap that another thread was faster than is tried again until it succeeds,
// so that both kinds make the same updates; returns the tries.
template <Atomic kKind>
std::uint64_t update_counters(std::byte* base, std::uint64_t lines, std::uint64_t& state,
                              std::uint64_t count) {
  const RandomOrder order(lines);
  std::uint64_t at = state;
  std::uint64_t tries = 0;
  for (; count > 0; --count) {
    std::uint64_t& value = *reinterpret_cast<std::uint64_t*>(base + order.next(at) * kCacheLine);
    const std::atomic_ref<std::uint64_t> counter(value);
    if constexpr (kKind == Atomic::kFetchAndAdd) {
      counter.fetch_add(1, std::memory_order_acq_rel);
      ++tries;
    } else {
      std::uint64_t expected = counter.load(std::memory_order_relaxed);
      do {
        ++tries;
      } while (!counter.compare_exchange_strong(expected, expected + 1, std::memory_order_acq_rel));
    }
  }
  state = at;
  return tries;
}

}  // namespace tierscope
