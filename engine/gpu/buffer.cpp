#include "gpu/buffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>

#include "errors.h"
#include "gpu/check.h"
#include "gpu/driver.h"
#include "gpu/driver_version.h"
#include "memory/numa_policy.h"
#include "memory/read_back.h"
#include "memory/requirements.h"
#include "memory/system_memory.h"

namespace tierscope {
namespace {

constexpr std::size_t kMaxSpare = std::size_t{4} << 30;

CUmemLocation location_of_node(int node) {
  return {.type = CU_MEM_LOCATION_TYPE_HOST_NUMA, .id = node};
}

CUmemLocation location_of_gpu(int gpu) { return {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = gpu}; }

void advise(std::byte* data, std::size_t bytes, CUmem_advise advice, CUmemLocation where) {
  check_cuda(cuda().cuMemAdvise(address_of(data), bytes, advice, where),
             "advising on managed memory");
}

bool is_region(HostKind kind) {
  return kind == HostKind::kPageable || kind == HostKind::kRegistered;
}

std::byte* pin(std::size_t bytes, int node, HostKind kind) {
  const ThreadOnNode policy(node);  // The driver takes pages as the calling thread would.
  void* memory = nullptr;
  const unsigned flags =
      CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP |
      (kind == HostKind::kWriteCombined ? static_cast<unsigned>(CU_MEMHOSTALLOC_WRITECOMBINED)
                                        : 0U);
  check_cuda(cuda().cuMemHostAlloc(&memory, bytes, flags), "allocating pinned host memory");
  return static_cast<std::byte*>(memory);
}

}  // namespace

void prefetch_managed(std::byte* data, std::size_t bytes, CUmemLocation to, CUstream stream) {
  check_cuda(cuda().cuMemPrefetchAsync(address_of(data), bytes, to, 0, stream),
             "prefetching managed memory");
}

// Managed memory past what the GPU has free would be swapped to and fro, and measures nothing.
std::byte* make_managed(std::size_t bytes, int gpu) {
  if (attribute_of(gpu, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS) == 0) {
    throw Unavailable(Cause::kGpuFeature,
                      fmt::format("GPU {} cannot migrate managed memory on demand", gpu),
                      "measure pinned memory");
  }
  const OnGpu on(gpu);
  std::size_t free = 0;
  std::size_t total = 0;
  check_cuda(cuda().cuMemGetInfo(&free, &total), "asking for a GPU's free memory");
  if (bytes > free / 2) {
    throw Unavailable(
        Cause::kMemory,
        fmt::format("{} bytes of managed memory are more than half of what GPU {} has "
                    "free",
                    bytes, gpu),
        "ask for a smaller size");
  }
  CUdeviceptr memory = 0;
  check_cuda(cuda().cuMemAllocManaged(&memory, bytes, CU_MEM_ATTACH_GLOBAL),
             "allocating managed memory");
  return std::bit_cast<std::byte*>(memory);
}

Buffer::Buffer(const MemoryPlace& place, std::size_t bytes, int gpu, Team& team)
    : place_(place), bytes_(bytes), gpu_(gpu) {
  if (!place.on_host()) {
    on_gpu_ = make_gpu_bytes(place.gpu, bytes);
    data_ = on_gpu_.get();
  } else if (is_region(place.kind)) {
    region_ = std::make_unique<Region>(bytes, place.pages, place.placement, team);
    data_ = region_->data();
    if (place.kind == HostKind::kRegistered) {
      check_cuda(cuda().cuMemHostRegister(
                     data_, bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP),
                 "registering host memory");
    }
  } else {
    require_memory(bytes, Pages::kBase, place.placement);
    if (managed()) {
      require_driver_of_host_nodes(cuda().version);
      data_ = make_managed(bytes, gpu);
      if (place.kind == HostKind::kManagedAdvised) {
        advise(data_, bytes, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, location_of_node(node()));
        advise(data_, bytes, CU_MEM_ADVISE_SET_ACCESSED_BY, location_of_gpu(gpu));
      }
      move_home();
    } else {
      data_ = pin(bytes, node(), place.kind);
    }
  }
}

Buffer::~Buffer() {
  if (!place_.on_host()) return;
  if (managed()) {
    cuda().cuMemFree(address_of(data_));
  } else if (place_.kind == HostKind::kRegistered) {
    cuda().cuMemHostUnregister(data_);
  } else if (!region_) {
    cuda().cuMemFreeHost(data_);
  }
}

void Buffer::move_home() const {
  const Stream stream = make_stream(gpu_);
  prefetch_home(stream.get());
  check_cuda(cuda().cuStreamSynchronize(stream.get()), "moving managed memory to the host");
}

void Buffer::prefetch_to_gpu(int gpu, CUstream stream) const {
  prefetch_managed(data_, bytes_, location_of_gpu(gpu), stream);
}

void Buffer::prefetch_home(CUstream stream) const {
  const OnGpu on(gpu_);
  prefetch_managed(data_, bytes_, location_of_node(node()), stream);
}

std::optional<RegionReport> Buffer::report() const {
  if (region_) return region_->report();
  if (!place_.on_host() || managed()) return std::nullopt;
  const std::size_t page = base_page_bytes();
  RegionReport report = count_pages(data_, bytes_ / page * page, page);
  if (report.pages.empty()) return std::nullopt;
  verify_placement(place_.placement, page, report);
  return report;
}

namespace {

using Kept = std::vector<std::unique_ptr<Buffer>>;

// The newest of those that nobody uses, up to kMaxSpare.
Kept spare_of(Kept kept) {
  Kept spare;
  std::size_t bytes = 0;
  for (auto& buffer : kept) {
    if (!buffer || bytes + buffer->size() > kMaxSpare) continue;
    bytes += buffer->size();
    spare.push_back(std::move(buffer));
  }
  return spare;
}

bool fits(const Buffer& buffer, const BufferWish& wish) {
  return buffer.place() == wish.place && buffer.size() == wish.bytes &&
         (!buffer.managed() || buffer.gpu() == wish.gpu);  // Advised for one GPU.
}

// Memory that is only kept in case gives way to memory that is needed.
std::unique_ptr<Buffer> make_buffer(const BufferWish& wish, Team& team, Kept& spare) {
  const auto make = [&] {
    auto buffer = std::make_unique<Buffer>(wish.place, wish.bytes, wish.gpu, team);
    buffer->report();
    return buffer;
  };
  if (spare.empty()) return make();
  try {
    return make();
  } catch (const Unavailable&) {
    spare.clear();
  }
  return make();
}

// Moves out of `old` what serves the wishes.
Kept reuse(Kept& old, const std::vector<BufferWish>& wishes) {
  Kept chosen(wishes.size());
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    const auto found = std::find_if(old.begin(), old.end(), [&](const auto& buffer) {
      return buffer && fits(*buffer, wishes[i]);
    });
    if (found != old.end()) chosen[i] = std::move(*found);
  }
  return chosen;
}

}  // namespace

std::vector<Buffer*> take_buffers(const std::vector<BufferWish>& wishes, Team& team, bool fresh) {
  // Never freed at exit: by then the driver may be gone, and the process takes it all along.
  static auto& kept = *new Kept;  // Those in use first.
  Kept chosen = reuse(kept, wishes);
  if (fresh) {
    // Held until there are new ones, which would have the same pages otherwise.
    chosen.insert(chosen.end(), std::make_move_iterator(kept.begin()),
                  std::make_move_iterator(kept.end()));
    kept = std::exchange(chosen, Kept(wishes.size()));
  }
  Kept spare = spare_of(std::move(kept));
  kept.clear();
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    if (!chosen[i]) chosen[i] = make_buffer(wishes[i], team, spare);
  }
  kept = std::move(chosen);
  std::vector<Buffer*> buffers;
  for (const auto& buffer : kept) buffers.push_back(buffer.get());
  std::move(spare.begin(), spare.end(), std::back_inserter(kept));
  return buffers;
}

void add_buffer_evidence(nlohmann::ordered_json& evidence, std::vector<std::string>& notes,
                         const std::vector<Buffer*>& buffers) {
  std::map<int, std::size_t> pages;
  std::size_t page_bytes = 0;
  std::size_t huge_bytes = 0;
  std::size_t bytes = 0;
  bool unknown = false;
  bool moving = false;
  bool advised = false;
  for (const Buffer* buffer : buffers) {
    bytes += buffer->size();
    if (!buffer->place().on_host()) continue;
    const std::optional<RegionReport> report = buffer->report();
    const bool stays = buffer->place().kind == HostKind::kManagedAdvised;
    moving = moving || (buffer->managed() && !stays);
    advised = advised || stays;
    unknown = unknown || (!report && !buffer->managed());
    if (!report) continue;
    for (const auto& [node, count] : report->pages) pages[node] += count;
    page_bytes = report->page_bytes;
    huge_bytes += report->huge_bytes;
  }
  evidence["region_bytes"] = bytes;
  if (!pages.empty()) {
    nlohmann::ordered_json by_node = nlohmann::ordered_json::object();
    for (const auto& [node, count] : pages) by_node[std::to_string(node)] = count;
    evidence["pages"] = by_node;
    evidence["page_bytes"] = page_bytes;
    evidence["huge_bytes"] = huge_bytes;
  }
  if (unknown) {
    notes.emplace_back(
        "the kernel cannot say on which node CUDA's own host memory is; it was allocated by a "
        "thread that may take pages of the node asked for only");
  }
  if (moving) notes.emplace_back("managed memory, brought back before each sample");
  if (advised) notes.emplace_back("managed memory, advised to stay on the host");
}

}  // namespace tierscope
