#include "gpu/gpu_pages.h"

#include <cuda.h>
#include <fmt/format.h>

#include <string>

#include "errors.h"
#include "gpu/check.h"
#include "gpu/device.h"
#include "gpu/driver_version.h"

namespace tierscope {
namespace {

void check(CUresult result, const char* doing) {
  if (result == CUDA_SUCCESS) return;
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    throw Unavailable(Cause::kMemory, fmt::format("{}: out of memory", doing),
                      "use smaller blocks, or end what else uses the GPU");
  }
  throw Failure(fmt::format("{}: {}", doing, describe(result)), Cause::kGpuError);
}

CUmemAllocationProp properties_of(int gpu, GpuPages::For what) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = gpu};
  // Drives write to it directly only where it was made for that.
  properties.allocFlags.gpuDirectRDMACapable =
      attribute_of(gpu, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED) != 0 ? 1 : 0;
  if (what == GpuPages::For::kFabric) properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
  return properties;
}

void require_fabric(int gpu) {
  if (cuda().version < kCudaOfFabricHandles) {
    throw Unavailable(
        Cause::kGpuFeature,
        fmt::format("the NVIDIA driver, for CUDA {}, has no fabric handles: they came "
                    "with CUDA {}",
                    cuda_version(cuda().version), cuda_version(kCudaOfFabricHandles)),
        fmt::format("install {} or newer", driver_for(kCudaOfFabricHandles)));
  }
  if (attribute_of(gpu, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED) != 0) return;
  throw Unavailable(Cause::kGpuFeature,
                    fmt::format("GPU {} or its driver has no fabric handles", gpu),
                    "they take GPUs on NVSwitch and IMEX; see docs/gpu.md");
}

static_assert(sizeof(GpuPages::FabricHandle) == sizeof(CUmemFabricHandle));

}  // namespace

GpuPages::GpuPages(int gpu, std::size_t bytes, For what) {
  if (what == For::kFabric) require_fabric(gpu);
  map(gpu, bytes, what, [&] {
    const CUmemAllocationProp properties = properties_of(gpu, what);
    check(cuda().cuMemCreate(&handle_, bytes_, &properties, 0), "allocating pages of a GPU");
  });
}

GpuPages::GpuPages(int gpu, std::size_t bytes, const FabricHandle& handle) {
  map(gpu, bytes, For::kFabric, [&] {
    FabricHandle copy = handle;
    check(cuda().cuMemImportFromShareableHandle(&handle_, copy.data(), CU_MEM_HANDLE_TYPE_FABRIC),
          "opening pages of another process's GPU");
  });
}

// `create` sets handle_ to pages of bytes_ bytes.
template <typename Create>
void GpuPages::map(int gpu, std::size_t bytes, For what, const Create& create) {
  const CUmemAllocationProp properties = properties_of(gpu, what);
  std::size_t granularity = 0;
  check(cuda().cuMemGetAllocationGranularity(&granularity, &properties,
                                             CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
        "asking for a GPU's page size");
  bytes_ = (bytes + granularity - 1) / granularity * granularity;
  CUmemAccessDesc access{};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  try {
    check(cuda().cuMemAddressReserve(&address_, bytes_, granularity, 0, 0),
          "reserving addresses of a GPU");
    create();
    created_ = true;
    check(cuda().cuMemMap(address_, bytes_, 0, handle_, 0), "mapping pages of a GPU");
    mapped_ = true;
    check(cuda().cuMemSetAccess(address_, bytes_, &access, 1), "opening pages of a GPU");
  } catch (...) {
    release();
    throw;
  }
}

GpuPages::FabricHandle GpuPages::handle() const {
  FabricHandle found{};
  check(cuda().cuMemExportToShareableHandle(found.data(), handle_, CU_MEM_HANDLE_TYPE_FABRIC, 0),
        "making a fabric handle");
  return found;
}

GpuPages::~GpuPages() { release(); }

void GpuPages::release() noexcept {
  if (mapped_) cuda().cuMemUnmap(address_, bytes_);
  if (created_) cuda().cuMemRelease(handle_);
  if (address_ != 0) cuda().cuMemAddressFree(address_, bytes_);
}

}  // namespace tierscope
