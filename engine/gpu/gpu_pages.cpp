#include "gpu/gpu_pages.h"

#include <cuda.h>
#include <fmt/format.h>

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
};

Driver load() {
  Driver found{};
  resolve("cuMemGetAllocationGranularity", found.granularity);
  resolve("cuMemCreate", found.create);
  resolve("cuMemRelease", found.release);
  resolve("cuMemAddressReserve", found.reserve);
  resolve("cuMemAddressFree", found.free);
  resolve("cuMemMap", found.map);
  resolve("cuMemUnmap", found.unmap);
  resolve("cuMemSetAccess", found.set_access);
  return found;
}

const Driver& driver() {
  static const Driver functions = load();
  return functions;
}

void check(CUresult result, const char* doing) {
  if (result == CUDA_SUCCESS) return;
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    throw Unavailable(Cause::kMemory, fmt::format("{}: out of memory", doing),
                      "use smaller blocks, or end what else uses the GPU");
  }
  throw Failure(fmt::format("{}: CUDA error {}", doing, static_cast<int>(result)),
                Cause::kGpuError);
}

}  // namespace

GpuPages::GpuPages(int gpu, std::size_t bytes) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = gpu};
  // Drives write to it directly only where it was made for that.
  properties.allocFlags.gpuDirectRDMACapable =
      attribute_of(gpu, cudaDevAttrGPUDirectRDMASupported) != 0 ? 1 : 0;
  std::size_t granularity = 0;
  check(driver().granularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
        "asking for a GPU's page size");
  bytes_ = (bytes + granularity - 1) / granularity * granularity;
  CUmemAccessDesc access{};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  try {
    check(driver().reserve(&address_, bytes_, granularity, 0, 0), "reserving addresses of a GPU");
    check(driver().create(&handle_, bytes_, &properties, 0), "allocating pages of a GPU");
    created_ = true;
    check(driver().map(address_, bytes_, 0, handle_, 0), "mapping pages of a GPU");
    mapped_ = true;
    check(driver().set_access(address_, bytes_, &access, 1), "opening pages of a GPU");
  } catch (...) {
    release();
    throw;
  }
}

GpuPages::~GpuPages() { release(); }

void GpuPages::release() noexcept {
  if (mapped_) driver().unmap(address_, bytes_);
  if (created_) driver().release(handle_);
  if (address_ != 0) driver().free(address_, bytes_);
}

}  // namespace tierscope
