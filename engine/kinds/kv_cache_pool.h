// Where the pieces of a cache are used: memory of a node, or of a GPU; and the host memory beside
// it, which objects are in or go through.
#pragma once

#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>

#include "gpu/measuring.h"
#include "harness/leases.h"
#include "kinds/kv_cache_order.h"
#include "kinds/kv_cache_spec.h"

namespace tierscope {

class KvPool {
 public:
  KvPool() = default;
  virtual ~KvPool() = default;
  KvPool(const KvPool&) = delete;
  KvPool& operator=(const KvPool&) = delete;

  // Takes the memory for a repetition, contents undefined. Throws Unavailable.
  virtual void open(Leases& leases, Team& team) = 0;
  // The host memory beside the pool; empty where objects never come there.
  virtual std::span<std::byte> store() const = 0;

  // The pool's contents between samples. Those of a GPU's memory go through a copy.
  virtual void read(std::size_t at, std::span<std::byte> to) const = 0;
  virtual void write(std::size_t at, std::span<const std::byte> from) = 0;
  // The memory itself where CPUs reach it; else empty.
  virtual std::span<std::byte> memory() const = 0;

  // Where pieces are from now on; what a kernel has to know of that, send() sends it.
  virtual void set(const KvOrder& order) = 0;
  virtual void send() = 0;
  virtual void tune(PieceRange range, std::byte* store) = 0;

  // As of GpuPieces; CPUs have moved all when move() returns.
  virtual void move(PieceRange range, std::byte* store, std::size_t lane) = 0;
  virtual void wait(std::size_t lane) = 0;

  virtual void observe(nlohmann::ordered_json& evidence) = 0;
};

// Whether objects go from storage to the GPU's memory without host memory in between.
bool bypasses_host(const KvCacheSpec& spec);

// Nothing of the machine is touched before open().
std::unique_ptr<KvPool> make_kv_pool(const KvCacheSpec& spec);

}  // namespace tierscope
