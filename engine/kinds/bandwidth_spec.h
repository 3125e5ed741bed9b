// What a measurement of bandwidth asks for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "access/kernel.h"
#include "harness/leases.h"
#include "memory/placement.h"
#include "protocol/object_reader.h"
#include "sampling/rule.h"

namespace tierscope {

struct BandwidthSpec {
  CpuSets threads;                    // Which CPUs each of them runs on.
  std::vector<int> cpus;              // All CPUs of those.
  std::vector<Placement> placements;  // Of the arrays a, b and c, as many as are used.
  SamplingRule sampling;
  Operation operation;
  Order order;
  std::size_t access_size;  // Whole lines.
  std::size_t narrow;       // Bytes of an instruction: 8, 16 or 32; 0: as wide as registers.
  std::size_t stride;       // 0 but for order strided.
  double zipf_alpha;        // Of order zipf.
  bool shared;              // Each thread walks all of the arrays, not a share of its own.
  std::size_t size;         // Bytes of each array.
  Pages pages;
  std::string isa;
  bool apart;  // Arrays b or c have a placement of their own.

  // Object ids are translated for each element.
  bool by_objects() const {
    return std::ranges::any_of(placements, [](const Placement& one) {
      return one.persistent && one.persistent->backing == Backing::kPoolObjects;
    });
  }
  const OperationTraits& traits() const { return traits_of(operation); }
  double bytes_per_access() const {
    return static_cast<double>(access_size) * traits().program_bytes;
  }
};

// The regions of its arrays.
std::vector<RegionKey> array_keys(const BandwidthSpec& spec);

// Reads a measurement of the plan; throws PlanError, naming the key, where it is wrong.
BandwidthSpec read_bandwidth(const ObjectReader& measurement);

}  // namespace tierscope
