#include "gpu/pattern.h"
#include "splitmix64.h"

namespace tierscope::pattern_kernels {

constexpr std::size_t kWord = sizeof(std::uint64_t);

// By SplitMix64's mixer, so that neighbouring words share no bytes.
__device__ std::uint64_t word_of(std::uint64_t index, std::uint64_t seed) {
  return splitmix64_mixed((index + 1) * kSplitMix64Step ^ seed * 0xd1342543de82ef95ULL);
}

__device__ unsigned char byte_of(std::uint64_t word, std::size_t at) {
  return static_cast<unsigned char>(word >> (8 * (at % kWord)));
}

__device__ unsigned char expected_byte(std::size_t at, const Pattern& pattern) {
  const bool inside =
      at >= pattern.offset && (at - pattern.offset) % pattern.pitch < pattern.row_bytes;
  return byte_of(word_of(at / kWord, inside ? pattern.seed : pattern.other), at);
}

__device__ std::uint64_t expected_word(std::size_t at, const Pattern& pattern) {
  if (pattern.row_bytes == pattern.pitch && at >= pattern.offset) {
    return word_of(at / kWord, pattern.seed);
  }
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < kWord; ++i) {
    word |= static_cast<std::uint64_t>(expected_byte(at + i, pattern)) << (8 * i);
  }
  return word;
}

extern "C" __global__ void pattern_fill(std::byte* data, std::size_t first, std::size_t bytes,
                                        Pattern pattern) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x * kWord;
  std::size_t at = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) * kWord;
  for (; at < bytes; at += step) {
    const std::uint64_t word = expected_word(first + at, pattern);
    if (at + kWord <= bytes) {
      *reinterpret_cast<std::uint64_t*>(data + at) = word;
    } else {
      for (std::size_t i = at; i < bytes; ++i) {
        data[i] = static_cast<std::byte>(byte_of(word, first + i));
      }
    }
  }
}

extern "C" __global__ void pattern_compare(const std::byte* data, std::size_t first,
                                           std::size_t bytes, Pattern pattern,
                                           PatternMismatch* found) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x * kWord;
  std::size_t at = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) * kWord;
  for (; at < bytes; at += step) {
    const std::uint64_t word = expected_word(first + at, pattern);
    const bool whole = at + kWord <= bytes;
    if (whole && *reinterpret_cast<const std::uint64_t*>(data + at) == word) continue;
    for (std::size_t i = at; i < at + kWord && i < bytes; ++i) {
      if (static_cast<unsigned char>(data[i]) == byte_of(word, first + i)) continue;
      atomicAdd(&found->bytes, 1ULL);
      atomicMin(&found->first, static_cast<unsigned long long>(first + i));
    }
  }
}

}  // namespace tierscope::pattern_kernels
