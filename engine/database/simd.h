// The same loop for several instruction sets: compiled once for each, chosen when the program runs.
//
// `flatten` has a function inline all that it calls, so that the whole of it, down to the search
// within a node, is compiled for the instruction set of its attribute `target`.
#pragma once

#include <string_view>

namespace tierscope::database {

enum class Simd { kBaseline, kAvx2, kAvx512 };

#if defined(__x86_64__)
#define TIERSCOPE_FOR_AVX2 [[gnu::flatten, gnu::target("avx2,bmi,bmi2")]]
#define TIERSCOPE_FOR_AVX512 \
  [[gnu::flatten, gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi,bmi2")]]
inline Simd best_simd() {
  if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("bmi2")) {
    return Simd::kAvx512;
  }
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") ? Simd::kAvx2
                                                                          : Simd::kBaseline;
}
#else
#define TIERSCOPE_FOR_AVX2
#define TIERSCOPE_FOR_AVX512
inline Simd best_simd() { return Simd::kBaseline; }
#endif

// As evidence names it; of the baseline the one that every CPU of the architecture has.
inline std::string_view name_of(Simd simd) {
  switch (simd) {
    case Simd::kAvx2:
      return "avx2";
    case Simd::kAvx512:
      return "avx512";
    case Simd::kBaseline:
      break;
  }
#if defined(__x86_64__)
  return "sse2";
#else
  return "baseline";
#endif
}

template <typename Work>
TIERSCOPE_FOR_AVX2 void for_avx2(Work&& work) {
  work();
}
template <typename Work>
TIERSCOPE_FOR_AVX512 void for_avx512(Work&& work) {
  work();
}

// Does the work, compiled for the best instruction set that this CPU has.
template <typename Work>
void with_simd(Simd simd, Work&& work) {
  switch (simd) {
    case Simd::kAvx512:
      return for_avx512(work);
    case Simd::kAvx2:
      return for_avx2(work);
    case Simd::kBaseline:
      return work();
  }
}

}  // namespace tierscope::database
