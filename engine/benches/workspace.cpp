#include "benches/workspace.h"

#include <algorithm>

#include "memory/requirements.h"

namespace tierscope {

Team& Workspace::team(std::span<const int> cpus) {
  if (!team_ || !std::ranges::equal(team_->cpus(), cpus)) {
    team_.reset();
    team_ = std::make_unique<Team>(cpus);
  }
  return *team_;
}

std::vector<Region*> Workspace::regions(std::size_t count, std::size_t bytes, Pages pages,
                                        const Placement& placement, Team& populating) {
  const RegionKind kind{.bytes = bytes, .pages = pages, .placement = placement};
  if (kind_ != kind) {
    regions_.clear();  // First, so that the new ones can have their memory.
    kind_ = kind;
  }
  if (regions_.size() > count) regions_.resize(count);
  const std::size_t missing = count - regions_.size();
  if (missing > 1) require_memory(missing * bytes, pages, placement);
  while (regions_.size() < count) {
    regions_.push_back(std::make_unique<Region>(bytes, pages, placement, populating));
  }
  std::vector<Region*> all;
  for (const auto& region : regions_) all.push_back(region.get());
  return all;
}

}  // namespace tierscope
