// A measurement of kind io, as the plan has it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "memory/placement.h"
#include "protocol/object_reader.h"
#include "sampling/rule.h"
#include "storage/pattern.h"
#include "storage/target_files.h"
#include "threads/cpu_sets.h"

namespace tierscope {

// Memory that blocks are read into and written from.
struct IoBuffers {
  std::string memory;                  // "host", or a GPU's way of allocating it.
  std::optional<Placement> placement;  // Of host memory.
  int gpu = -1;
};

// What the page cache holds of the files when a repetition begins.
enum class CacheState {
  kAsFound,
  kWarm,  // All that fits.
  kCold,  // Nothing of our own files; others' stay as they are.
};

// What threads read and write, and how.
struct IoWork {
  IoPattern pattern;
  const BackendKind* backend;
  std::uint32_t depth;
  std::uint32_t batch;
  bool direct;
  bool registered;
  bool sqpoll;
  bool iopoll;
  std::uint64_t fsync;
  std::uint64_t fdatasync;
  bool end_fsync;
  bool refill;
  int compressible;
  std::uint64_t amount;  // Bytes of each thread in a repetition; 0: until its time is over.
  double time_limit_s;  // After which a repetition of an amount ends; infinite where there is none.
  double ramp_s;        // Of operations before the first sample of a repetition.
  bool verify;
  CacheState cache;
  std::string require;
  std::size_t threads;  // That share the pattern's rate.
};

struct IoJobSpec {
  std::string name;
  CpuSets threads;  // The CPUs that each may run on.
  IoBuffers buffers;
  TargetSpec files;
  bool shared;  // All threads go over all files.
  bool own;     // It has a pattern of its own.
  IoWork work;  // By its own pattern, else by that of the measurement.
};

struct IoSpec {
  SamplingRule sampling;
  std::vector<IoJobSpec> jobs;
  IoWork work;
};

// Parts of it that another kind has, too; they throw PlanError.
IoBuffers read_io_buffers(const ObjectReader& buffers);
const BackendKind* read_backend(const ObjectReader& pattern);

// Reads all that the kind adds to a measurement's common keys; throws PlanError.
IoSpec read_io_spec(const ObjectReader& measurement);

}  // namespace tierscope
