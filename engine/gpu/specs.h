// What the measurements on GPUs are asked for; plain values, the same with and without CUDA.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gpu/stream_arrays.h"
#include "memory/placement.h"

namespace tierscope {

// Who moves the bytes: a copy engine (cuMemcpyAsync), the GPU's multiprocessors (16-byte loads
// and stores), or their bulk copy unit (TMA, compute capability 9.0 and newer).
enum class CopyEngine { kCopyEngine, kMultiprocessors, kBulk };

enum class HostKind {
  kPinned,           // cuMemHostAlloc
  kWriteCombined,    // cuMemHostAlloc, uncached by the CPU
  kRegistered,       // ordinary pages of any size, then cuMemHostRegister
  kPageable,         // ordinary pages that CUDA knows nothing of
  kManaged,          // cuMemAllocManaged; pages come over as the GPU touches them
  kManagedPrefetch,  // ... as cuMemPrefetchAsync moves them
  kManagedAdvised,   // ... stay on the host, and the GPU is told to reach them there
};

// One endpoint of a transfer, or what a chase goes through.
struct MemoryPlace {
  int gpu = -1;  // -1: host memory, and then the rest has a meaning.
  int rank = 0;  // Of several processes that measure together, the one whose memory it is.
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
  int rank = 0;   // Of several processes that measure together, the one that has the GPU.

  // Tells the GPU from all others, those of other processes too.
  std::pair<int, int> worker() const { return {rank, gpu}; }
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
  int rank = 0;  // Of this process; transfers and memory of other ranks are left to them.

  bool moves(const Transfer& transfer) const { return transfer.rank == rank; }
  bool holds(const MemoryPlace& place) const { return place.rank == rank; }
  // Timed by the GPUs' events between a gate and the last byte; else by the host's clock.
  bool gated() const {
    return std::all_of(transfers.begin(), transfers.end(),
                       [](const Transfer& transfer) { return transfer.can_wait_at_gate(); });
  }
};

// How a process gets at memory of another one's GPU: by fabric handles (over NVLink, from other
// hosts, too), or by CUDA's interprocess handles (of one host).
enum class HandleKind { kFabric, kIpc };

// Copies among GPUs of several processes (MPI ranks), each with one.
struct GpuRanksSpec {
  GpuCopySpec copies;
  std::vector<int> gpus;              // By rank: its GPU, as it numbers them.
  std::optional<HandleKind> handles;  // None: the first kind that all can use.

  // Those whose GPU or memory is in a transfer, in ascending order.
  std::vector<int> taking_part() const {
    std::set<int> ranks;
    for (const Transfer& transfer : copies.transfers) {
      ranks.insert({transfer.rank, transfer.source.rank, transfer.destination.rank});
    }
    return {ranks.begin(), ranks.end()};
  }
  // The rank that says when a row is taken, and for how long.
  int leader() const { return copies.transfers.front().rank; }
};

struct GpuMemorySpec {
  GpuCommon common;
  int gpu;
  GpuOperation operation;
  std::size_t size;         // Bytes of each array.
  std::size_t access_size;  // Bytes that a random access reads at once: 16 to 512.
};

// Who moves pieces of a cache: a copy engine, told of each piece (cuMemcpyAsync) or of all at once
// (cuMemcpyBatchAsync), or one kernel.
enum class PieceEngine { kCopyEngine, kBatch, kKernel };

// Pieces that are moved between a pool in a GPU's memory and objects somewhere else.
struct GpuPiecesSpec {
  GpuCommon common;
  int gpu;
  std::size_t pool_bytes;
  std::size_t piece;  // Bytes of each.
  std::size_t count;  // Of pieces.
  PieceEngine engine;
  int multiprocessors;  // That a kernel may take; 0: as few as are nearly as fast as more.
  bool to_pool;
  MemoryPlace store;        // Host memory, of objects or of buffers that they go through,
  std::size_t store_bytes;  // which is taken with the pool; 0: none.
  std::size_t lanes;        // Moves that may be under way at once.
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
