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

// The operation on the vector at double number i of the arrays.
template <Operation kOperation>
HWY_INLINE void operate(const Walk& walk, Vector scalar, std::size_t i) {
  const Tag tag;
  double* const a = walk.a;
  const double* const b = walk.b;
  const double* const c = walk.c;
  if constexpr (kOperation == Operation::kRead) {
    keep(hn::Load(tag, a + i));
  } else if constexpr (kOperation == Operation::kWrite) {
    hn::Store(scalar, tag, a + i);
  } else if constexpr (kOperation == Operation::kWriteNt) {
    hn::Stream(scalar, tag, a + i);
  } else if constexpr (kOperation == Operation::kCopy) {
    hn::Store(hn::Load(tag, b + i), tag, a + i);
  } else if constexpr (kOperation == Operation::kCopyNt) {
    hn::Stream(hn::Load(tag, b + i), tag, a + i);
  } else if constexpr (kOperation == Operation::kScale) {
    hn::Store(hn::Mul(scalar, hn::Load(tag, b + i)), tag, a + i);
  } else if constexpr (kOperation == Operation::kAdd) {
    hn::Store(hn::Add(hn::Load(tag, b + i), hn::Load(tag, c + i)), tag, a + i);
  } else if constexpr (kOperation == Operation::kTriad) {
    hn::Store(hn::MulAdd(scalar, hn::Load(tag, c + i), hn::Load(tag, b + i)), tag, a + i);
  } else {
    static_assert(kOperation == Operation::kRmw);
    hn::Store(hn::Add(scalar, hn::Load(tag, a + i)), tag, a + i);
  }
}

// `lines` cache lines from byte `offset` on, in ascending order.
template <Operation kOperation>
HWY_INLINE void stream_lines(const Walk& walk, Vector scalar, std::size_t offset,
                             std::size_t lines) {
  const std::size_t lanes = hn::Lanes(Tag());
  std::size_t i = offset / sizeof(double);
  const std::size_t end = i + lines * kLineDoubles;
  const std::size_t unrolled_end = i + lines / kUnroll * kUnroll * kLineDoubles;
  while (i != unrolled_end) {
#pragma GCC unroll 32
    for (std::size_t step = 0; step < kUnroll * kLineDoubles; step += lanes) {
      operate<kOperation>(walk, scalar, i + step);
    }
    i += kUnroll * kLineDoubles;
  }
  for (; i != end; i += lanes) operate<kOperation>(walk, scalar, i);
}

template <Operation kOperation>
void walk_sequential(const Walk& shared, Position& position, std::uint64_t count) {
  const Walk walk = shared;  // A copy, which no store to the arrays can alias.
  const Vector scalar = hn::Set(Tag(), walk.scalar);
  std::uint64_t left = count * walk.access_size;
  std::uint64_t offset = position.offset;
  while (left > 0) {
    const std::uint64_t stretch = HWY_MIN(left, walk.bytes - offset);
    stream_lines<kOperation>(walk, scalar, offset, stretch / kLine);
    offset += stretch;
    if (offset == walk.bytes) offset = 0;
    left -= stretch;
  }
  position.offset = offset;
}

// Where order `kOrder` goes next; moves the position.
template <Order kOrder>
HWY_INLINE std::uint64_t next_offset(const Walk& walk, const RandomOrder& random,
                                     Position& position) {
  if constexpr (kOrder == Order::kReverse) {
    if (position.offset == 0) position.offset = walk.bytes;
    position.offset -= walk.access_size;
    return position.offset;
  } else if constexpr (kOrder == Order::kStrided) {
    const std::uint64_t offset = position.offset;
    position.offset += walk.stride;
    if (position.offset + walk.access_size > walk.bytes) {
      // The next pass takes what this one jumped over, so that the whole array is walked.
      position.phase += walk.access_size;
      if (position.phase + walk.access_size > HWY_MIN(walk.stride, walk.bytes)) position.phase = 0;
      position.offset = position.phase;
    }
    return offset;
  } else {
    return random.next(position.state) * walk.access_size;
  }
}

template <Operation kOperation, Order kOrder>
void walk_scattered(const Walk& shared, Position& position, std::uint64_t count) {
  const Walk walk = shared;
  const RandomOrder random(walk.accesses());
  const Vector scalar = hn::Set(Tag(), walk.scalar);
  const std::size_t lanes = hn::Lanes(Tag());
  Position at = position;
  if (walk.access_size == kLine) {
    for (; count > 0; --count) {
      const std::size_t i = next_offset<kOrder>(walk, random, at) / sizeof(double);
#pragma GCC unroll 4
      for (std::size_t step = 0; step < kLineDoubles; step += lanes) {
        operate<kOperation>(walk, scalar, i + step);
      }
    }
  } else {
    const std::size_t lines = walk.access_size / kLine;
    for (; count > 0; --count) {
      stream_lines<kOperation>(walk, scalar, next_offset<kOrder>(walk, random, at), lines);
    }
  }
  position = at;
}

constexpr WriteBack write_back_of(Stores stores) {
  return stores == Stores::kWriteBack ? WriteBack::kKeep
         : stores == Stores::kFlush   ? WriteBack::kDrop
                                      : WriteBack::kNone;
}

// One access. Which line is written is decided by error diffusion, so that writes come as evenly as
// they can: every fourth of a 75:25 mix, never a run of them.
template <Stores kStores>
HWY_INLINE void touch_lines(const Walk& walk, const Mix& mix, Vector scalar, std::uint64_t offset,
                            int& owed) {
  constexpr WriteBack kBack = write_back_of(kStores);
  constexpr Operation kWrite =
      kStores == Stores::kStreaming ? Operation::kWriteNt : Operation::kWrite;
  const std::size_t lanes = hn::Lanes(Tag());
  const std::size_t begin = offset / sizeof(double);
  const std::size_t end = begin + walk.access_size / sizeof(double);
  if (kBack == WriteBack::kNone && mix.prefetch == 0 && mix.writes % 100 == 0) {
    // Nothing to mix: the same loop as that of the plain operations.
    const std::size_t lines = walk.access_size / kLine;
    if (mix.writes == 0) {
      stream_lines<Operation::kRead>(walk, scalar, offset, lines);
    } else {
      stream_lines<kWrite>(walk, scalar, offset, lines);
    }
    return;
  }
  bool wrote = false;
  for (std::size_t line = begin; line != end; line += kLineDoubles) {
    if (mix.prefetch != 0) hwy::Prefetch(walk.a + line + mix.prefetch / sizeof(double));
    owed += mix.writes;
    const bool write = owed >= 100;
    if (write) owed -= 100;
#pragma GCC unroll 4
    for (std::size_t step = 0; step < kLineDoubles; step += lanes) {
      if (write) {
        operate<kWrite>(walk, scalar, line + step);
      } else {
        operate<Operation::kRead>(walk, scalar, line + step);
      }
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
  const RandomOrder random(walk.accesses());
  const Vector scalar = hn::Set(Tag(), walk.scalar);
  Position at = position;
  for (; count > 0; --count) {
    std::uint64_t offset = at.offset;
    if constexpr (kOrder == Order::kRandom) {
      offset = next_offset<kOrder>(walk, random, at);
    } else if constexpr (kOrder == Order::kZipf) {
      offset = mix.zipf->next(at.state) * walk.access_size;
    } else {
      at.offset = offset + walk.access_size == walk.bytes ? 0 : offset + walk.access_size;
    }
    touch_lines<kStores>(walk, mix, scalar, offset, at.owed);
    spin(mix.delay);
  }
  position = at;
}

template <Stores kStores>
constexpr std::array<MixedKernel, 3> mixed_row() {
  return {walk_mixed<kStores, Order::kSequential>, walk_mixed<kStores, Order::kRandom>,
          walk_mixed<kStores, Order::kZipf>};
}

void make_addresses(const Walk& shared, Position& position, std::uint64_t count) {
  const Walk walk = shared;
  const RandomOrder random(walk.accesses());
  Position at = position;
  for (; count > 0; --count) {
    std::uint64_t offset = next_offset<Order::kRandom>(walk, random, at);
    asm volatile("" : "+r"(offset));
  }
  position = at;
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
       row<Operation::kAdd>(), row<Operation::kTriad>(), row<Operation::kRmw>()},
      make_addresses,
      {mixed_row<Stores::kOrdinary>(), mixed_row<Stores::kStreaming>(),
       mixed_row<Stores::kWriteBack>(), mixed_row<Stores::kFlush>()}};
  return table;
}

}  // namespace tierscope::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
