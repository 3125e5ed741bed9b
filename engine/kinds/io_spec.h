// A measurement of kind io, as the plan has it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kinds/io_steady.h"
#include "memory/placement.h"
#include "protocol/object_reader.h"
#include "sampling/rule.h"
#include "storage/duplicates.h"
#include "storage/io_thread.h"
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
  Pages pages;  // Of buffers in host memory.
  bool registered_buffers;
  bool registered_files;
  bool sqpoll;
  bool iopoll;
  bool non_temporal;
  bool drain;
  std::uint64_t fsync;
  std::uint64_t fdatasync;
  bool end_fsync;
  bool refill;
  int compressible;
  std::optional<DuplicatesRule> duplicates;  // Of units of the blocks written.
  std::string fill;                          // Bytes that data repeats; empty: it is random.
  std::uint64_t amount;  // Bytes of each thread in a repetition; 0: until its time is over.
  double time_limit_s;  // After which a repetition of an amount ends; infinite where there is none.
  double ramp_s;        // Of operations before the first sample of a repetition.
  double delay_s;       // Before its first operation.
  std::uint64_t think_every;
  double think_s;
  double think_spin_s;
  std::optional<DepthSearchRule> search;
  IoPriority priority = 0;  // Of its threads; 0: the one that they have.
  std::vector<CommandPriority> command_priorities;
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
  bool shared;       // All threads go over all files.
  bool own;          // It has a pattern of its own.
  int group = -1;    // Of jobs that run together; -1: none.
  std::string ends;  // "group", "all": which jobs end when it does; empty: none.
  int flow = -1;     // Jobs with the same number make operations by their weights.
  std::uint64_t flow_weight = 0;
  double flow_sleep_s = 0;
  IoWork work;  // By its own pattern, else by that of the measurement.
};

struct IoSpec {
  SamplingRule sampling;
  std::vector<IoJobSpec> jobs;
  IoWork work;
  bool own_ends;  // Each thread ends by its own amount or time, and samples when all have.
  std::optional<SteadyRule> steady;
};

// Parts of it that another kind has, too; they throw PlanError.
IoBuffers read_io_buffers(const ObjectReader& buffers);
const BackendKind* read_backend(const ObjectReader& pattern);

// Reads all that the kind adds to a measurement's common keys; throws PlanError.
IoSpec read_io_spec(const ObjectReader& measurement);

}  // namespace tierscope
