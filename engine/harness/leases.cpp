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
  if (key.pages == Pages::kHuge2M || key.pages == Pages::kHuge1G) return 0;
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

bool is_short_of_memory(const Unavailable& error) {
  return error.cause() == Cause::kMemory || error.cause() == Cause::kPages;
}

}  // namespace

void Leases::begin_visit(bool fresh) {
  fresh_ = fresh;
  for (const auto& pooled : pool_) pooled->leased = false;
  for (CachedTeam& cached : teams_) cached.used = false;
}

Team& Leases::team(std::span<const int> cpus) {
  const auto found = std::ranges::find_if(teams_, [cpus](const CachedTeam& cached) {
    return std::ranges::equal(cached.team->cpus(), cpus);
  });
  if (found != teams_.end()) {
    std::rotate(found, found + 1, teams_.end());
  } else {
    const auto idle = std::ranges::find_if_not(teams_, &CachedTeam::used);
    if (teams_.size() >= kMaxTeams && idle != teams_.end()) teams_.erase(idle);
    teams_.push_back({.team = std::make_unique<Team>(cpus), .used = true});
  }
  teams_.back().used = true;
  return *teams_.back().team;
}

std::vector<Lease> Leases::regions(std::span<const RegionKey> keys, Team& populating) {
  while (true) {
    try {
      return try_regions(keys, populating);
    } catch (const Unavailable& error) {
      if (!is_short_of_memory(error) || !drop_oldest_idle()) throw;
    }
  }
}

std::vector<Lease> Leases::try_regions(std::span<const RegionKey> keys, Team& populating) {
  std::vector<Pooled*> chosen = reuse(keys);
  std::vector<bool> is_new(keys.size());
  try {
    std::vector<const RegionKey*> missing;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (chosen[i] == nullptr) missing.push_back(&keys[i]);
    }
    make_room(missing);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (chosen[i] != nullptr) continue;
      chosen[i] = add(keys[i], populating);
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
    const auto at = std::ranges::find(pool_, chosen[i], &std::unique_ptr<Pooled>::get);
    std::rotate(at, at + 1, pool_.end());
  }
  return leases;
}

// An idle region of the pool for each key, leased from here on; none where a new one is needed.
std::vector<Leases::Pooled*> Leases::reuse(std::span<const RegionKey> keys) {
  std::vector<Pooled*> chosen;
  for (const RegionKey& key : keys) {
    const auto reusable = [&key](const std::unique_ptr<Pooled>& pooled) {
      return pooled->key == key && !pooled->leased;
    };
    if (fresh_) std::erase_if(pool_, reusable);
    const auto found = std::ranges::find_if(pool_, reusable);
    chosen.push_back(found == pool_.end() ? nullptr : found->get());
    if (chosen.back() != nullptr) chosen.back()->leased = true;
  }
  return chosen;
}

// Populates a new region; throws Failure where its pages are not where they were asked for.
Leases::Pooled* Leases::add(const RegionKey& key, Team& populating) {
  auto region = std::make_unique<Region>(key.bytes, key.pages, key.placement, populating);
  region->report();
  pool_.push_back(
      std::make_unique<Pooled>(Pooled{key, std::move(region), std::make_unique<std::any>(), true}));
  return pool_.back().get();
}

// Drops idle regions until the pool and what is missing hold no more than half of each node, and
// checks that those of one key fit together.
void Leases::make_room(std::span<const RegionKey* const> missing) {
  if (missing.empty()) return;
  for (const int node : nodes_with_memory()) {
    if (!available_.contains(node)) available_[node] = node_memory(node).available;
  }
  for (const RegionKey* key : missing) {
    const auto same = static_cast<std::size_t>(
        std::ranges::count_if(missing, [key](const RegionKey* other) { return *other == *key; }));
    if (same > 1) require_memory(same * key->bytes, key->pages, key->placement);
    for (const NodeShare& share : key->placement.nodes) {
      const auto known = available_.find(share.node);
      if (known == available_.end()) continue;  // Region says what is wrong with such a node.
      const auto held = [&] {
        std::size_t bytes = 0;
        for (const RegionKey* wanted : missing) bytes += bytes_on(share.node, *wanted);
        for (const auto& pooled : pool_) bytes += bytes_on(share.node, pooled->key);
        return bytes;
      };
      while (pool_.size() + missing.size() > kMaxRegions || held() > known->second / 2) {
        if (!drop_oldest_idle()) break;
      }
    }
  }
}

bool Leases::drop_oldest_idle() {
  const auto idle = std::ranges::find_if(pool_, [](const auto& pooled) { return !pooled->leased; });
  if (idle == pool_.end()) return false;
  pool_.erase(idle);
  return true;
}

bool Leases::drop_idle_regions() {
  return std::erase_if(pool_, [](const auto& pooled) { return !pooled->leased; }) > 0;
}

}  // namespace tierscope
