// Instructions that write cache lines back to memory, as programs for persistent memory use them.
// Reaching memory is being durable only where the memory keeps its contents without power; which
// of them a program needs depends on the platform (Intel SDM vol. 2A, CLWB; Arm ARM, DC CVAP).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "access/write_back.h"

#if defined(__x86_64__)
#include <immintrin.h>
#else
#include <sys/auxv.h>
#endif

namespace tierscope {

// What is done about each line after it was stored. x86: CLWB keeps the line in the cache,
// CLFLUSHOPT drops it, CLFLUSH drops it and is ordered after the one before it. Arm: DC CVAP writes
// back to the point of persistence, DC CVAC to the point of coherency.
enum class Flush { kNone, kClwb, kClflushopt, kClflush, kCvap, kCvac };

inline constexpr std::array<std::pair<std::string_view, Flush>, 5> kFlushNames{
    {{"clwb", Flush::kClwb},
     {"clflushopt", Flush::kClflushopt},
     {"clflush", Flush::kClflush},
     {"dc-cvap", Flush::kCvap},
     {"dc-cvac", Flush::kCvac}}};

// Whether this CPU has the instruction and lets programs use it.
inline bool has_flush(Flush how) {
  if (how == Flush::kNone) return true;
#if defined(__x86_64__)
  if (how == Flush::kClwb) return has_write_back(WriteBack::kKeep);
  if (how == Flush::kClflushopt) return has_write_back(WriteBack::kDrop);
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;  // Intel SDM vol. 2A, CPUID leaf 1: EDX bit 19.
  return how == Flush::kClflush && __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 &&
         (edx & 1U << 19) != 0;
#else
  constexpr unsigned long kHwcapDcpop = 1UL << 16;  // Linux, arch/arm64: FEAT_DPB.
  if (how == Flush::kCvap) return (getauxval(AT_HWCAP) & kHwcapDcpop) != 0;
  return how == Flush::kCvac;
#endif
}

template <Flush kHow>
inline void flush_line([[maybe_unused]] std::byte* line) {
#if defined(__x86_64__)
  if constexpr (kHow == Flush::kClwb) write_back<WriteBack::kKeep>(line);
  if constexpr (kHow == Flush::kClflushopt) write_back<WriteBack::kDrop>(line);
  if constexpr (kHow == Flush::kClflush) asm volatile("clflush %0" : "+m"(*line));
#else
  if constexpr (kHow == Flush::kCvac) write_back<WriteBack::kKeep>(line);
  // DC CVAP by its encoding, which assemblers take without the extension named.
  if constexpr (kHow == Flush::kCvap) {
    asm volatile("sys #3, c7, c12, #1, %0" : : "r"(line) : "memory");
  }
#endif
}

// Waits until what was flushed, and non-temporal stores, have left the CPU: SFENCE; DSB ISH, and
// DSB SY for the point of persistence, which may lie beyond the inner shareable domain.
template <Flush kHow>
inline void drain() {
#if !defined(__x86_64__)
  if constexpr (kHow == Flush::kCvap) {
    asm volatile("dsb sy" : : : "memory");
    return;
  }
#endif
  write_back_fence();
}

// 16 bytes that bypass the caches: MOVNTDQ, and a half of STNP's pair on Arm.
typedef std::uint64_t Words __attribute__((vector_size(16)));

inline void stream_words(Words* at, Words first, Words second) {
#if defined(__x86_64__)
  _mm_stream_si128(reinterpret_cast<__m128i*>(at), reinterpret_cast<__m128i>(first));
  _mm_stream_si128(reinterpret_cast<__m128i*>(at + 1), reinterpret_cast<__m128i>(second));
#else
  asm volatile("stnp %q0, %q1, [%2]" : : "w"(first), "w"(second), "r"(at) : "memory");
#endif
}

}  // namespace tierscope
