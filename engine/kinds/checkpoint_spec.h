// A measurement of kind checkpoint, as the plan has it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kinds/io_spec.h"
#include "memory/placement.h"
#include "protocol/object_reader.h"
#include "sampling/rule.h"
#include "storage/backend.h"

namespace tierscope {

struct CheckpointSpec {
  SamplingRule sampling;
  std::vector<int> cpus;  // One a thread.
  IoBuffers state;        // Memory that the state is in.
  // Where checkpoints go: a file below a directory, or memory.
  std::string directory;
  bool large;  // The file may take more than a tenth of the free space.
  std::optional<Placement> placement;
  std::size_t size;  // Bytes of the state, a multiple of kCellBytes.
  std::size_t block_bytes;
  Pages pages;  // Of a state in host memory.
  const BackendKind* backend;
  bool direct;
  std::size_t depth;
  int kills;
};

// Reads all that the kind adds to a measurement's common keys; throws PlanError.
CheckpointSpec read_checkpoint_spec(const ObjectReader& measurement);

}  // namespace tierscope
