// What measurements can take over from the one before: threads and placed memory.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "memory/region.h"
#include "threads/team.h"

namespace tierscope {

// Populating and reading back a gigabyte takes longer than measuring it, and a sweep asks for the
// same regions again and again; so the last ones are kept until something else is asked for.
class Workspace {
 public:
  // A team on these CPUs; valid until the next call.
  Team& team(std::span<const int> cpus);

  // `count` regions of the same kind, populated by the threads of `populating`, contents undefined;
  // valid until the next call. Throws as Region does, before any memory is touched where all of
  // them together would not fit.
  std::vector<Region*> regions(std::size_t count, std::size_t bytes, Pages pages,
                               const Placement& placement, Team& populating);

 private:
  struct RegionKind {
    std::size_t bytes;
    Pages pages;
    Placement placement;
    bool operator==(const RegionKind&) const = default;
  };

  std::unique_ptr<Team> team_;
  std::optional<RegionKind> kind_;
  std::vector<std::unique_ptr<Region>> regions_;
};

}  // namespace tierscope
