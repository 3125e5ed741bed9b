#include "benches/workspace.h"

#include <algorithm>
#include <utility>

#include "memory/requirements.h"

namespace tierscope {

Team& Workspace::team(std::span<const int> cpus) {
  if (!team_ || !std::ranges::equal(team_->cpus(), cpus)) {
    team_.reset();
    team_ = std::make_unique<Team>(cpus);
  }
  return *team_;
}

std::vector<Lent> Workspace::lend(std::span<const RegionKind> kinds, Team& populating) {
  std::vector<Kept> before = std::exchange(kept_, {});
  std::vector<Kept> now;
  for (const RegionKind& kind : kinds) {
    const auto found = std::ranges::find_if(
        before, [&](const Kept& kept) { return kept.region && kept.kind == kind; });
    if (found == before.end()) {
      now.push_back({.kind = kind, .region = nullptr, .contents = std::make_unique<std::any>()});
    } else {
      now.push_back(std::move(*found));
    }
  }
  before.clear();  // First, so that the new ones can have their memory.
  for (const Kept& kept : now) {
    const auto missing = static_cast<std::size_t>(std::ranges::count_if(
        now, [&](const Kept& other) { return !other.region && other.kind == kept.kind; }));
    if (missing > 1)
      require_memory(missing * kept.kind.bytes, kept.kind.pages, kept.kind.placement);
  }
  std::vector<Lent> lent;
  for (Kept& kept : now) {
    if (!kept.region) {
      const auto& [bytes, pages, placement] = kept.kind;
      kept.region = std::make_unique<Region>(bytes, pages, placement, populating);
    }
    lent.push_back({.region = kept.region.get(), .contents = kept.contents.get()});
    kept_.push_back(std::move(kept));
  }
  return lent;
}

}  // namespace tierscope
