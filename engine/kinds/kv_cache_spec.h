// A measurement of kind kv-cache, as the plan has it.
#pragma once

#include <string>

#include "gpu/specs.h"
#include "kinds/io_spec.h"
#include "protocol/object_reader.h"

namespace tierscope {

// How pieces are gathered or scattered: by CPUs, or as a GPU does.
enum class PieceMethod { kMemcpy, kCopyEngine, kBatch, kKernel };

struct KvCacheSpec {
  SamplingRule sampling;
  std::vector<int> cpus;  // One a thread; of a pool on a GPU, the first one issues all work.
  IoBuffers pool;
  Placement placement;    // Of objects, or of the buffers that they go through.
  std::string directory;  // Of the file of objects; empty: they are in memory.
  bool large;
  bool fetch;  // Else pieces are stored.
  std::size_t piece;
  std::size_t pieces;  // Of one object.
  std::size_t objects;
  Pages pages;
  PieceMethod method;
  int multiprocessors;
  const BackendKind* backend;
  bool direct;
  std::size_t depth;  // Objects of a thread in flight.
  std::uint64_t seed;

  bool on_gpu() const { return pool.gpu >= 0; }
  bool in_file() const { return !directory.empty(); }
  std::size_t object_bytes() const { return piece * pieces; }
  std::size_t all_pieces() const { return pieces * objects; }
  std::size_t all_bytes() const { return object_bytes() * objects; }
  // From one object to the next: whole pages, as direct I/O wants it.
  std::size_t stride() const;
};

KvCacheSpec read_kv_cache_spec(const ObjectReader& measurement);

}  // namespace tierscope
