#include "gpu/gpu_pages.h"

#include <cuda.h>
#include <fmt/format.h>

#include <string>

#include "errors.h"
#include "gpu/check.h"
#include "gpu/device.h"

namespace tierscope {
namespace {

// Functions of CUDA's driver, which the runtime finds.
template <typename Function>
void resolve(const char* name, Function& function) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  constexpr unsigned kVersion = 12000;
  check_cuda(cudaGetDriverEntryPointByVersion(name, &found, kVersion, cudaEnableDefault, &result),
             fmt::format("looking for {}", name));
  if (found == nullptr) {
    throw Unavailable(Cause::kGpuFeature, fmt::format("CUDA's driver has no {}", name),
                      "use memory device, or a newer driver");
  }
  function = reinterpret_cast<Function>(found);
}

struct Driver {
  decltype(&cuMemGetAllocationGranularity) granularity;
  decltype(&cuMemCreate) create;
  decltype(&cuMemRelease) release;
  decltype(&cuMemAddressReserve) reserve;
  decltype(&cuMemAddressFree) free;
  decltype(&cuMemMap) map;
  decltype(&cuMemUnmap) unmap;
  decltype(&cuMemSetAccess) set_access;
  decltype(&cuMemExportToShareableHandle) to_handle;
  decltype(&cuMemImportFromShareableHandle) from_handle;
  decltype(&cuDeviceGetAttribute) attribute;
  decltype(&cuGetErrorName) error_name;
};

Driver load_driver() {
  Driver found{};
  resolve("cuMemGetAllocationGranularity", found.granularity);
  resolve("cuMemCreate", found.create);
  resolve("cuMemRelease", found.release);
  resolve("cuMemAddressReserve", found.reserve);
  resolve("cuMemAddressFree", found.free);
  resolve("cuMemMap", found.map);
  resolve("cuMemUnmap", found.unmap);
  resolve("cuMemSetAccess", found.set_access);
  resolve("cuMemExportToShareableHandle", found.to_handle);
  resolve("cuMemImportFromShareableHandle", found.from_handle);
  resolve("cuDeviceGetAttribute", found.attribute);
  resolve("cuGetErrorName", found.error_name);
  return found;
}

const Driver& driver() {
  static const Driver functions = load_driver();
  return functions;
}

void check(CUresult result, const char* doing) {
  if (result == CUDA_SUCCESS) return;
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    throw Unavailable(Cause::kMemory, fmt::format("{}: out of memory", doing),
                      "use smaller blocks, or end what else uses the GPU");
  }
  const char* name = nullptr;
  driver().error_name(result, &name);
  throw Failure(fmt::format("{}: CUDA error {} ({})", doing, static_cast<int>(result),
                            name == nullptr ? "unknown" : name),
                Cause::kGpuError);
}

CUmemAllocationProp properties_of(int gpu, GpuPages::For what) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = gpu};
  // Drives write to it directly only where it was made for that.
  properties.allocFlags.gpuDirectRDMACapable =
      attribute_of(gpu, cudaDevAttrGPUDirectRDMASupported) != 0 ? 1 : 0;
  if (what == GpuPages::For::kFabric) properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
  return properties;
}

void require_fabric(int gpu) {
  int has = 0;
  check(driver().attribute(&has, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, gpu),
        "asking for fabric handles");
  if (has != 0) return;
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
    check(driver().create(&handle_, bytes_, &properties, 0), "allocating pages of a GPU");
  });
}

GpuPages::GpuPages(int gpu, std::size_t bytes, const FabricHandle& handle) {
  map(gpu, bytes, For::kFabric, [&] {
    FabricHandle copy = handle;
    check(driver().from_handle(&handle_, copy.data(), CU_MEM_HANDLE_TYPE_FABRIC),
          "opening pages of another process's GPU");
  });
}

// `create` sets handle_ to pages of bytes_ bytes.
template <typename Create>
void GpuPages::map(int gpu, std::size_t bytes, For what, const Create& create) {
  const CUmemAllocationProp properties = properties_of(gpu, what);
  std::size_t granularity = 0;
  check(driver().granularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
        "asking for a GPU's page size");
  bytes_ = (bytes + granularity - 1) / granularity * granularity;
  CUmemAccessDesc access{};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  try {
    check(driver().reserve(&address_, bytes_, granularity, 0, 0), "reserving addresses of a GPU");
    create();
    created_ = true;
    check(driver().map(address_, bytes_, 0, handle_, 0), "mapping pages of a GPU");
    mapped_ = true;
    check(driver().set_access(address_, bytes_, &access, 1), "opening pages of a GPU");
  } catch (...) {
    release();
    throw;
  }
}

GpuPages::FabricHandle GpuPages::handle() const {
  FabricHandle found{};
  check(driver().to_handle(found.data(), handle_, CU_MEM_HANDLE_TYPE_FABRIC, 0),
        "making a fabric handle");
  return found;
}

GpuPages::~GpuPages() { release(); }

void GpuPages::release() noexcept {
  if (mapped_) driver().unmap(address_, bytes_);
  if (created_) driver().release(handle_);
  if (address_ != 0) driver().free(address_, bytes_);
}

}  // namespace tierscope
