// A pointer chase over placed memory, as measurements of latency use it.
#pragma once

#include <cstdint>

#include "access/chase.h"
#include "harness/leases.h"
#include "protocol/object_reader.h"

namespace tierscope {

struct ChasePattern {
  ChaseOrder order;
  std::size_t stride;
  std::size_t size;
  Pages pages;

  RegionKey key(const Placement& placement) const { return {size, pages, placement}; }
};

// Reads the key "pattern" of a measurement or workload.
ChasePattern read_chase_pattern(ObjectReader& measurement);

// Where the cycle through the region starts; links it unless its last holder did so already. Call
// it on the CPU that will chase.
void** linked_chase(const ChasePattern& pattern, const Lease& lease);

// Bytes that `loads` loads of the cycle reach.
std::uint64_t chased_bytes(const ChasePattern& pattern, std::uint64_t loads);

}  // namespace tierscope
