// A GPU's memory that other processes can map, and such memory of others.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "gpu/device.h"
#include "gpu/gpu_pages.h"
#include "gpu/specs.h"

namespace tierscope {

// Why this GPU's memory cannot be had by fabric handles; empty where it can.
std::string why_no_fabric(int gpu);

class SharedMemory {
 public:
  // Contents undefined. Throws Unavailable where it cannot be had.
  SharedMemory(HandleKind kind, int gpu, std::size_t bytes);

  std::byte* data() const { return pages_ ? pages_->data() : bytes_.get(); }
  // For MappedMemory in other processes: hexadecimal digits.
  std::string handle() const;

 private:
  GpuBytes bytes_;
  std::unique_ptr<GpuPages> pages_;
};

// It is to be gone before the process that has the memory frees it.
class MappedMemory {
 public:
  // For `gpu`, which reaches it from here on. Throws Unavailable where it cannot.
  MappedMemory(HandleKind kind, int gpu, std::size_t bytes, const std::string& handle);
  ~MappedMemory();
  MappedMemory(const MappedMemory&) = delete;
  MappedMemory& operator=(const MappedMemory&) = delete;

  std::byte* data() const { return pages_ ? pages_->data() : opened_; }

 private:
  std::byte* opened_ = nullptr;
  std::unique_ptr<GpuPages> pages_;
};

}  // namespace tierscope
