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

// A build may compile each instruction set by itself, to finish sooner.
#if !defined(TIERSCOPE_KERNEL_TARGET) || HWY_TARGET == TIERSCOPE_KERNEL_TARGET

// These need what is above, and are compiled for each instruction set as this file is.
#include "access/kernel_lines-inl.h"
// Behind it.
#include "access/kernel_addresses-inl.h"
#include "access/kernel_scan-inl.h"
#include "sizes.h"

HWY_BEFORE_NAMESPACE();
namespace tierscope::HWY_NAMESPACE {
namespace {

template <Operation kOperation>
void walk_sequential(const Walk& shared, Position& position, std::uint64_t count) {
  const Walk walk = shared;  // A copy, which no store to the arrays can alias.
  const Vector scalar = hn::Set(Tag(), walk.scalar);
  std::uint64_t left = count * walk.access_size;
  std::uint64_t offset = position.offset;
  while (left > 0) {
    const std::uint64_t stretch = HWY_MIN(left, walk.bytes - offset);
    stream_lines<kOperation>(walk, scalar, offset / sizeof(double), stretch / kCacheLine);
    offset += stretch;
    if (offset == walk.bytes) offset = 0;
    left -= stretch;
  }
  position.offset = offset;
}

// The same with the line's bytes in narrow accesses.
template <Operation kOperation, std::size_t kDoubles>
void walk_narrow(const Walk& shared, Position& position, std::uint64_t count) {
  const Walk walk = shared;
  std::uint64_t offset = position.offset;
  for (std::uint64_t lines = count * (walk.access_size / kCacheLine); lines > 0; --lines) {
    operate_narrow<kOperation, kDoubles>(walk, offset / sizeof(double));
    offset += kCacheLine;
    if (offset == walk.bytes) offset = 0;
  }
  position.offset = offset;
}

template <Operation kOperation>
constexpr std::array<Kernel, 3> narrow_row() {
  return {walk_narrow<kOperation, 1>, walk_narrow<kOperation, 2>, walk_narrow<kOperation, 4>};
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
  const std::size_t lines = walk.access_size / kCacheLine;
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
    const std::size_t lines = walk.access_size / kCacheLine;
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
    if (write) [[unlikely]] {  // This layout of the loop is the faster one.
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
  const RandomOrder random(walk.accesses());
  const Vector scalar = hn::Set(Tag(), walk.scalar);
  Position at = position;
  for (; count > 0; --count) {
    std::uint64_t offset = at.offset;
    if constexpr (kOrder == Order::kRandom) {
      offset = random.next(at.state) * walk.access_size;
    } else if constexpr (kOrder == Order::kZipf) {
      offset = walk.zipf->next(at.state) * walk.access_size;
    } else {
      at.offset = offset + walk.access_size == walk.bytes ? 0 : offset + walk.access_size;
    }
    touch_lines<kStores>(walk, mix, scalar, offset / sizeof(double), at.owed);
    spin(mix.delay);
  }
  position = at;
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
  if (is_short(walk.access_size / kCacheLine)) {
    for_each_access<kOrder, true>(walk, position, count, use);
  } else {
    for_each_access<kOrder, false>(walk, position, count, use);
  }
}

template <Operation kOperation>
constexpr KernelRow row() {
  return {walk_sequential<kOperation>, walk_scattered<kOperation, Order::kReverse>,
          walk_scattered<kOperation, Order::kStrided>, walk_scattered<kOperation, Order::kRandom>,
          walk_scattered<kOperation, Order::kZipf>};
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
       make_addresses<Order::kRandom>, make_addresses<Order::kZipf>},
      {narrow_row<Operation::kRead>(), narrow_row<Operation::kWrite>()},
      {mixed_row<Stores::kOrdinary>(), mixed_row<Stores::kStreaming>(),
       mixed_row<Stores::kWriteBack>(), mixed_row<Stores::kFlush>()},
      {{{scan_column<std::uint32_t, false>, scan_column<std::uint32_t, true>},
        {scan_column<std::uint64_t, false>, scan_column<std::uint64_t, true>}}}};
  return table;
}

}  // namespace tierscope::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
