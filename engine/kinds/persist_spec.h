// A measurement of what persistence costs, as the plan has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "access/block_writes.h"
#include "memory/placement.h"
#include "protocol/object_reader.h"
#include "sampling/rule.h"

namespace tierscope {

// Who has a block persist: the CPU's instructions, the kernel by a system call on the mapped file,
// or libpmemobj on a pool.
enum class PersistBy {
  kInstructions,
  kMsync,        // Of the block's pages.
  kFdatasync,    // Of the whole file.
  kPoolPersist,  // pmemobj_persist.
  kTransaction,  // With an undo log of each range.
  kAllocation,   // Atomic: an object's id is published when the object is there.
};

struct PersistMethod {
  PersistBy by = PersistBy::kInstructions;
  BlockWrite write{};  // By instructions.

  bool needs_file() const { return by == PersistBy::kMsync || by == PersistBy::kFdatasync; }
  bool needs_pool() const { return by != PersistBy::kInstructions && !needs_file(); }
  bool persists() const { return by != PersistBy::kInstructions || write.fence; }
  // What an operation does: "16-byte stores, msync of the block's pages".
  std::string text() const;
};

struct PersistSpec {
  std::vector<int> cpus;
  Placement placement;
  SamplingRule sampling;
  PersistMethod method;
  bool random;
  std::size_t block_size;  // Bytes of one operation.
  std::uint64_t ranges;    // Of a transaction; the block is as many ranges, each by itself.
  std::size_t size;        // Bytes that all threads go over.
  Pages pages;

  std::size_t range_size() const { return block_size / ranges; }
};

// Throws PlanError.
PersistSpec read_persist_spec(const ObjectReader& measurement);

// Throws Unavailable where the target is none that the method works on, or blocks cannot be cut
// into that many ranges: a plan may combine methods, targets and blocks that do not all go
// together.
void require_fit(const PersistSpec& spec);

}  // namespace tierscope
