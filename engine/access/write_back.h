// Writing cache lines back to memory, as programs for persistent and disaggregated memory do.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sizes.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tierscope {

// After each write: nothing; write the line back and keep it (CLWB); write it back and drop it
// (CLFLUSHOPT). Arm's counterparts are DC CVAC and DC CIVAC.
enum class WriteBack { kNone, kKeep, kDrop };

// Whether this CPU has the instruction.
inline bool has_write_back([[maybe_unused]] WriteBack how) {
#if defined(__x86_64__)
  // Intel SDM vol. 2A, CPUID leaf 7: EBX bit 23 is CLFLUSHOPT, bit 24 CLWB.
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (how == WriteBack::kNone) return true;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
  return (ebx & (how == WriteBack::kKeep ? 1U << 24 : 1U << 23)) != 0;
#else
  return true;
#endif
}

template <WriteBack kHow>
inline void write_back(void* line) {
#if defined(__x86_64__)
  if constexpr (kHow == WriteBack::kKeep) asm volatile("clwb %0" : "+m"(*static_cast<char*>(line)));
  if constexpr (kHow == WriteBack::kDrop) {
    asm volatile("clflushopt %0" : "+m"(*static_cast<char*>(line)));
  }
#else
  if constexpr (kHow == WriteBack::kKeep) asm volatile("dc cvac, %0" : : "r"(line) : "memory");
  if constexpr (kHow == WriteBack::kDrop) asm volatile("dc civac, %0" : : "r"(line) : "memory");
#endif
}

// Acts on each cache line that holds any of the bytes. Stores to them are made before: instructions
// name one byte of a line, so that compilers could move those to the others.
template <typename Act>
inline void for_each_line(std::byte* from, std::size_t bytes, Act act) {
  asm volatile("" : : : "memory");
  std::byte* line = from - reinterpret_cast<std::uintptr_t>(from) % kCacheLine;
  for (; line < from + bytes; line += kCacheLine) act(line);
}

// Waits until what was written back has left the CPU.
inline void write_back_fence() {
#if defined(__x86_64__)
  asm volatile("sfence" : : : "memory");
#else
  asm volatile("dsb ish" : : : "memory");
#endif
}

}  // namespace tierscope
