// What measurements can take over from the one before: threads and placed memory.
#pragma once

#include <any>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "memory/region.h"
#include "threads/team.h"

namespace tierscope {

struct RegionKind {
  std::size_t bytes;
  Pages pages;
  Placement placement;
  bool operator==(const RegionKind&) const = default;
};

// A region, and what its last borrower says that it left in it; empty where nobody said anything.
struct Lent {
  Region* region;
  std::any* contents;
};

// Populating and reading back a gigabyte takes longer than measuring it, and a sweep asks for the
// same regions again and again; so the last ones are kept until something else is asked for.
class Workspace {
 public:
  // A team on these CPUs; valid until the next call.
  Team& team(std::span<const int> cpus);

  // A region of each of these kinds, populated by the threads of `populating` where it is new;
  // valid until the next call. Throws as Region does, before any memory is touched where those of
  // one kind together would not fit.
  std::vector<Lent> lend(std::span<const RegionKind> kinds, Team& populating);

 private:
  struct Kept {
    RegionKind kind;
    std::unique_ptr<Region> region;
    std::unique_ptr<std::any> contents;
  };

  std::unique_ptr<Team> team_;
  std::vector<Kept> kept_;
};

}  // namespace tierscope
