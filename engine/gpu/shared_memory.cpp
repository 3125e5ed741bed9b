#include "gpu/shared_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "errors.h"
#include "gpu/check.h"
#include "gpu/fabric.h"

namespace tierscope {
namespace {

// CUDA takes smaller allocations out of larger ones, which others would get to see as a whole.
constexpr std::size_t kWhole = std::size_t{2} << 20;

template <typename Handle>
std::string to_text(const Handle& handle) {
  std::string text;
  const auto* bytes = reinterpret_cast<const unsigned char*>(&handle);
  for (std::size_t i = 0; i < sizeof handle; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

template <typename Handle>
Handle from_text(const std::string& text) {
  Handle handle{};
  if (text.size() != 2 * sizeof handle) throw Failure("a rank sent what is not a handle of memory");
  auto* bytes = reinterpret_cast<unsigned char*>(&handle);
  for (std::size_t i = 0; i < sizeof handle; ++i) {
    bytes[i] = static_cast<unsigned char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  }
  return handle;
}

}  // namespace

std::string why_no_fabric(int gpu) {
  try {
    const GpuPages pages(gpu, kWhole, GpuPages::For::kFabric);
    pages.handle();
    return {};
  } catch (const std::exception& error) {
    return explain_fabric(gpu, read_fabric(gpu), error.what());
  }
}

SharedMemory::SharedMemory(HandleKind kind, int gpu, std::size_t bytes) {
  if (kind == HandleKind::kFabric) {
    pages_ = std::make_unique<GpuPages>(gpu, bytes, GpuPages::For::kFabric);
  } else {
    bytes_ = make_gpu_bytes(gpu, (bytes + kWhole - 1) / kWhole * kWhole);
  }
}

std::string SharedMemory::handle() const {
  if (pages_) return to_text(pages_->handle());
  CUipcMemHandle handle{};
  check_cuda(cuda().cuIpcGetMemHandle(&handle, address_of(bytes_.get())),
             "making a handle of a GPU's memory");
  return to_text(handle);
}

MappedMemory::MappedMemory(HandleKind kind, int gpu, std::size_t bytes, const std::string& handle) {
  if (kind == HandleKind::kFabric) {
    try {
      pages_ = std::make_unique<GpuPages>(gpu, bytes, from_text<GpuPages::FabricHandle>(handle));
    } catch (const Failure& error) {
      throw Unavailable(Cause::kPeer,
                        fmt::format("GPU {} cannot map memory of another rank's GPU: {}", gpu,
                                    explain_fabric(gpu, read_fabric(gpu), error.what())),
                        "all ranks need the same IMEX channel, and hosts of one IMEX domain");
    }
    return;
  }
  const OnGpu on(gpu);
  CUdeviceptr memory = 0;
  const CUresult error = cuda().cuIpcOpenMemHandle(&memory, from_text<CUipcMemHandle>(handle),
                                                   CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  if (error != CUDA_SUCCESS) {
    throw Unavailable(
        Cause::kPeer,
        fmt::format("GPU {} cannot map another process's memory: {}", gpu, describe(error)),
        "let every rank see all GPUs of its host (CUDA_VISIBLE_DEVICES), in containers with common "
        "IPC and PID namespaces; `nvidia-smi topo -p2p r` shows which GPUs reach which");
  }
  opened_ = std::bit_cast<std::byte*>(memory);
}

MappedMemory::~MappedMemory() {
  if (opened_ != nullptr) cuda().cuIpcCloseMemHandle(address_of(opened_));
}

}  // namespace tierscope
