#include "gpu/stream_kernels.h"

#include <algorithm>
#include <array>
#include <bit>

#include "gpu/kernel.h"

namespace tierscope {
namespace {

using stream_kernels::b_at;
using stream_kernels::kThreads;

using StreamKernel = Kernel<StreamArrays, int>;
using CompareKernel = Kernel<StreamArrays, unsigned long long*>;

// In the order of GpuOperation.
std::array<StreamKernel, 7> kernels{StreamKernel("stream_read"),  StreamKernel("stream_write"),
                                    StreamKernel("stream_copy"),  StreamKernel("stream_scale"),
                                    StreamKernel("stream_add"),   StreamKernel("stream_triad"),
                                    StreamKernel("stream_random")};
std::array<CompareKernel, 5> compares{CompareKernel("compare_write"), CompareKernel("compare_copy"),
                                      CompareKernel("compare_scale"), CompareKernel("compare_add"),
                                      CompareKernel("compare_triad")};

StreamKernel& kernel_of(GpuOperation operation) {
  return kernels.at(static_cast<std::size_t>(operation));
}

// Of those that write.
CompareKernel& compare_of(GpuOperation operation) {
  return compares.at(static_cast<std::size_t>(operation) - 1);
}

Kernel<StreamArrays, bool> fill("stream_fill");
Kernel<StreamArrays> fill_places("stream_fill_places");

constexpr int kMaxBlocks = 1 << 30;
constexpr unsigned kFillBlocks = 2048;

}  // namespace

void fill_stream(const StreamArrays& arrays, GpuOperation operation, CUstream stream) {
  if (operation == GpuOperation::kRandom) {
    fill_places.launch({kFillBlocks, kThreads}, stream, "filling the arrays", arrays);
  } else {
    fill.launch({kFillBlocks, kThreads}, stream, "filling the arrays", arrays, arrays.c != nullptr);
  }
}

int most_stream_blocks(GpuOperation operation) {
  return kernel_of(operation).most_blocks(kThreads);
}

int single_pass_blocks(const StreamArrays& arrays) {
  constexpr std::size_t kEach = std::size_t{kThreads} * stream_kernels::kUnroll;
  const std::size_t work = arrays.count / 2;
  const std::size_t blocks = (work + kEach - 1) / kEach;
  return static_cast<int>(std::clamp<std::size_t>(blocks, 1, kMaxBlocks));
}

void launch_stream(const StreamArrays& arrays, GpuOperation operation, int passes, int blocks,
                   CUstream stream) {
  kernel_of(operation).launch({static_cast<unsigned>(blocks), kThreads}, stream,
                              "launching a memory kernel", arrays, passes);
}

void compare_stream(const StreamArrays& arrays, GpuOperation operation, unsigned long long* wrong,
                    CUstream stream) {
  compare_of(operation).launch({kFillBlocks, kThreads}, stream, "verifying the arrays", arrays,
                               wrong);
}

unsigned long long stream_read_sum(std::size_t count) {
  unsigned long long sum = 0;
  constexpr std::size_t kPeriod = 1024;
  for (std::size_t i = 0; i < kPeriod; ++i) {
    const std::size_t times = count / kPeriod + (i < count % kPeriod ? 1 : 0);
    sum += std::bit_cast<unsigned long long>(b_at(i)) * times;
  }
  return sum;
}

}  // namespace tierscope
