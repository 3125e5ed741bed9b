#include "memory/pool.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "errors.h"
#include "memory/numa_policy.h"
#include "memory/persistent.h"
#include "memory/persistent_facts.h"
#include "memory/system_memory.h"

namespace tierscope {
namespace {

constexpr const char* kLayout = "tierscope";
constexpr std::size_t kChunk = std::size_t{256} << 10;  // Objects this large take whole ones.
constexpr std::size_t kHeader = 64;                     // At most, before an object's bytes.
constexpr std::size_t kWorthSplitting = std::size_t{64} << 20;
constexpr std::size_t kZoneMetadata = std::size_t{1} << 20;  // Its header and chunk headers.
constexpr std::size_t kPoolMetadata = std::size_t{8} << 20;  // Headers, lanes; at most 4 MiB used.

std::size_t up_to(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// What an object for a piece takes of its zone; it is aligned inside.
std::size_t taken_by(std::size_t piece, std::size_t unit) {
  return up_to(piece + unit + kHeader, kChunk);
}

// The file has no name; this process and its children reach it by its descriptor.
std::string path_to(const Descriptor& file) { return fmt::format("/proc/self/fd/{}", file.get()); }

std::byte* aligned(std::byte* at, std::size_t unit) {
  return at + (unit - reinterpret_cast<std::uintptr_t>(at) % unit) % unit;
}

}  // namespace

std::vector<std::vector<std::size_t>> cut_into_pieces(const PoolWanted& wanted) {
  const std::size_t unit = wanted.unit_bytes;
  const std::size_t zone = wanted.max_object / kChunk * kChunk;
  std::size_t left = zone;  // Of the zone that is being filled.
  std::vector<std::vector<std::size_t>> arrays(wanted.count);
  for (std::vector<std::size_t>& pieces : arrays) {
    for (std::size_t rest = wanted.bytes; rest > 0;) {
      const std::size_t spared = unit + kHeader;
      const std::size_t most = left > spared ? (left - spared) / unit * unit : 0;
      const bool fits = rest <= most;
      if (!fits && left < zone && most < kWorthSplitting) {
        left = zone;
        continue;
      }
      const std::size_t piece = fits ? rest : most;
      pieces.push_back(piece);
      rest -= piece;
      left -= std::min(left, taken_by(piece, unit));
      if (left <= spared) left = zone;
    }
  }
  return arrays;
}

Pool::Pool(const PoolWanted& wanted, const Placement& placement) {
  const Persistent persistent = placement.persistent.value_or(Persistent{});
  const auto pieces = cut_into_pieces(wanted);
  std::size_t bytes = kPoolMetadata;
  for (const auto& array : pieces) {
    for (const std::size_t piece : array) bytes += taken_by(piece, wanted.unit_bytes);
  }
  // What zones' ends may leave unused comes on top.
  const std::size_t zones = bytes / wanted.max_object + 1;
  bytes += zones * (kZoneMetadata + (zones > 1 ? kWorthSplitting + wanted.unit_bytes : 0));
  bytes = up_to(bytes + wanted.spare, base_page_bytes());

  // Before the library is loaded, so that it sees the variable.
  file_ = make_unnamed_file(persistent.path, bytes);
  if (facts_of(file_).file_system == "tmpfs") setenv("PMEM_IS_PMEM_FORCE", "1", 0);
  const Pmemobj& library = pmemobj();
  // The library allocates all of the file, so that its pages come by this thread's policy.
  std::optional<ThreadOnNode> policy;
  if (persistent.bound) policy.emplace(placement.nodes.front().node);
  pool_ = library.create(path_to(file_).c_str(), kLayout, 0, 0600);
  if (pool_ == nullptr) {
    throw Unavailable(Cause::kStorage,
                      fmt::format("{}: no pool can be made: {}", persistent.path, library.error()),
                      "ask for a smaller size, or name another directory");
  }
  try {
    allocate(wanted, pieces);
  } catch (...) {
    library.close(pool_);
    throw;
  }
}

void Pool::allocate(const PoolWanted& wanted, const std::vector<std::vector<std::size_t>>& pieces) {
  const Pmemobj& library = pmemobj();
  for (const auto& array : pieces) {
    PoolArray& made = arrays_.emplace_back();
    for (const std::size_t bytes : array) {
      PmemId id;
      if (library.alloc(pool_, &id, bytes + wanted.unit_bytes, 1, nullptr, nullptr) != 0) {
        throw Failure(fmt::format("the pool has no room for an object of {}: {}", size_text(bytes),
                                  library.error()));
      }
      auto* const start = static_cast<std::byte*>(library.direct(id));
      std::byte* const data = aligned(start, wanted.unit_bytes);
      id.offset += static_cast<std::uint64_t>(data - start);
      made.push_back({.id = id, .data = data, .bytes = bytes});
    }
  }
}

Pool::~Pool() { close(); }

void Pool::close() {
  if (pool_ != nullptr) pmemobj().close(pool_);
  pool_ = nullptr;
}

void Pool::open() {
  if (pool_ != nullptr) return;
  const Pmemobj& library = pmemobj();
  pool_ = library.open(path_to(file_).c_str(), kLayout);
  if (pool_ == nullptr) {
    throw Unavailable(Cause::kStorage,
                      fmt::format("the pool cannot be opened again: {}", library.error()));
  }
  for (PoolArray& array : arrays_) {
    for (PoolPiece& piece : array) piece.data = static_cast<std::byte*>(library.direct(piece.id));
  }
}

bool Pool::is_pmem() const {
  static void* const libpmem = dlopen("libpmem.so.1", RTLD_NOW | RTLD_LOCAL);
  using Ask = int (*)(const void* at, std::size_t bytes);
  static const auto ask =
      reinterpret_cast<Ask>(libpmem == nullptr ? nullptr : dlsym(libpmem, "pmem_is_pmem"));
  const PoolPiece& piece = arrays_.front().front();
  return is_synchronous(piece.data) || (ask != nullptr && ask(piece.data, piece.bytes) != 0);
}

}  // namespace tierscope
