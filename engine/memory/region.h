// A piece of memory whose pages are where they were asked to be.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "memory/mapping.h"
#include "memory/persistent.h"
#include "memory/placement.h"
#include "threads/team.h"

namespace tierscope {

class Region {
 public:
  // Checks (require_memory), reserves, places and populates: every page is allocated and zero.
  // bytes is rounded up to whole pages of the kind asked for; data() is aligned to such a page.
  // The threads of team share the populating; page tables come to their nodes where the policy is
  // not an interleaving by user, so give the threads that will use the region.
  // On persistent memory, nothing is zero that was not before; with a pool, which backings pool and
  // pool-objects take, it is that pool's next array, else the only one of a pool of its own.
  // Throws Unavailable where there is no such memory, Interrupted once a signal came, else Failure.
  Region(std::size_t bytes, Pages pages, const Placement& placement, Team& team,
         std::shared_ptr<Pool> pool = nullptr);

  std::byte* data() const { return persistent_ ? persistent_->data() : memory_.get(); }
  std::size_t size() const { return bytes_; }  // As asked for.

  // Reads back on which node each page is, and throws Failure unless that is what was asked for.
  // Counts in pages of the kind asked for; of transparent huge pages, in base pages where the
  // kernel could not make all of them huge. Costs 13 ms for 262144 pages, 0.2 ms at least for THP.
  // Of memory whose pages have no node that the kernel tells (DAX), none are counted.
  RegionReport report() const;

  // Of a placement on persistent memory, what holds it; else null.
  const PersistentMapping* persistent() const { return persistent_ ? &*persistent_ : nullptr; }

 private:
  void place();
  void populate(Team& team);
  void populate_slice(PageRange slice);
  void populate_range(PageRange range);
  bool spread_by_user() const;

  std::size_t bytes_;
  Pages pages_;
  Placement placement_;
  std::size_t page_bytes_ = 0;  // What is placed as one.
  std::size_t page_count_ = 0;
  Mapping memory_;
  std::optional<PersistentMapping> persistent_;  // In place of memory_.
};

}  // namespace tierscope
