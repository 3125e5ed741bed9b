// Which of Highway's targets are compiled: one for each instruction set that a plan can name.
// Included before any of Highway's own headers.
#pragma once

#if defined(__x86_64__)
#define HWY_BASELINE_TARGETS HWY_SSE4
#define HWY_DISABLED_TARGETS (~(HWY_SSE4 | HWY_AVX2 | HWY_AVX3))
#elif defined(__aarch64__)
#define HWY_BASELINE_TARGETS HWY_NEON
#define HWY_DISABLED_TARGETS (~(HWY_NEON | HWY_SVE))
#else
#error "tierscope measures x86-64 and 64-bit Arm"
#endif
