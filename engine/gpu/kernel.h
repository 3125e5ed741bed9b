// Kernels of this build on the calling thread's current GPU.
#pragma once

#include <cuda.h>

#include <array>
#include <atomic>
#include <cstddef>

#include "gpu/check.h"
#include "gpu/driver.h"

namespace tierscope {

struct Grid {
  unsigned blocks;
  unsigned threads;        // Of each block.
  std::size_t shared = 0;  // Bytes of dynamic shared memory of each block.
};

// A kernel by its name in the .cu files; found on a GPU when it is used there first.
class NamedKernel {
 public:
  constexpr explicit NamedKernel(const char* name) noexcept : name_(name) {}

  // Blocks that the GPU holds at once.
  int most_blocks(unsigned threads, std::size_t shared = 0);
  // Lets each block have so many bytes of dynamic shared memory; 48 KiB need no leave.
  void allow_shared(std::size_t bytes);

 protected:
  CUfunction function();

 private:
  const char* name_;
  std::array<std::atomic<CUfunction>, kMostGpus> functions_{};
};

// `Arguments` are exactly those of the kernel.
template <typename... Arguments>
class Kernel : public NamedKernel {
 public:
  using NamedKernel::NamedKernel;

  void launch(const Grid& grid, CUstream stream, const char* doing, Arguments... arguments) {
    void* addresses[] = {const_cast<void*>(static_cast<const volatile void*>(&arguments))...};
    check_cuda(
        cuda().cuLaunchKernel(function(), grid.blocks, 1, 1, grid.threads, 1, 1,
                              static_cast<unsigned>(grid.shared), stream, addresses, nullptr),
        doing);
  }
};

// Whether this build has kernels for the GPU. Loads them.
bool runs_kernels();

}  // namespace tierscope
