// Where the accesses of an order go, several addresses at a time. Included once for each
// instruction set by kernel_simd.cpp, behind kernel_lines-inl.h, so it has no include guard.
#include "access/targets.h"
// Keep this order: targets.h configures Highway's headers.
#include <hwy/highway.h>

#include <optional>

#include "access/kernel.h"
#include "access/random_order.h"
#include "access/zipf_order.h"

HWY_BEFORE_NAMESPACE();
namespace tierscope::HWY_NAMESPACE {
namespace {

// Accesses that are one step apart.
struct Run {
  std::uint64_t i;     // Doubles from the arrays' beginning to the first one.
  std::uint64_t step;  // Doubles, modulo 2^64 where it goes back.
  std::uint64_t accesses;
};

// Order strided: how many accesses a pass has, known without a division for each.
struct Passes {
  explicit Passes(const Walk& walk)
      : accesses((walk.bytes - walk.access_size) / walk.stride + 1),
        rest((walk.bytes - walk.access_size) % walk.stride) {}

  std::uint64_t from(std::uint64_t phase) const { return accesses - (phase > rest ? 1 : 0); }

  std::uint64_t accesses;  // Of the pass from the array's beginning.
  std::uint64_t rest;      // Passes that begin behind it have one less.
};

// The next accesses of order reverse or strided, `max` at most; moves the position behind them.
template <Order kOrder>
HWY_INLINE Run next_run(const Walk& walk, const Passes* passes, Position& position,
                        std::uint64_t max) {
  if constexpr (kOrder == Order::kReverse) {
    if (position.offset == 0) position.offset = walk.bytes;
    const std::uint64_t access_doubles = walk.access_size / sizeof(double);
    const Run run{position.offset / sizeof(double) - access_doubles, -access_doubles,
                  HWY_MIN(max, position.offset / walk.access_size)};
    position.offset -= run.accesses * walk.access_size;
    return run;
  } else {
    const std::uint64_t passed = position.offset - position.phase;
    const std::uint64_t left =
        passes->from(position.phase) - (passed == 0 ? 0 : passed / walk.stride);
    const Run run{position.offset / sizeof(double), walk.stride / sizeof(double),
                  HWY_MIN(max, left)};
    position.offset += run.accesses * walk.stride;
    if (run.accesses == left) {
      // The next pass takes what this one jumped over, so that the whole array is walked.
      position.phase += walk.access_size;
      if (position.phase + walk.access_size > HWY_MIN(walk.stride, walk.bytes)) position.phase = 0;
      position.offset = position.phase;
    }
    return run;
  }
}

// Whether vectors of 64-bit lanes can multiply block numbers and access sizes.
HWY_INLINE bool is_narrow(const Walk& walk, const RandomOrder& random) {
  return ((random.blocks | walk.access_size) >> 32) == 0;
}

// The state after kUnroll steps.
HWY_INLINE std::uint64_t leap(std::uint64_t state) {
  return state * kRandomLeaps.multipliers[kUnroll - 1] + kRandomLeaps.increments[kUnroll - 1];
}

// Doubles from the arrays' beginning to the next kUnroll accesses of order random, in the order of
// RandomOrder::next(), whose state moves on by as many steps. Each comes from the same state by a
// leap of its own, so that none waits for the one before it. Takes is_narrow() walks only.
HWY_INLINE void next_random(const Walk& walk, const RandomOrder& random, std::uint64_t& state,
                            std::uint64_t* HWY_RESTRICT indices) {
  const std::uint64_t access_doubles = walk.access_size / sizeof(double);
  const hn::CappedTag<std::uint64_t, kUnroll> tag;
  const auto times = [](auto a, auto b) HWY_ATTR {
    const hn::RepartitionToNarrow<decltype(tag)> halves;
    return hn::MulEven(hn::BitCast(halves, a), hn::BitCast(halves, b));
  };
  const auto from = hn::Set(tag, state);
#pragma GCC unroll 4
  for (std::size_t k = 0; k < kUnroll; k += hn::Lanes(tag)) {
    const auto states = hn::And(hn::Add(times(from, hn::Load(tag, kRandomLeaps.multipliers + k)),
                                        hn::Load(tag, kRandomLeaps.increments + k)),
                                hn::Set(tag, random.mask));
    const auto mixed =
        hn::Xor(states, hn::ShiftRightSame(states, static_cast<int>(random.mixing_shift())));
    const auto blocks = hn::ShiftRightSame(times(mixed, hn::Set(tag, random.blocks)),
                                           static_cast<int>(random.bits));
    hn::Store(times(blocks, hn::Set(tag, access_doubles)), tag, indices + k);
  }
  state = leap(state);
}

// Calls `access` with the number of doubles from the arrays' beginning to each of the next `count`
// accesses in random order, and moves the position.
template <bool kUnrolled, typename Access>
HWY_INLINE void for_each_random(const Walk& walk, Position& position, std::uint64_t count,
                                const Access& access) {
  const RandomOrder random(walk.accesses());
  std::uint64_t state = position.state;
  if (count >= kUnroll && is_narrow(walk, random)) {
    // Made this far ahead, addresses are loaded from the cache and not from the store buffer, where
    // a load that needs an eighth of a vector waits.
    constexpr std::size_t kAhead = 8 * kUnroll;
    HWY_ALIGN std::uint64_t ring[kAhead];
    std::uint64_t ahead = state;
    for (std::size_t k = 0; k < kAhead; k += kUnroll) next_random(walk, random, ahead, ring + k);
    for (std::size_t at = 0; count >= kUnroll; count -= kUnroll, at = (at + kUnroll) % kAhead) {
      if constexpr (kUnrolled) {
#pragma GCC unroll 8
        for (std::size_t k = 0; k < kUnroll; ++k) access(ring[at + k]);
      } else {
#pragma GCC unroll 1
        for (std::size_t k = 0; k < kUnroll; ++k) access(ring[at + k]);
      }
      next_random(walk, random, ahead, ring + at);
      state = leap(state);
    }
  }
  for (; count > 0; --count) access(random.next(state) * (walk.access_size / sizeof(double)));
  position.state = state;
}

// The same in order reverse or strided.
template <Order kOrder, bool kUnrolled, typename Access>
HWY_INLINE void for_each_in_runs(const Walk& walk, Position& position, std::uint64_t count,
                                 const Access& access) {
  Position at = position;
  std::optional<Passes> passes;
  if constexpr (kOrder == Order::kStrided) passes.emplace(walk);
  while (count > 0) {
    Run run = next_run<kOrder>(walk, passes ? &*passes : nullptr, at, count);
    count -= run.accesses;
    if constexpr (kUnrolled) {
      // Out of the compiler's sight, or it makes one chain of additions of all addresses.
      std::uint64_t steps = kUnroll * run.step;
      asm volatile("" : "+r"(steps));
      for (; run.accesses >= kUnroll; run.accesses -= kUnroll) {
#pragma GCC unroll 8
        for (std::size_t k = 0; k < kUnroll; ++k) access(run.i + k * run.step);
        run.i += steps;
      }
    }
    for (; run.accesses > 0; --run.accesses) {
      access(run.i);
      run.i += run.step;
    }
  }
  position = at;
}

// The same in order zipf. Addresses are made as far ahead as those of order random are, so that
// The same in order zipf.
template <bool kUnrolled, typename Access>
HWY_INLINE void for_each_zipf(const Walk& walk, Position& position, std::uint64_t count,
                              const Access& access) {
  const ZipfOrder zipf = *walk.zipf;
  const std::uint64_t access_doubles = walk.access_size / sizeof(double);
  std::uint64_t state = position.state;
  if constexpr (kUnrolled) {
    for (; count >= kUnroll; count -= kUnroll) {
      std::uint64_t indices[kUnroll];
#pragma GCC unroll 8
      for (std::uint64_t& index : indices) index = zipf.next(state) * access_doubles;
#pragma GCC unroll 8
      for (const std::uint64_t index : indices) access(index);
    }
  }
  for (; count > 0; --count) access(zipf.next(state) * access_doubles);
  position.state = state;
}

// The same in any order but sequential. kUnrolled where `access` is short.
template <Order kOrder, bool kUnrolled, typename Access>
HWY_INLINE void for_each_access(const Walk& walk, Position& position, std::uint64_t count,
                                const Access& access) {
  if constexpr (kOrder == Order::kRandom) {
    for_each_random<kUnrolled>(walk, position, count, access);
  } else if constexpr (kOrder == Order::kZipf) {
    for_each_zipf<kUnrolled>(walk, position, count, access);
  } else {
    for_each_in_runs<kOrder, kUnrolled>(walk, position, count, access);
  }
}

}  // namespace
}  // namespace tierscope::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
