// Where a measurement of persistence writes its blocks: memory that repetitions lease from each
// other, or a pool of libpmemobj of its own, which has room for undo logs and allocations.
#pragma once

#include <any>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "harness/leases.h"
#include "kinds/node_traffic.h"
#include "kinds/persist_spec.h"
#include "memory/persistent.h"
#include "memory/pool.h"

namespace tierscope {

class PersistMemory {
 public:
  // Before each repetition. Returns whether the memory still holds what the repetition before
  // wrote. Throws Unavailable and Failure.
  bool open(const PersistSpec& spec, Leases& leases, Team& team);

  std::byte* data() const { return mapping_ ? mapping_->data() : region_->data(); }
  int file() const { return region_->persistent()->file(); }  // The mapped one.
  PmemPool* pool() const { return pool_->get(); }

  // Where the pages are, read back now, and what holds them, after blocks were written so.
  nlohmann::ordered_json evidence(std::span<const WalkedShare> walks,
                                  const PersistMethod& method) const;

 private:
  bool open_region(const PersistSpec& spec, Leases& leases, Team& team);
  bool open_pool(const PersistSpec& spec, bool fresh, Team& team);

  const Region* region_ = nullptr;      // Leased,
  std::shared_ptr<const int> written_;  // and what marks it as last written here.
  std::shared_ptr<Pool> pool_;          // Or own.
  std::optional<PersistentMapping> mapping_;
  Placement placement_{};  // Of the pool.
};

}  // namespace tierscope
