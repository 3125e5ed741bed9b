// What a measurement of bandwidth asks for.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "access/kernel.h"
#include "memory/placement.h"
#include "protocol/object_reader.h"
#include "sampling/rule.h"

namespace tierscope {

struct BandwidthSpec {
  std::vector<int> cpus;
  Placement placement;
  SamplingRule sampling;
  Operation operation;
  Order order;
  std::size_t access_size;
  std::size_t stride;  // 0 but for order strided.
  bool shared;         // Each thread walks all of the arrays, not a share of its own.
  std::size_t size;    // Bytes of each array.
  Pages pages;
  std::string isa;

  const OperationTraits& traits() const { return traits_of(operation); }
  double bytes_per_access() const {
    return static_cast<double>(access_size) * traits().program_bytes;
  }
};

// Reads a measurement of the plan; throws PlanError, naming the key, where it is wrong.
BandwidthSpec read_bandwidth(ObjectReader& measurement);

}  // namespace tierscope
