#include "gpu/stream_arrays.h"

namespace tierscope::stream_kernels {

constexpr double kBefore = -1.0;

__device__ double c_at(std::size_t i) { return static_cast<double>(i % 512 + 2); }

__device__ std::size_t thread_index() { return std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ std::size_t thread_count() { return std::size_t{gridDim.x} * blockDim.x; }

// One number a warp goes to memory, not one a thread.
__device__ void add_up(unsigned long long value, unsigned long long* total) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(~0U, value, step);
  if (threadIdx.x % 32 == 0 && value != 0) atomicAdd(total, value);
}

__device__ unsigned long long bits_of(double2 pair) {
  return static_cast<unsigned long long>(__double_as_longlong(pair.x)) +
         static_cast<unsigned long long>(__double_as_longlong(pair.y));
}

// What the operation writes at one place; not for reads.
template <GpuOperation kOperation>
__device__ double2 result_of(double2 b, double2 c) {
  if constexpr (kOperation == GpuOperation::kWrite) return {kStreamScalar, kStreamScalar};
  if constexpr (kOperation == GpuOperation::kScale) {
    return {kStreamScalar * b.x, kStreamScalar * b.y};
  }
  if constexpr (kOperation == GpuOperation::kAdd) return {b.x + c.x, b.y + c.y};
  if constexpr (kOperation == GpuOperation::kTriad) {
    return {b.x + kStreamScalar * c.x, b.y + kStreamScalar * c.y};
  }
  return b;
}

// Works on kCount pairs, `stride` apart: all loads before the first store.
template <GpuOperation kOperation, int kCount>
__device__ void work_on(double2* a, const double2* b, const double2* c, std::size_t i,
                        std::size_t stride, unsigned long long& sum) {
  constexpr bool kLoadsB = kOperation != GpuOperation::kWrite;
  constexpr bool kLoadsC = kOperation == GpuOperation::kAdd || kOperation == GpuOperation::kTriad;
  double2 from_b[kCount] = {};
  double2 from_c[kCount] = {};
#pragma unroll
  for (int k = 0; k < kCount; ++k) {
    // From L2, never L1: a thread comes back to the same places in every pass.
    if constexpr (kLoadsB) from_b[k] = __ldcg(b + i + k * stride);
    if constexpr (kLoadsC) from_c[k] = __ldcg(c + i + k * stride);
  }
#pragma unroll
  for (int k = 0; k < kCount; ++k) {
    if constexpr (kOperation == GpuOperation::kRead) {
      sum += bits_of(from_b[k]);
    } else {
      a[i + k * stride] = result_of<kOperation>(from_b[k], from_c[k]);
    }
  }
}

template <GpuOperation kOperation>
__device__ void stream_pairs(StreamArrays arrays, int passes) {
  auto* a = reinterpret_cast<double2*>(arrays.a);
  const auto* b = reinterpret_cast<const double2*>(arrays.b);
  const auto* c = reinterpret_cast<const double2*>(arrays.c);
  const std::size_t pairs = arrays.count / 2;
  const std::size_t threads = thread_count();
  unsigned long long sum = 0;
  for (int pass = 0; pass < passes; ++pass) {
    std::size_t i = thread_index();
    for (; i + (kUnroll - 1) * threads < pairs; i += kUnroll * threads) {
      work_on<kOperation, kUnroll>(a, b, c, i, threads, sum);
    }
    for (; i < pairs; i += threads) work_on<kOperation, 1>(a, b, c, i, threads, sum);
    asm volatile("" ::: "memory");  // Each pass loads and stores anew.
  }
  if constexpr (kOperation == GpuOperation::kRead) add_up(sum, arrays.sum);
}

// MurmurHash3's finaliser: one-to-one and quick.
__device__ unsigned mix(unsigned x) {
  x = (x ^ (x >> 16)) * 0x85ebca6bU;
  x = (x ^ (x >> 13)) * 0xc2b2ae35U;
  return x ^ (x >> 16);
}

// Neighbouring threads share an access of access_size bytes; where it goes is hashed. What is read
// there must be the place's own number, and *sum counts where it is not.
extern "C" __global__ void __launch_bounds__(kThreads)
    stream_random(StreamArrays arrays, int passes) {
  const auto* places = reinterpret_cast<const ulonglong2*>(arrays.a);
  const auto group = static_cast<unsigned>(arrays.access_size / sizeof(ulonglong2));
  const std::size_t pairs = arrays.count / 2;
  const auto slots = static_cast<unsigned>(pairs / group);
  const std::size_t threads = thread_count();
  const unsigned lane = threadIdx.x % group;
  unsigned long long wrong = 0;
  for (int pass = 0; pass < passes; ++pass) {
    const unsigned salt = mix(static_cast<unsigned>(arrays.seed) + static_cast<unsigned>(pass));
    const auto place_of = [&](std::size_t i) {
      const unsigned hash = mix(static_cast<unsigned>(i / group) ^ salt);
      return std::size_t{__umulhi(hash, slots)} * group + lane;
    };
    std::size_t i = thread_index();
    const std::size_t end = std::size_t{slots} * group;
    for (; i + (kUnroll - 1) * threads < end; i += kUnroll * threads) {
      ulonglong2 found[kUnroll];
      std::size_t place[kUnroll];
#pragma unroll
      for (int k = 0; k < kUnroll; ++k) {
        place[k] = place_of(i + k * threads);
        found[k] = __ldcg(places + place[k]);
      }
#pragma unroll
      for (int k = 0; k < kUnroll; ++k) wrong += found[k].x != place[k];
    }
    for (; i < end; i += threads) wrong += __ldcg(places + place_of(i)).x != place_of(i);
  }
  add_up(wrong, arrays.sum);
}

extern "C" __global__ void stream_fill(StreamArrays arrays, bool with_c) {
  for (std::size_t i = thread_index(); i < arrays.count; i += thread_count()) {
    if (arrays.a != nullptr) arrays.a[i] = kBefore;
    if (arrays.b != nullptr) arrays.b[i] = b_at(i);
    if (with_c) arrays.c[i] = c_at(i);
  }
}

extern "C" __global__ void stream_fill_places(StreamArrays arrays) {
  auto* places = reinterpret_cast<ulonglong2*>(arrays.a);
  for (std::size_t i = thread_index(); i < arrays.count / 2; i += thread_count()) {
    places[i] = {i, ~i};
  }
}

template <GpuOperation kOperation>
__device__ void compare(StreamArrays arrays, unsigned long long* wrong) {
  unsigned long long found = 0;
  for (std::size_t i = thread_index(); i < arrays.count; i += thread_count()) {
    const double2 expected = result_of<kOperation>({b_at(i), 0}, {c_at(i), 0});
    found += arrays.a[i] != expected.x;
  }
  add_up(found, wrong);
}

#define TIERSCOPE_READING(name, operation)                 \
  extern "C" __global__ void __launch_bounds__(kThreads)   \
      stream_##name(StreamArrays arrays, int passes) {     \
    stream_pairs<GpuOperation::operation>(arrays, passes); \
  }
#define TIERSCOPE_WRITING(name, operation)                                                    \
  TIERSCOPE_READING(name, operation)                                                          \
  extern "C" __global__ void compare_##name(StreamArrays arrays, unsigned long long* wrong) { \
    compare<GpuOperation::operation>(arrays, wrong);                                          \
  }
TIERSCOPE_READING(read, kRead)
TIERSCOPE_WRITING(write, kWrite)
TIERSCOPE_WRITING(copy, kCopy)
TIERSCOPE_WRITING(scale, kScale)
TIERSCOPE_WRITING(add, kAdd)
TIERSCOPE_WRITING(triad, kTriad)

}  // namespace tierscope::stream_kernels
