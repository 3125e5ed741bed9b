#include "gpu/pattern.h"

#include "gpu/kernel.h"

namespace tierscope {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kBlocks = 1024;

Kernel<std::byte*, std::size_t, std::size_t, Pattern> fill("pattern_fill");
Kernel<const std::byte*, std::size_t, std::size_t, Pattern, PatternMismatch*> compare(
    "pattern_compare");

}  // namespace

void fill_pattern(std::byte* data, std::size_t first, std::size_t bytes, const Pattern& pattern,
                  CUstream stream) {
  fill.launch({kBlocks, kThreads}, stream, "filling a buffer", data, first, bytes, pattern);
}

void compare_pattern(const std::byte* data, std::size_t first, std::size_t bytes,
                     const Pattern& pattern, PatternMismatch* found, CUstream stream) {
  compare.launch({kBlocks, kThreads}, stream, "verifying a buffer", data, first, bytes, pattern,
                 found);
}

}  // namespace tierscope
