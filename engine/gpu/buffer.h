// Memory of every kind that can be an endpoint of a transfer, and the pool of it.
#pragma once

#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gpu/device.h"
#include "gpu/specs.h"
#include "memory/region.h"
#include "threads/team.h"

namespace tierscope {

class Buffer {
 public:
  // Populated and placed, contents undefined. Throws Unavailable where it cannot be had.
  // `gpu` is one that will use it; every other can, too.
  Buffer(const MemoryPlace& place, std::size_t bytes, int gpu, Team& team);
  // A GPU's memory that somebody else holds, of this process or of another one.
  Buffer(const MemoryPlace& place, std::size_t bytes, int gpu, std::byte* data)
      : place_(place), bytes_(bytes), gpu_(gpu), data_(data) {}
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  const MemoryPlace& place() const { return place_; }
  std::size_t size() const { return bytes_; }
  int gpu() const { return gpu_; }
  std::byte* data() const { return data_; }  // The same address for CPUs and GPUs.

  bool managed() const { return place_.managed(); }
  // Managed memory: moves all of it, and waits; to the host's node, or to a GPU.
  void move_home() const;
  void prefetch_to_gpu(int gpu, CUstream stream) const;
  void prefetch_home(CUstream stream) const;

  // Host memory: where its pages are, read back now; none where the kernel cannot say, as of
  // memory that the driver maps itself. Throws Failure where they are not as placed.
  std::optional<RegionReport> report() const;

 private:
  int node() const { return place_.placement.nodes.front().node; }

  MemoryPlace place_;
  std::size_t bytes_;
  int gpu_;
  std::byte* data_ = nullptr;
  GpuBytes on_gpu_;
  std::unique_ptr<Region> region_;
};

// Managed memory, not more than half of what the GPU has free. Throws Unavailable. Give it back by
// cuMemFree().
std::byte* make_managed(std::size_t bytes, int gpu);
// Moves pages of managed memory, in the order of the stream.
void prefetch_managed(std::byte* data, std::size_t bytes, CUmemLocation to, CUstream stream);

struct BufferWish {
  MemoryPlace place;
  std::size_t bytes;
  int gpu;
};

// Buffers for these wishes, in their order; valid until the next call, which uses those again that
// it can unless they are to be `fresh`: pinning half a gigabyte takes longer than measuring it. A
// few gigabytes that the next call has no use for stay, too, for the ones after it. Where pages of
// new ones are is read back; throws Failure where that is not as placed.
std::vector<Buffer*> take_buffers(const std::vector<BufferWish>& wishes, Team& team, bool fresh);

// pages, page_bytes, huge_bytes, region_bytes of the host buffers, with notes of what is unknown.
void add_buffer_evidence(nlohmann::ordered_json& evidence, std::vector<std::string>& notes,
                         const std::vector<Buffer*>& buffers);

}  // namespace tierscope
