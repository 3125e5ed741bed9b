// A GPU's memory by CUDA's virtual memory functions (cuMemCreate, cuMemMap).
#pragma once

#include <cstddef>

namespace tierscope {

class GpuPages {
 public:
  // Rounded up to the GPU's granularity, 2 MiB as a rule. Throws Unavailable.
  GpuPages(int gpu, std::size_t bytes);
  ~GpuPages();
  GpuPages(const GpuPages&) = delete;
  GpuPages& operator=(const GpuPages&) = delete;

  // NOLINTNEXTLINE(performance-no-int-to-ptr): CUdeviceptr is an integer.
  std::byte* data() const { return reinterpret_cast<std::byte*>(address_); }

 private:
  void release() noexcept;

  unsigned long long address_ = 0;  // CUdeviceptr; 0: not reserved.
  unsigned long long handle_ = 0;   // CUmemGenericAllocationHandle.
  bool created_ = false;
  bool mapped_ = false;
  std::size_t bytes_ = 0;
};

}  // namespace tierscope
