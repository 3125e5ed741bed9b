// CUDA's driver (libcuda.so.1), found at run time: one build serves every driver from 525 on.
#pragma once

#include <cuda.h>
#include <cudaTypedefs.h>

#include <cstddef>
#include <functional>

namespace tierscope {

// The oldest driver that will do: the first one of CUDA 12, which loads machine code of every
// CUDA 12 (CUDA Compatibility, "Minor Version Compatibility").
inline constexpr int kOldestCuda = 12000;
// The first one that places managed memory on a NUMA node of the host.
inline constexpr int kCudaOfHostNodes = 12020;
// The first one with fabric handles (CU_MEM_HANDLE_TYPE_FABRIC).
inline constexpr int kCudaOfFabricHandles = 12030;

// The first one that copies many pieces by one call (cuMemcpyBatchAsync). A newer driver gives that
// version's interface, too: CUDA 13 has another one of the same name.
inline constexpr int kCudaOfBatches = 12080;

// Every function in use and the version of its interface, for which NVIDIA's cudaTypedefs.h has a
// type. An interface newer than kOldestCuda is null where the driver is older than it.
#define TIERSCOPE_CUDA_FUNCTIONS(FUNCTION)                    \
  FUNCTION(cuInit, 2000)                                      \
  FUNCTION(cuGetErrorName, 6000)                              \
  FUNCTION(cuGetErrorString, 6000)                            \
  FUNCTION(cuDeviceGetCount, 2000)                            \
  FUNCTION(cuDeviceGetName, 2000)                             \
  FUNCTION(cuDeviceGetAttribute, 2000)                        \
  FUNCTION(cuDeviceGetPCIBusId, 4010)                         \
  FUNCTION(cuDeviceCanAccessPeer, 4000)                       \
  FUNCTION(cuDevicePrimaryCtxRetain, 7000)                    \
  FUNCTION(cuCtxGetCurrent, 4000)                             \
  FUNCTION(cuCtxSetCurrent, 4000)                             \
  FUNCTION(cuCtxGetDevice, 2000)                              \
  FUNCTION(cuCtxSynchronize, 2000)                            \
  FUNCTION(cuCtxEnablePeerAccess, 4000)                       \
  FUNCTION(cuModuleLoadData, 2000)                            \
  FUNCTION(cuModuleGetFunction, 2000)                         \
  FUNCTION(cuFuncSetAttribute, 9000)                          \
  FUNCTION(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050) \
  FUNCTION(cuLaunchKernel, 4000)                              \
  FUNCTION(cuMemGetInfo, 3020)                                \
  FUNCTION(cuMemAlloc, 3020)                                  \
  FUNCTION(cuMemFree, 3020)                                   \
  FUNCTION(cuMemAllocManaged, 6000)                           \
  FUNCTION(cuMemHostAlloc, 2020)                              \
  FUNCTION(cuMemFreeHost, 2000)                               \
  FUNCTION(cuMemHostRegister, 6050)                           \
  FUNCTION(cuMemHostUnregister, 4000)                         \
  FUNCTION(cuMemcpy, 4000)                                    \
  FUNCTION(cuMemcpyAsync, 4000)                               \
  FUNCTION(cuMemcpy2DAsync, 3020)                             \
  FUNCTION(cuMemcpyBatchAsync, 12080)                         \
  FUNCTION(cuMemsetD8, 3020)                                  \
  FUNCTION(cuMemsetD8Async, 3020)                             \
  FUNCTION(cuStreamCreate, 2000)                              \
  FUNCTION(cuStreamDestroy, 4000)                             \
  FUNCTION(cuStreamSynchronize, 2000)                         \
  FUNCTION(cuStreamQuery, 2000)                               \
  FUNCTION(cuEventCreate, 2000)                               \
  FUNCTION(cuEventDestroy, 4000)                              \
  FUNCTION(cuEventRecord, 2000)                               \
  FUNCTION(cuEventElapsedTime, 2000)                          \
  FUNCTION(cuIpcGetMemHandle, 4010)                           \
  FUNCTION(cuIpcOpenMemHandle, 11000)                         \
  FUNCTION(cuIpcCloseMemHandle, 4010)                         \
  FUNCTION(cuMemGetAllocationGranularity, 10020)              \
  FUNCTION(cuMemCreate, 10020)                                \
  FUNCTION(cuMemRelease, 10020)                               \
  FUNCTION(cuMemAddressReserve, 10020)                        \
  FUNCTION(cuMemAddressFree, 10020)                           \
  FUNCTION(cuMemMap, 10020)                                   \
  FUNCTION(cuMemUnmap, 10020)                                 \
  FUNCTION(cuMemSetAccess, 10020)                             \
  FUNCTION(cuMemExportToShareableHandle, 10020)               \
  FUNCTION(cuMemImportFromShareableHandle, 10020)             \
  FUNCTION(cuMemAdvise, 12020)                                \
  FUNCTION(cuMemPrefetchAsync, 12020)

// CUDA numbers GPUs from 0 on; a number is a CUdevice, too.
inline constexpr std::size_t kMostGpus = 64;

struct Driver {
  int version = 0;  // The newest CUDA it takes, 13000 for 13.0; 0: there is no driver.
#define TIERSCOPE_DECLARE(name, since) PFN_##name##_v##since name = nullptr;
  TIERSCOPE_CUDA_FUNCTIONS(TIERSCOPE_DECLARE)
#undef TIERSCOPE_DECLARE
};

// Functions that a driver exports, by name; null for others.
using Exports = std::function<void*(const char* name)>;
// Throws Failure where a driver of kOldestCuda or newer lacks a function. Of an older one, only the
// version is found.
Driver find_functions(const Exports& exports);

// This machine's.
const Driver& loaded_driver();

// The same, for calls that need a GPU's context: a thread that has none gets one, of the GPU that
// was turned to last.
const Driver& cuda();

// The context that all of this process and libraries in it share on a GPU. Throws as check_cuda().
CUcontext context_of(int gpu);

inline CUdeviceptr address_of(const volatile void* memory) {
  return reinterpret_cast<CUdeviceptr>(memory);
}

}  // namespace tierscope
