// What an operation does to cache lines. Included once for each instruction set by kernel_simd.cpp,
// so it has no include guard.
#include "access/targets.h"
// Keep this order: targets.h configures Highway's headers.
#include <hwy/highway.h>

#include "access/kernel.h"
#include "sizes.h"

HWY_BEFORE_NAMESPACE();
namespace tierscope::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
constexpr std::size_t kLineDoubles = kCacheLine / sizeof(double);
constexpr std::size_t kUnroll = 8;  // Lines an iteration: enough independent registers.

using Tag = hn::CappedTag<double, kLineDoubles>;
using Vector = hn::Vec<Tag>;

template <class AnyVector>
HWY_INLINE void keep(AnyVector value) {
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

// The same of a read or a write by instructions of kDoubles doubles each, or of as many as the
// widest registers have.
template <Operation kOperation, std::size_t kDoubles>
HWY_INLINE void operate_narrow(const Walk& walk, std::size_t i) {
  static_assert(kOperation == Operation::kRead || kOperation == Operation::kWrite);
  const hn::CappedTag<double, kDoubles> tag;
  const std::size_t lanes = hn::Lanes(tag);
#pragma GCC unroll 8
  for (std::size_t step = 0; step < kLineDoubles; step += lanes) {
    if constexpr (kOperation == Operation::kRead) {
      keep(hn::Load(tag, walk.a + i + step));
    } else {
      hn::Store(hn::Set(tag, walk.scalar), tag, walk.a + i + step);
      asm volatile("" : : : "memory");  // Or the compiler makes one wide store of several.
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

}  // namespace
}  // namespace tierscope::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
