// A pointer chase over placed memory, as measurements of latency use it.
#pragma once

#include <any>
#include <cstdint>
#include <vector>

#include "access/chase.h"
#include "harness/leases.h"
#include "memory/rounds.h"
#include "protocol/object_reader.h"

namespace tierscope {

struct ChasePattern {
  ChaseOrder order;
  std::size_t stride;
  std::size_t size;
  Pages pages;

  // Of a region of whole rounds of the placement. Throws Unavailable where `size` holds none.
  RegionKey key(const Placement& placement) const {
    return {in_whole_rounds(size, pages, placement, {.shares = 1, .access_size = stride}), pages,
            placement};
  }
};

ChasePattern read_chase_pattern(const ObjectReader& reader);

// A walk along the cycle, from repetition to repetition, by one or several chases.
struct ChaseWalk {
  explicit ChaseWalk(std::size_t chases = 1) : at(chases) {}

  void** start = nullptr;
  std::vector<void**> at;   // Where each chase stands; they enter the cycle evenly spaced.
  std::uint64_t loads = 0;  // Of all chases, since the cycle was linked.
};

// Whether a region with these contents has the pattern's cycle already.
bool is_linked(const ChasePattern& pattern, const std::any& contents);

// Links the cycle through the region unless its last holder did so already. The walk goes on where
// it stood. Call it on the CPU that will chase.
void link_walk(const ChasePattern& pattern, const Lease& lease, ChaseWalk& walk);

// Bytes that `loads` loads of evenly spaced chases reach.
std::uint64_t chased_bytes(const ChasePattern& pattern, std::uint64_t loads);

}  // namespace tierscope
