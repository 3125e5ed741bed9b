// Compiled once for each instruction set by Highway's foreach_target; see kernel.h.
//
// A loop here holds the accesses, the arithmetic of the operation and the loop's own counter:
// a load whose value nobody needs is kept alive by an empty asm statement that takes it in a
// register, so nothing is added up and nothing is stored.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "access/kernel_simd.cpp"
#include "access/targets.h"
// Keep this order: foreach_target re-includes this file before highway.h is seen.
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <optional>

#include "access/kernel.h"
#include "access/random_order.h"
#include "access/target_table.h"
#include "access/write_back.h"
#include "access/zipf_order.h"

HWY_BEFORE_NAMESPACE();
namespace tierscope::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kLine = 64;
constexpr std::size_t kLineDoubles = kLine / sizeof(double);
constexpr std::size_t kUnroll = 8;  // Lines an iteration: enough independent registers.

using Tag = hn::CappedTag<double, kLineDoubles>;
using Vector = hn::Vec<Tag>;

HWY_INLINE void keep(Vector value) {
#if HWY_TARGET == HWY_SVE || HWY_TARGET == HWY_SVE2
  asm volatile("" : : "w"(value));
#elif HWY_ARCH_ARM
  asm volatile("" : : "w"(value.raw));
#else
  asm volatile("" : : "v"(value.raw));
#endif
}

constexpr bool is_streaming(Operation operation) {
  return operation == Operation::kWriteNt || operation == Operation::kCopyNt ||
         operation == Operation::kScaleNt || operation == Operation::kAddNt ||
         operation == Operation::kTriadNt;
}

// What the operation makes of the vectors at double number i of the arrays.
template <Operation kOperation>
HWY_INLINE Vector result_at(const Walk& walk, Vector scalar, std::size_t i) {
  const Tag tag;
  if constexpr (kOperation == Operation::kRead) {
    return hn::Load(tag, walk.a + i);
  } else if constexpr (kOperation == Operation::kWrite || kOperation == Operation::kWriteNt) {
    return scalar;
  } else if constexpr (kOperation == Operation::kCopy || kOperation == Operation::kCopyNt) {
    return hn::Load(tag, walk.b + i);
  } else if constexpr (kOperation == Operation::kScale || kOperation == Operation::kScaleNt) {
    return hn::Mul(scalar, hn::Load(tag, walk.b + i));
  } else if constexpr (kOperation == Operation::kAdd || kOperation == Operation::kAddNt) {
    return hn::Add(hn::Load(tag, walk.b + i), hn::Load(tag, walk.c + i));
  } else if constexpr (kOperation == Operation::kTriad || kOperation == Operation::kTriadNt) {
    return hn::MulAdd(scalar, hn::Load(tag, walk.c + i), hn::Load(tag, walk.b + i));
  } else {
    static_assert(kOperation == Operation::kRmw);
    return hn::Add(scalar, hn::Load(tag, walk.a + i));
  }
}

#if HWY_TARGET == HWY_NEON
// Highway's Stream is an ordinary store here. STNP is the only non-temporal store of NEON, and it
// takes two registers.
HWY_INLINE void stream_pair(Vector first, Vector second, double* at) {
  asm volatile("stnp %q0, %q1, [%2]" : : "w"(first.raw), "w"(second.raw), "r"(at) : "memory");
}
#endif

// The operation on the cache line at double number i of the arrays.
template <Operation kOperation>
HWY_INLINE void operate(const Walk& walk, Vector scalar, std::size_t i) {
  const std::size_t lanes = hn::Lanes(Tag());
#if HWY_TARGET == HWY_NEON
  if constexpr (is_streaming(kOperation)) {
#pragma GCC unroll 4
    for (std::size_t step = 0; step < kLineDoubles; step += 2 * lanes) {
      const Vector first = result_at<kOperation>(walk, scalar, i + step);
      const Vector second = result_at<kOperation>(walk, scalar, i + step + lanes);
      stream_pair(first, second, walk.a + i + step);
    }
    return;
  }
#endif
#pragma GCC unroll 4
  for (std::size_t step = 0; step < kLineDoubles; step += lanes) {
    const Vector result = result_at<kOperation>(walk, scalar, i + step);
    if constexpr (kOperation == Operation::kRead) {
      keep(result);
    } else if constexpr (is_streaming(kOperation)) {
      hn::Stream(result, Tag(), walk.a + i + step);
    } else {
      hn::Store(result, Tag(), walk.a + i + step);
    }
  }
}

// `lines` cache lines from double number i on, in ascending order.
template <Operation kOperation>
HWY_INLINE void stream_lines(const Walk& walk, Vector scalar, std::size_t i, std::size_t lines) {
  const std::size_t end = i + lines * kLineDoubles;
  const std::size_t unrolled_end = i + lines / kUnroll * kUnroll * kLineDoubles;
  while (i != unrolled_end) {
#pragma GCC unroll 8
    for (std::size_t line = 0; line < kUnroll; ++line) {
      operate<kOperation>(walk, scalar, i + line * kLineDoubles);
    }
    i += kUnroll * kLineDoubles;
  }
  for (; i != end; i += kLineDoubles) operate<kOperation>(walk, scalar, i);
}

template <Operation kOperation>
void walk_sequential(const Walk& shared, Position& position, std::uint64_t count) {
  const Walk walk = shared;  // A copy, which no store to the arrays can alias.
  const Vector scalar = hn::Set(Tag(), walk.scalar);
  std::uint64_t left = count * walk.access_size;
  std::uint64_t offset = position.offset;
  while (left > 0) {
    const std::uint64_t stretch = HWY_MIN(left, walk.bytes - offset);
    stream_lines<kOperation>(walk, scalar, offset / sizeof(double), stretch / kLine);
    offset += stretch;
    if (offset == walk.bytes) offset = 0;
    left -= stretch;
  }
  position.offset = offset;
}

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

// The same in any order but sequential. kUnrolled where `access` is short.
template <Order kOrder, bool kUnrolled, typename Access>
HWY_INLINE void for_each_access(const Walk& walk, Position& position, std::uint64_t count,
                                const Access& access) {
  if constexpr (kOrder == Order::kRandom) {
    for_each_random<kUnrolled>(walk, position, count, access);
  } else {
    for_each_in_runs<kOrder, kUnrolled>(walk, position, count, access);
  }
}

// Whether accesses of so many lines are worth unrolling.
constexpr bool is_short(std::size_t lines) { return lines <= 2; }

// Accesses of kLines lines each.
template <Operation kOperation, Order kOrder, std::size_t kLines>
HWY_INLINE void walk_lines(const Walk& walk, Position& position, std::uint64_t count) {
  const Vector scalar = hn::Set(Tag(), walk.scalar);
  for_each_access<kOrder, is_short(kLines)>(walk, position, count, [&](std::size_t i) HWY_ATTR {
#pragma GCC unroll 8
    for (std::size_t line = 0; line < kLines; ++line) {
      operate<kOperation>(walk, scalar, i + line * kLineDoubles);
    }
  });
}

template <Operation kOperation, Order kOrder>
void walk_scattered(const Walk& shared, Position& position, std::uint64_t count) {
  const Walk walk = shared;
  const std::size_t lines = walk.access_size / kLine;
  switch (lines) {
    case 1:
      return walk_lines<kOperation, kOrder, 1>(walk, position, count);
    case 2:
      return walk_lines<kOperation, kOrder, 2>(walk, position, count);
    case 4:
      return walk_lines<kOperation, kOrder, 4>(walk, position, count);
    default:
      const Vector scalar = hn::Set(Tag(), walk.scalar);
      for_each_access<kOrder, false>(walk, position, count, [&](std::size_t i) HWY_ATTR {
        stream_lines<kOperation>(walk, scalar, i, lines);
      });
  }
}

constexpr WriteBack write_back_of(Stores stores) {
  return stores == Stores::kWriteBack ? WriteBack::kKeep
         : stores == Stores::kFlush   ? WriteBack::kDrop
                                      : WriteBack::kNone;
}

// One access. Which line is written is decided by error diffusion, so that writes come as evenly as
// they can: every fourth of a 75:25 mix, never a run of them.
template <Stores kStores>
HWY_INLINE void touch_lines(const Walk& walk, const Mix& mix, Vector scalar, std::size_t begin,
                            int& owed) {
  constexpr WriteBack kBack = write_back_of(kStores);
  constexpr Operation kWrite =
      kStores == Stores::kStreaming ? Operation::kWriteNt : Operation::kWrite;
  const std::size_t end = begin + walk.access_size / sizeof(double);
  if (kBack == WriteBack::kNone && mix.prefetch == 0 && mix.writes % 100 == 0) {
    // Nothing to mix: the same loop as that of the plain operations.
    const std::size_t lines = walk.access_size / kLine;
    if (mix.writes == 0) {
      stream_lines<Operation::kRead>(walk, scalar, begin, lines);
    } else {
      stream_lines<kWrite>(walk, scalar, begin, lines);
    }
    return;
  }
  bool wrote = false;
  for (std::size_t line = begin; line != end; line += kLineDoubles) {
    if (mix.prefetch != 0) hwy::Prefetch(walk.a + line + mix.prefetch / sizeof(double));
    owed += mix.writes;
    const bool write = owed >= 100;
    if (write) owed -= 100;
    if (write) {
      operate<kWrite>(walk, scalar, line);
    } else {
      operate<Operation::kRead>(walk, scalar, line);
    }
    if (kBack != WriteBack::kNone && write) {
      write_back<kBack>(walk.a + line);
      wrote = true;
    }
  }
  if (kBack != WriteBack::kNone && wrote) write_back_fence();
}

template <Stores kStores, Order kOrder>
void walk_mixed(const Walk& shared, Position& position, std::uint64_t count,
                const Mix& shared_mix) {
  const Walk walk = shared;
  const Mix mix = shared_mix;
  const Vector scalar = hn::Set(Tag(), walk.scalar);
  int owed = position.owed;
  const auto access = [&](std::size_t i) HWY_ATTR {
    touch_lines<kStores>(walk, mix, scalar, i, owed);
    spin(mix.delay);
  };
  if constexpr (kOrder == Order::kRandom) {
    for_each_access<kOrder, false>(walk, position, count, access);
  } else {
    Position at = position;
    for (; count > 0; --count) {
      std::uint64_t offset = at.offset;
      if constexpr (kOrder == Order::kZipf) {
        offset = mix.zipf->next(at.state) * walk.access_size;
      } else {
        at.offset = offset + walk.access_size == walk.bytes ? 0 : offset + walk.access_size;
      }
      access(offset / sizeof(double));
    }
    position = at;
  }
  position.owed = owed;
}

template <Stores kStores>
constexpr std::array<MixedKernel, 3> mixed_row() {
  return {walk_mixed<kStores, Order::kSequential>, walk_mixed<kStores, Order::kRandom>,
          walk_mixed<kStores, Order::kZipf>};
}

template <Order kOrder>
void make_addresses(const Walk& shared, Position& position, std::uint64_t count) {
  const Walk walk = shared;
  // A memory operand, so that no instruction is needed that an access would not need.
  const auto use = [&](std::size_t i) HWY_ATTR { asm volatile("" : : "m"(walk.a[i])); };
  if (is_short(walk.access_size / kLine)) {
    for_each_access<kOrder, true>(walk, position, count, use);
  } else {
    for_each_access<kOrder, false>(walk, position, count, use);
  }
}

template <Operation kOperation>
constexpr KernelRow row() {
  return {walk_sequential<kOperation>, walk_scattered<kOperation, Order::kReverse>,
          walk_scattered<kOperation, Order::kStrided>, walk_scattered<kOperation, Order::kRandom>};
}

}  // namespace

const TargetTable& target_table() {
  static const TargetTable table = {
      HWY_TARGET,
      {row<Operation::kRead>(), row<Operation::kWrite>(), row<Operation::kWriteNt>(),
       row<Operation::kCopy>(), row<Operation::kCopyNt>(), row<Operation::kScale>(),
       row<Operation::kScaleNt>(), row<Operation::kAdd>(), row<Operation::kAddNt>(),
       row<Operation::kTriad>(), row<Operation::kTriadNt>(), row<Operation::kRmw>()},
      {nullptr, make_addresses<Order::kReverse>, make_addresses<Order::kStrided>,
       make_addresses<Order::kRandom>},
      {mixed_row<Stores::kOrdinary>(), mixed_row<Stores::kStreaming>(),
       mixed_row<Stores::kWriteBack>(), mixed_row<Stores::kFlush>()}};
  return table;
}

}  // namespace tierscope::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
