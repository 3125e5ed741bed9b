// What BabelStream's operations and random reads work on; for the host and for GPUs.
//
// Arrays are double pairs. b holds b(i) = i % 1024 + 1, c holds c(i) = i % 512 + 2: small whole
// numbers, so that every result is exact.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tierscope {

enum class GpuOperation { kRead, kWrite, kCopy, kScale, kAdd, kTriad, kRandom };

struct StreamArrays {
  double* a;
  double* b;
  double* c;
  std::size_t count;        // Doubles in each, a multiple of 2.
  unsigned long long* sum;  // Memory of the GPU; what reads add up, or count as wrong.
  std::size_t access_size;  // Random reads: bytes that one reads at once.
  std::uint64_t seed;       // Random reads: another seed, another order.
};

inline constexpr double kStreamScalar = 3.0;

// How the kernels are written, and so launched.
namespace stream_kernels {
inline constexpr int kThreads = 512;
inline constexpr int kUnroll = 4;

inline double b_at(std::size_t i) { return static_cast<double>(i % 1024 + 1); }
}  // namespace stream_kernels

}  // namespace tierscope
