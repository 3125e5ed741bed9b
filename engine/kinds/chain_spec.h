// A measurement of chains, as the plan has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "access/chain.h"
#include "memory/placement.h"
#include "memory/system_memory.h"
#include "protocol/object_reader.h"
#include "sampling/rule.h"
#include "threads/cpu_sets.h"

namespace tierscope {

struct ChainSpec {
  CpuSets threads;                    // Which CPUs each of them runs on.
  std::vector<int> cpus;              // All CPUs of those.
  std::vector<Placement> placements;  // Of m0, and of m1 where the chain goes there.
  SamplingRule sampling;
  std::vector<ChainOperation> operations;
  bool linked;
  std::size_t interleave;          // Walks of each thread.
  std::uint64_t sample_every;      // Rounds of which one is timed by itself,
  std::size_t timed_from;          // from this operation on.
  std::vector<std::size_t> sizes;  // Bytes of each region.
  Pages pages;

  bool writes() const;
  bool has_full_fence() const;
};

// Throws PlanError.
ChainSpec read_chain_spec(const ObjectReader& measurement);

}  // namespace tierscope
