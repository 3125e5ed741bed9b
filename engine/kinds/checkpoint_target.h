// Where checkpoints go: a file, or memory that outlives the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "kinds/checkpoint_state.h"
#include "memory/placement.h"
#include "storage/backend.h"
#include "storage/owned_files.h"
#include "threads/team.h"

namespace tierscope {

// Blocks [first, last) of the state, those of one thread.
struct BlockRange {
  std::size_t first;
  std::size_t last;
};

class CheckpointTarget {
 public:
  CheckpointTarget() = default;
  virtual ~CheckpointTarget() = default;
  CheckpointTarget(const CheckpointTarget&) = delete;
  CheckpointTarget& operator=(const CheckpointTarget&) = delete;

  // As a program does that has just been started; after close().
  virtual void open() = 0;
  // Gives up what open() and prepare() made, as the end of a program does.
  virtual void close() = 0;
  // In each thread, after open(): what it moves data by.
  virtual void prepare(std::size_t thread) = 0;

  // Writes blocks of the state to `at`, where the state's first byte goes. Throws Failure.
  virtual void write(std::size_t thread, const CheckpointState& state, BlockRange range,
                     std::uint64_t at) = 0;
  // Reads them back and calls `arrived` with the number of each.
  virtual void read(std::size_t thread, CheckpointState& state, BlockRange range, std::uint64_t at,
                    const std::function<void(std::size_t block)>& arrived) = 0;

  // Returns once all that was written is as durable as this target makes it.
  virtual void persist() = 0;

  // A header, kCellBytes long; written durably.
  virtual void write_header(std::uint64_t at, std::span<const std::byte> header) = 0;
  virtual void read_header(std::uint64_t at, std::span<std::byte> header) = 0;

  // Has the kernel drop what it caches of the target; returns bytes that it kept.
  virtual std::uint64_t drop_cached() { return 0; }

  // Adds what it is and how durable to the evidence: to "checkpoint", and "persistent" of a mapped
  // file.
  virtual void observe(nlohmann::ordered_json& evidence) const = 0;
};

struct FileTargetWish {
  OwnedFile* file;
  const BackendKind* backend;
  bool direct;
  std::size_t depth;
  std::size_t block_bytes;
  int gpu;  // -1: the state is in host memory.
  std::size_t threads;
};

std::unique_ptr<CheckpointTarget> make_file_target(const FileTargetWish& wish);

// Memory of a node, which outlives a program and not the machine's power, or a mapped file where
// the placement is persistent. Populated by the team, and read back. Throws Unavailable.
std::unique_ptr<CheckpointTarget> make_memory_target(std::size_t bytes, const Placement& placement,
                                                     Team& team);

// An object of a pool that libpmemobj makes in a placement's persistent directory. Throws
// Unavailable, also where libpmemobj is not installed.
std::unique_ptr<CheckpointTarget> make_pool_target(std::size_t bytes, const Placement& placement);

}  // namespace tierscope
