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
  std::vector<Pooled*> chosen;
  std::vector<const RegionKey*> missing;
  for (const RegionKey& key : keys) {
    const auto reusable = [&](const std::unique_ptr<Pooled>& pooled) {
      return pooled->key == key && !pooled->leased &&
             std::ranges::find(chosen, pooled.get()) == chosen.end();
    };
    if (fresh_) std::erase_if(pool_, reusable);
    const auto found = std::ranges::find_if(pool_, reusable);
    chosen.push_back(found == pool_.end() ? nullptr : found->get());
    if (found == pool_.end()) missing.push_back(&key);
  }
  for (Pooled* pooled : chosen) {
    if (pooled != nullptr) pooled->leased = true;
  }
  try {
    make_room(missing);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (chosen[i] != nullptr) continue;
      auto region =
          std::make_unique<Region>(keys[i].bytes, keys[i].pages, keys[i].placement, populating);
      region->report();  // Fails where pages are not where they were asked for.
      pool_.push_back(std::make_unique<Pooled>(
          Pooled{keys[i], std::move(region), std::make_unique<std::any>(), true}));
      chosen[i] = pool_.back().get();
    }
  } catch (...) {
    for (Pooled* pooled : chosen) {
      if (pooled != nullptr) pooled->leased = false;
    }
    throw;
  }
  std::vector<Lease> leases;
  for (Pooled* pooled : chosen) {
    leases.push_back({.region = pooled->region.get(),
                      .found = std::exchange(*pooled->contents, {}),
                      .contents = pooled->contents.get()});
    const auto at = std::ranges::find(pool_, pooled, &std::unique_ptr<Pooled>::get);
    std::rotate(at, at + 1, pool_.end());
  }
  return leases;
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
