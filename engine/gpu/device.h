// GPUs as CUDA shows them, and what is held on them while it is needed.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>

#include "gpu/driver.h"

namespace tierscope {

// Throws Unavailable where there is no such GPU; else it has a context from here on.
void require_gpu(int gpu);

// Enables peer access in both directions between `gpu` and `peer`, the way back where it can be
// had; throws Unavailable where `gpu` cannot reach `peer`'s memory directly.
void require_peer(int gpu, int peer);

int attribute_of(int gpu, CUdevice_attribute attribute);
int capability_of(int gpu);  // Compute capability, 90 for 9.0.

// Whether its loads and stores reach memory of the system allocator and leave it there, by the
// CPU's own page tables (ATS). The kernel's HMM would move pages to the GPU.
bool reaches_pageable_memory(int gpu);
std::string name_of(int gpu);
std::string pci_address_of(int gpu);  // 00000000:17:00.0, as NVML takes it.

// While it lives, `gpu` is the calling thread's current one; afterwards, too, if there was none.
class OnGpu {
 public:
  explicit OnGpu(int gpu);
  ~OnGpu();
  OnGpu(const OnGpu&) = delete;
  OnGpu& operator=(const OnGpu&) = delete;

 private:
  CUcontext before_ = nullptr;
};

using Stream = std::shared_ptr<std::remove_pointer_t<CUstream>>;
// A non-blocking stream: it does not wait for the default stream, in which cuMemcpy() copies and
// cuMemsetD8() sets.
Stream make_stream(int gpu);

// Copies in the stream and waits for the end, so that work launched later in any stream sees the
// bytes. cuMemcpy() does not ensure that: out of pageable memory it may return before the bytes
// have arrived. Throws as check_cuda() does.
void copy_and_wait(void* to, const void* from, std::size_t bytes, const Stream& stream,
                   const std::string& doing);

struct DestroyEvent {
  void operator()(CUevent event) const { cuda().cuEventDestroy(event); }
};
using Event = std::unique_ptr<std::remove_pointer_t<CUevent>, DestroyEvent>;
Event make_event(int gpu);

// Seconds from one event to a later one of the same GPU, both past; resolution about 0.5 us.
double seconds_between(const Event& from, const Event& to);

struct FreeOnGpu {
  void operator()(std::byte* memory) const { cuda().cuMemFree(address_of(memory)); }
};
using GpuBytes = std::unique_ptr<std::byte, FreeOnGpu>;
// Throws Unavailable, with the numbers, where the GPU has too little free.
GpuBytes make_gpu_bytes(int gpu, std::size_t bytes);

// While it lives, the calling thread runs on one CPU. Throws Unavailable where it may not.
class OnCpu {
 public:
  explicit OnCpu(int cpu);
  ~OnCpu();
  OnCpu(const OnCpu&) = delete;
  OnCpu& operator=(const OnCpu&) = delete;
};

}  // namespace tierscope
