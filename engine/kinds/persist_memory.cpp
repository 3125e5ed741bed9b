#include "kinds/persist_memory.h"

#include <fmt/format.h>

#include <array>

#include "errors.h"
#include "kinds/evidence.h"
#include "memory/system_memory.h"

namespace tierscope {
namespace {

// Room of the heap for undo logs and objects: of a thread a few blocks, and what the library rounds
// them up to.
std::size_t spare_bytes(const PersistSpec& spec) {
  constexpr std::size_t kChunks = std::size_t{16} << 20;
  return spec.cpus.size() * (4 * spec.block_size + (std::size_t{1} << 20)) + kChunks;
}

// Whether blocks get to the medium that way: flushed lines of a page cache do not.
bool reaches(const PersistMethod& method, Durable by) {
  return method.persists() && (method.by != PersistBy::kInstructions || by == Durable::kFlush);
}

// The kernel has nothing to write where pages are all that there is.
void require_storage(const PersistMethod& method, const Region& region) {
  if (!method.needs_file()) return;
  const std::string& type = region.persistent()->facts().file_system;
  if (type != "tmpfs" && type != "ramfs") return;
  throw Unavailable(Cause::kStorage,
                    fmt::format("{} has no storage: msync and fdatasync write nothing there", type),
                    "name a directory on a drive or on persistent memory");
}

}  // namespace

bool PersistMemory::open(const PersistSpec& spec, Leases& leases, Team& team) {
  return spec.method.needs_pool() ? open_pool(spec, leases.fresh(), team)
                                  : open_region(spec, leases, team);
}

bool PersistMemory::open_region(const PersistSpec& spec, Leases& leases, Team& team) {
  const std::array keys{RegionKey{spec.size, spec.pages, spec.placement}};
  const Lease lease = leases.regions(keys, team).front();
  region_ = lease.region;
  require_storage(spec.method, *region_);
  const auto* const found = std::any_cast<std::shared_ptr<const int>>(&lease.found);
  const bool ours = written_ != nullptr && found != nullptr && *found == written_;
  if (!ours) written_ = std::make_shared<const int>();
  *lease.contents = written_;
  return ours;
}

bool PersistMemory::open_pool(const PersistSpec& spec, bool fresh, Team& team) {
  if (pool_ != nullptr && !fresh) return true;
  mapping_.reset();
  pool_.reset();
  const std::size_t unit = page_bytes(spec.pages);
  const std::size_t bytes = (spec.size + unit - 1) / unit * unit;
  placement_ = spec.placement;
  pool_ = std::make_shared<Pool>(
      PoolWanted{.bytes = bytes, .count = 1, .unit_bytes = unit, .spare = spare_bytes(spec)},
      spec.placement);
  mapping_.emplace(bytes, spec.pages, unit, spec.placement, pool_);
  if (mapping_->array()->size() != 1) {
    throw Unavailable(
        Cause::kMemory,
        fmt::format("{} are more than one object of a pool holds", size_text(spec.size)),
        "ask for a smaller --size, up to 15 GiB");
  }
  // The pool's pages are there; each thread's page tables come with the first touch.
  team.run([&](int thread) {
    const auto threads = static_cast<std::size_t>(team.size());
    for (std::size_t at = static_cast<std::size_t>(thread) * unit; at < bytes;
         at += threads * unit) {
      *reinterpret_cast<volatile std::byte*>(data() + at) = std::byte{0};
    }
  });
  return false;
}

nlohmann::ordered_json PersistMemory::evidence(std::span<const WalkedShare> walks,
                                               const PersistMethod& method) const {
  if (!mapping_) {
    nlohmann::ordered_json evidence = region_evidence({region_}, walks);
    if (const PersistentMapping* const held = region_->persistent(); held != nullptr) {
      evidence["persistent"] = held->evidence(reaches(method, held->durable_by()));
    }
    return evidence;
  }
  nlohmann::ordered_json evidence = mapping_evidence(*mapping_, placement_);
  evidence["persistent"] = mapping_->evidence(reaches(method, mapping_->durable_by()));
  return evidence;
}

}  // namespace tierscope
