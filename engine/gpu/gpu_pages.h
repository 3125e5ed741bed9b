// A GPU's memory by CUDA's virtual memory functions (cuMemCreate, cuMemMap).
#pragma once

#include <array>
#include <cstddef>

namespace tierscope {

class GpuPages {
 public:
  // What reaches it besides the GPU: drives, directly; or GPUs of other processes and hosts, by a
  // handle that NVLink's fabric knows.
  enum class For { kDrives, kFabric };
  using FabricHandle = std::array<unsigned char, 64>;  // CUmemFabricHandle.

  // Rounded up to the GPU's granularity, 2 MiB as a rule. Throws Unavailable.
  GpuPages(int gpu, std::size_t bytes, For what);
  // Memory of another process, which has made it with as many bytes; `gpu` reaches it.
  GpuPages(int gpu, std::size_t bytes, const FabricHandle& handle);
  ~GpuPages();
  GpuPages(const GpuPages&) = delete;
  GpuPages& operator=(const GpuPages&) = delete;

  // NOLINTNEXTLINE(performance-no-int-to-ptr): CUdeviceptr is an integer.
  std::byte* data() const { return reinterpret_cast<std::byte*>(address_); }
  // Of pages for the fabric.
  FabricHandle handle() const;

 private:
  template <typename Create>
  void map(int gpu, std::size_t bytes, For what, const Create& create);
  void release() noexcept;

  unsigned long long address_ = 0;  // CUdeviceptr; 0: not reserved.
  unsigned long long handle_ = 0;   // CUmemGenericAllocationHandle.
  bool created_ = false;
  bool mapped_ = false;
  std::size_t bytes_ = 0;
};

}  // namespace tierscope
