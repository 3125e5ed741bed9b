#include "gpu/device.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include <array>
#include <bit>

#include "errors.h"
#include "gpu/check.h"
#include "gpu/devices.h"
#include "gpu/kernel.h"
#include "threads/affinity.h"

namespace tierscope {
namespace {

// Left free on a GPU: what contexts and other programs need while we measure.
constexpr std::size_t kReserve = std::size_t{256} << 20;

bool run_on(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) {
    if (cpu < CPU_SETSIZE) CPU_SET(static_cast<unsigned>(cpu), &set);
  }
  return pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0;
}

// Enables access of `gpu` to `peer`'s memory; false where it cannot have it.
bool enable_peer(int gpu, int peer) {
  int can = 0;
  check_cuda(cuda().cuDeviceCanAccessPeer(&can, gpu, peer), "asking for peer access");
  if (can == 0) return false;
  const OnGpu on(gpu);
  const CUresult error = cuda().cuCtxEnablePeerAccess(context_of(peer), 0);
  if (error == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) return true;
  check_cuda(error, fmt::format("enabling access of GPU {} to GPU {}'s memory", gpu, peer));
  return true;
}

}  // namespace

void require_gpu(int gpu) {
  const GpuRuntime runtime = gpu_runtime();
  if (runtime.devices == 0) {
    throw Unavailable(Cause::kGpu, runtime.error, runtime.remedy);
  }
  if (gpu >= runtime.devices) {
    throw Unavailable(
        Cause::kGpu,
        fmt::format("there is no GPU {}; GPUs 0 to {} can be used", gpu, runtime.devices - 1),
        "name one of those, or widen CUDA_VISIBLE_DEVICES");
  }
  const OnGpu on(gpu);
  if (!runs_kernels()) {
    throw Unavailable(Cause::kGpuFeature,
                      fmt::format("this build has no kernels for GPU {}, {}", gpu, name_of(gpu)),
                      "use a GPU of compute capability 7.0 or newer");
  }
}

void require_peer(int gpu, int peer) {
  if (gpu == peer) return;
  if (!enable_peer(gpu, peer)) {
    throw Unavailable(
        Cause::kPeer, fmt::format("GPU {} cannot reach GPU {}'s memory directly", gpu, peer),
        "`nvidia-smi topo -p2p r` shows why; over PCIe, ACS or an IOMMU may forbid it");
  }
  // In both directions, since an H200's copy engine reads 0.6% faster where only its own GPU may
  // reach the other: a figure would depend on what was measured before it.
  enable_peer(peer, gpu);
}

int attribute_of(int gpu, CUdevice_attribute attribute) {
  int value = 0;
  check_cuda(loaded_driver().cuDeviceGetAttribute(&value, attribute, gpu),
             "asking for a GPU's attribute");
  return value;
}

int capability_of(int gpu) {
  return 10 * attribute_of(gpu, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
         attribute_of(gpu, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

bool reaches_pageable_memory(int gpu) {
  return attribute_of(gpu, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES) != 0;
}

std::string name_of(int gpu) {
  std::array<char, 256> name{};
  check_cuda(loaded_driver().cuDeviceGetName(name.data(), static_cast<int>(name.size()), gpu),
             "asking for a GPU's name");
  return name.data();
}

std::string pci_address_of(int gpu) {
  std::array<char, 32> address{};
  check_cuda(
      loaded_driver().cuDeviceGetPCIBusId(address.data(), static_cast<int>(address.size()), gpu),
      "asking for a GPU's PCI address");
  return address.data();
}

OnGpu::OnGpu(int gpu) {
  check_cuda(cuda().cuCtxGetCurrent(&before_), "asking for the current GPU");
  check_cuda(cuda().cuCtxSetCurrent(context_of(gpu)), fmt::format("turning to GPU {}", gpu));
}

OnGpu::~OnGpu() {
  if (before_ != nullptr) cuda().cuCtxSetCurrent(before_);
}

Stream make_stream(int gpu) {
  const OnGpu on(gpu);
  CUstream stream = nullptr;
  check_cuda(cuda().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "making a stream");
  return {stream, [](CUstream made) { cuda().cuStreamDestroy(made); }};
}

void copy_and_wait(void* to, const void* from, std::size_t bytes, const Stream& stream,
                   const std::string& doing) {
  check_cuda(cuda().cuMemcpyAsync(address_of(to), address_of(from), bytes, stream.get()), doing);
  check_cuda(cuda().cuStreamSynchronize(stream.get()), doing);
}

Event make_event(int gpu) {
  const OnGpu on(gpu);
  CUevent event = nullptr;
  check_cuda(cuda().cuEventCreate(&event, CU_EVENT_DEFAULT), "making an event");
  return Event(event);
}

double seconds_between(const Event& from, const Event& to) {
  float milliseconds = 0;
  check_cuda(cuda().cuEventElapsedTime(&milliseconds, from.get(), to.get()),
             "reading the GPU's clock");
  return static_cast<double>(milliseconds) / 1e3;
}

GpuBytes make_gpu_bytes(int gpu, std::size_t bytes) {
  const OnGpu on(gpu);
  std::size_t free = 0;
  std::size_t total = 0;
  check_cuda(cuda().cuMemGetInfo(&free, &total), "asking for a GPU's free memory");
  if (bytes + kReserve > free && bytes > (std::size_t{1} << 20)) {
    throw Unavailable(
        Cause::kMemory,
        fmt::format(
            "GPU {} has {:.1f} GiB of memory free; {:.1f} GiB more are needed, and {:.2f} GiB "
            "stay free",
            gpu, static_cast<double>(free) / 0x1p30, static_cast<double>(bytes) / 0x1p30,
            static_cast<double>(kReserve) / 0x1p30),
        "ask for a smaller size, or end what else uses the GPU");
  }
  CUdeviceptr memory = 0;
  check_cuda(cuda().cuMemAlloc(&memory, bytes), fmt::format("allocating memory of GPU {}", gpu));
  return GpuBytes(std::bit_cast<std::byte*>(memory));
}

OnCpu::OnCpu(int cpu) {
  allowed_cpus();  // Read once, and so before this thread is confined to one of them.
  if (!run_on({cpu})) {
    throw Unavailable(Cause::kCpu, fmt::format("this process may not run on CPU {}", cpu),
                      "name a CPU out of `taskset -cp $$`");
  }
}

OnCpu::~OnCpu() { run_on(allowed_cpus()); }

}  // namespace tierscope
