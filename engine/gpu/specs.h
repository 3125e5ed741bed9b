// What the measurements on GPUs are asked for; plain values, the same with and without CUDA.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "memory/placement.h"

namespace tierscope {

// Who moves the bytes: a copy engine (cudaMemcpyAsync), the GPU's multiprocessors (16-byte loads
// and stores), or their bulk copy unit (TMA, compute capability 9.0 and newer).
enum class CopyEngine { kCopyEngine, kMultiprocessors, kBulk };

enum class HostKind {
  kPinned,           // cudaHostAlloc
  kWriteCombined,    // cudaHostAlloc, uncached by the CPU
  kRegistered,       // ordinary pages of any size, then cudaHostRegister
  kPageable,         // ordinary pages that CUDA knows nothing of
  kManaged,          // cudaMallocManaged; pages come over as the GPU touches them
  kManagedPrefetch,  // ... as cudaMemPrefetchAsync moves them
  kManagedAdvised,   // ... stay on the host, and the GPU is told to reach them there
};

// One endpoint of a transfer, or what a chase goes through.
struct MemoryPlace {
  int gpu = -1;  // -1: host memory, and then the rest has a meaning.
  HostKind kind = HostKind::kPinned;
  Placement placement{.policy = Policy::kBind, .nodes = {}, .mechanism = Mechanism::kUser};
  Pages pages = Pages::kBase;

  bool on_host() const { return gpu < 0; }
  bool managed() const {
    return on_host() && (kind == HostKind::kManaged || kind == HostKind::kManagedPrefetch ||
                         kind == HostKind::kManagedAdvised);
  }
  // Pages of the others come over one by one, or through the driver's own bounce buffer: the call
  // itself waits for the GPU, so a stream that is held at a gate would hold the caller, too.
  bool can_wait_at_gate() const {
    return !on_host() || (kind != HostKind::kPageable && kind != HostKind::kManaged &&
                          kind != HostKind::kManagedPrefetch);
  }
  bool operator==(const MemoryPlace&) const = default;
};

struct Transfer {
  std::string name;
  MemoryPlace source;
  MemoryPlace destination;
  int gpu;  // Whose engine moves the bytes.
  CopyEngine engine;
  int streams;
  bool reported;  // False: only there to contend with the others.

  bool can_wait_at_gate() const {
    return source.can_wait_at_gate() && destination.can_wait_at_gate();
  }
};

// What the three kinds have in common.
struct GpuCommon {
  std::vector<int> cpus;  // The first issues all work; all of them populate host memory.
  double sample_s;        // How long one sample should last.
  bool trace;
};

struct GpuCopySpec {
  GpuCommon common;
  std::size_t size;       // Bytes that one copy moves, row padding left out.
  std::size_t offset;     // Bytes before the first one, in both memories.
  std::size_t row_bytes;  // 2D copies: bytes of a row; 0 for copies in one piece.
  std::size_t pitch;      // 2D copies: bytes from row to row.
  bool verify;
  bool call_latency;  // The latency of one call, too.
  std::vector<Transfer> transfers;

  // Timed by the GPUs' events between a gate and the last byte; else by the host's clock.
  bool gated() const {
    return std::all_of(transfers.begin(), transfers.end(),
                       [](const Transfer& transfer) { return transfer.can_wait_at_gate(); });
  }
};

enum class GpuOperation { kRead, kWrite, kCopy, kScale, kAdd, kTriad, kRandom };

struct GpuMemorySpec {
  GpuCommon common;
  int gpu;
  GpuOperation operation;
  std::size_t size;         // Bytes of each array.
  std::size_t access_size;  // Bytes that a random access reads at once: 16 to 512.
};

struct GpuLatencySpec {
  GpuCommon common;
  int gpu;
  MemoryPlace memory;
  bool bulk;  // Each link is fetched by a bulk copy, not by a load.
  std::size_t size;
  std::size_t stride;
  bool linear;                // From slot to slot in order; else a random cycle.
  bool per_multiprocessor;    // Percentiles over the multiprocessors, too.
  bool every_multiprocessor;  // Each sample is the mean over all of them.
};

}  // namespace tierscope
