#include "harness/leases.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "errors.h"
#include "memory/requirements.h"
#include "memory/system_memory.h"

namespace tierscope {
namespace {

constexpr std::size_t kMaxTeams = 8;
constexpr std::size_t kMaxRegions = 32;

// Bytes of the node's ordinary memory that such a region takes; hugetlb pages have pools of their
// own, which nothing else can use.
std::size_t bytes_on(int node, const RegionKey& key) {
  if (is_hugetlb(key.pages)) return 0;
  const bool weighted =
      key.placement.policy == Policy::kWeighted || key.placement.policy == Policy::kPartition;
  std::size_t here = 0;
  std::size_t all = 0;
  for (const NodeShare& share : key.placement.nodes) {
    const auto weight = static_cast<std::size_t>(weighted ? share.weight : 1);
    all += weight;
    if (share.node == node) here += weight;
  }
  return key.bytes / all * here;
}

bool is_in_pool(const Placement& placement) {
  return placement.persistent && (placement.persistent->backing == Backing::kPool ||
                                  placement.persistent->backing == Backing::kPoolObjects);
}

// The keys, those of arrays in a pool with the number of arrays that share it.
std::vector<RegionKey> with_pools(std::span<const RegionKey> asked) {
  std::vector<RegionKey> keys(asked.begin(), asked.end());
  for (RegionKey& key : keys) {
    if (!is_in_pool(key.placement)) continue;
    key.in_pool =
        static_cast<std::size_t>(std::ranges::count_if(asked, [&key](const RegionKey& other) {
          return other.bytes == key.bytes && other.pages == key.pages &&
                 other.placement == key.placement;
        }));
  }
  return keys;
}

// A pool for all arrays of the key, made by a thread of the team, whose policy its pages follow.
std::shared_ptr<Pool> make_pool(const RegionKey& key, Team& team) {
  const std::size_t unit = page_bytes(key.pages);
  const PoolWanted wanted{
      .bytes = (key.bytes + unit - 1) / unit * unit, .count = key.in_pool, .unit_bytes = unit};
  if (key.placement.is_bound()) {
    require_memory(wanted.count * wanted.bytes, key.pages, key.placement, true);
  }
  std::shared_ptr<Pool> pool;
  team.run([&](int thread) {
    if (thread == 0) pool = std::make_shared<Pool>(wanted, key.placement);
  });
  return pool;
}

bool is_short_of_memory(const Unavailable& error) {
  return error.cause() == Cause::kMemory || error.cause() == Cause::kPages;
}

}  // namespace

void Leases::begin_repetition(bool fresh) {
  fresh_ = fresh;
  leased_.clear();
  for (const auto& pooled : pool_) pooled->leased = false;
  for (CachedTeam& cached : teams_) cached.used = false;
}

std::vector<nlohmann::json> Leases::refuse_exchange(const nlohmann::json&) {
  throw Unavailable(Cause::kTool, "this measurement takes several processes",
                    "start it by `mpirun -n RANKS tierscope ...`");
}

Team& Leases::team(const CpuSets& sets) {
  const auto found = std::ranges::find_if(
      teams_, [&sets](const CachedTeam& cached) { return cached.team->sets() == sets; });
  if (found != teams_.end()) {
    std::rotate(found, found + 1, teams_.end());
  } else {
    const auto idle = std::ranges::find_if_not(teams_, &CachedTeam::used);
    if (teams_.size() >= kMaxTeams && idle != teams_.end()) teams_.erase(idle);
    teams_.push_back({.team = std::make_unique<Team>(sets), .used = true});
  }
  teams_.back().used = true;
  return *teams_.back().team;
}

std::vector<Lease> Leases::regions(std::span<const RegionKey> asked, Team& populating,
                                   const Fits& fits) {
  const std::vector<RegionKey> keys = with_pools(asked);
  while (true) {
    try {
      return try_regions(keys, populating, fits);
    } catch (const Unavailable& error) {
      if (!is_short_of_memory(error) || !drop_oldest_idle()) throw;
    }
  }
}

std::vector<Lease> Leases::try_regions(std::span<const RegionKey> keys, Team& populating,
                                       const Fits& fits) {
  std::vector<Pooled*> chosen = reuse(keys, fits);
  std::vector<bool> is_new(keys.size());
  try {
    Missing missing;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (chosen[i] == nullptr) missing.push_back(&keys[i]);
    }
    make_room(missing);
    std::shared_ptr<Pool> pool;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (chosen[i] != nullptr) continue;
      if (keys[i].in_pool > 0 && (i == 0 || keys[i] != keys[i - 1])) {
        pool = make_pool(keys[i], populating);
      }
      chosen[i] = add(keys[i], populating, keys[i].in_pool > 0 ? pool : nullptr);
      is_new[i] = true;
    }
  } catch (...) {
    for (Pooled* pooled : chosen) {
      if (pooled != nullptr) pooled->leased = false;
    }
    throw;
  }
  std::vector<Lease> leases;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    leases.push_back({.region = chosen[i]->region.get(),
                      .is_new = is_new[i],
                      .found = std::exchange(*chosen[i]->contents, {}),
                      .contents = chosen[i]->contents.get()});
    leased_.insert(chosen[i]->number);
    const auto at = std::ranges::find(pool_, chosen[i], &std::unique_ptr<Pooled>::get);
    std::rotate(at, at + 1, pool_.end());
  }
  return leases;
}

// An idle region of the pool for each key, leased from here on; none where a new one is needed.
std::vector<Leases::Pooled*> Leases::reuse(std::span<const RegionKey> keys, const Fits& fits) {
  drop_incomplete(keys);
  const bool pooled =
      std::ranges::any_of(keys, [](const RegionKey& key) { return key.in_pool > 0; });
  std::vector<Pooled*> chosen(keys.size());
  const auto lease_where = [&](const Fits& wanted) {
    Missing missing;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (chosen[i] == nullptr) {
        chosen[i] = lease_idle(keys[i], [&](const std::any& found) { return wanted(i, found); });
      }
      if (chosen[i] == nullptr) missing.push_back(&keys[i]);
    }
    return missing;
  };
  if (fits) lease_where(fits);
  const Missing missing =
      lease_where([](std::size_t, const std::any& found) { return !found.has_value(); });
  if (!fits || pooled || !has_room(missing))
    lease_where([](std::size_t, const std::any&) { return true; });
  if (fresh_) retire(chosen);
  return chosen;
}

// The kernel gives pages that were freed last first, so new pages are the old ones unless those are
// still held. Files are an exception: their blocks are not chosen by the kernel's allocator.
void Leases::retire(std::vector<Pooled*>& chosen) {
  for (Pooled*& pooled : chosen) {
    if (pooled == nullptr) continue;
    pooled->leased = false;
    pooled->retired = true;
    pooled->contents->reset();
    pooled = nullptr;
  }
  std::erase_if(pool_,
                [](const auto& one) { return one->retired && one->key.placement.persistent; });
}

// Arrays of a pool of which others had to make room are of no use.
void Leases::drop_incomplete(std::span<const RegionKey> keys) {
  for (const RegionKey& key : keys) {
    const auto is_one = [&key](const auto& one) { return one->is_idle() && one->key == key; };
    if (static_cast<std::size_t>(std::ranges::count_if(pool_, is_one)) < key.in_pool) {
      std::erase_if(pool_, is_one);
    }
  }
}

// The least recently used idle region of the key whose contents are wanted, leased from here on;
// null where there is none.
Leases::Pooled* Leases::lease_idle(const RegionKey& key,
                                   const std::function<bool(const std::any&)>& wanted) {
  const auto found = std::ranges::find_if(pool_, [&](const auto& pooled) {
    return pooled->is_idle() && pooled->key == key && wanted(*pooled->contents);
  });
  if (found == pool_.end()) return nullptr;
  (*found)->leased = true;
  return found->get();
}

// Populates a new region; throws Failure where its pages are not where they were asked for.
Leases::Pooled* Leases::add(const RegionKey& key, Team& populating,
                            const std::shared_ptr<Pool>& pool) {
  auto region = std::make_unique<Region>(key.bytes, key.pages, key.placement, populating, pool);
  region->report();
  pool_.push_back(std::make_unique<Pooled>(
      Pooled{key, std::move(region), std::make_unique<std::any>(), true, false, ++made_}));
  return pool_.back().get();
}

// Whether the pool and what is missing hold no more than half of what each node had at first.
bool Leases::has_room(const Missing& missing) {
  const auto usable =
      std::ranges::count(pool_, false, [](const auto& one) { return one->retired; });
  if (static_cast<std::size_t>(usable) + missing.size() > kMaxRegions) return false;
  for (const int node : nodes_with_memory()) {
    if (!available_.contains(node)) available_[node] = node_memory(node).available;
    std::size_t held = 0;
    for (const RegionKey* wanted : missing) held += bytes_on(node, *wanted);
    for (const auto& pooled : pool_) held += bytes_on(node, pooled->key);
    if (held > available_[node] / 2) return false;
  }
  return true;
}

// Drops idle regions until there is room, and checks that those of one key fit together.
void Leases::make_room(const Missing& missing) {
  for (const RegionKey* key : missing) {
    const auto same = static_cast<std::size_t>(
        std::ranges::count_if(missing, [key](const RegionKey* other) { return *other == *key; }));
    if (same > 1 && !key->placement.persistent)
      require_memory(same * key->bytes, key->pages, key->placement);
  }
  while (!missing.empty() && !has_room(missing)) {
    if (!drop_oldest_idle()) break;
  }
}

bool Leases::drop_oldest_idle() {
  auto idle = std::ranges::find_if(pool_, [](const auto& pooled) { return pooled->retired; });
  if (idle == pool_.end()) {
    idle = std::ranges::find_if(pool_, [](const auto& pooled) { return !pooled->leased; });
  }
  if (idle == pool_.end()) return false;
  pool_.erase(idle);
  return true;
}

bool Leases::drop_idle_regions() {
  return std::erase_if(pool_, [](const auto& pooled) { return !pooled->leased; }) > 0;
}

}  // namespace tierscope
