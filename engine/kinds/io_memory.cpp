#include "kinds/io_memory.h"

#include "errors.h"

namespace tierscope {

void refuse_unsound(const BackendKind& backend, const std::string& memory) {
  if (backend.name != "cufile-batch" || (memory != "pinned" && memory != "plain")) return;
  throw Unavailable(Cause::kGpuFeature,
                    "cuFile's batches with host memory crash, or end before the data is there",
                    "use memory device or vmm, or another backend");
}

void IoMemory::place(std::byte* first, std::size_t slots, std::size_t stride) {
  slots_.clear();
  for (std::size_t slot = 0; slot < slots; ++slot) slots_.push_back(first + slot * stride);
}

void IoMemory::place_beside_gpu(const GpuBuffersWish& wish) {
  if (gpu_) return;
  auto gpu = make_gpu_buffers(wish);
  GpuBuffersWish mirror = wish;
  mirror.memory = "pinned";
  mirror.registered = false;
  mirror_ = make_gpu_buffers(mirror);
  gpu_ = std::move(gpu);
  slots_.assign(gpu_->slots().begin(), gpu_->slots().end());
}

std::span<std::byte> IoMemory::block(std::size_t slot, std::size_t bytes) const {
  return {mirror_ ? mirror_->slots()[slot] : slots_[slot], bytes};
}

void IoMemory::send(std::size_t slot, std::size_t bytes) const {
  if (gpu_) gpu_->copy_in(slot, block(slot, bytes));
}

std::span<std::byte> IoMemory::fetch(std::size_t slot, std::size_t bytes) const {
  const std::span<std::byte> contents = block(slot, bytes);
  if (gpu_) gpu_->copy_out(slot, contents);
  return contents;
}

std::optional<bool> IoMemory::are_cells(std::size_t slot, std::size_t bytes,
                                        const ExpectedCells& expected) const {
  return gpu_ ? gpu_->are_cells(slot, bytes, expected) : std::nullopt;
}

}  // namespace tierscope
