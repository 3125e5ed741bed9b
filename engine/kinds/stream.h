// A stream of reads and writes in a given mix and at a held-back rate: load for a chase, or one of
// several workloads that run at once.
#pragma once

#include <deque>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "access/kernel.h"
#include "access/zipf_order.h"
#include "benches/window.h"
#include "benches/workspace.h"
#include "memory/placement.h"
#include "memory/system_memory.h"
#include "protocol/object_reader.h"

namespace tierscope {

struct StreamSpec {
  std::vector<int> cpus;
  Placement placement;
  int writes;  // Of 100 lines.
  Stores stores;
  Order order;        // Sequential, random or zipf.
  double zipf_alpha;  // Of order zipf.
  std::size_t prefetch;
  std::size_t access_size;
  std::size_t size;  // Bytes of the array, over all threads.
  Pages pages;
  std::string isa;
  double delay_ns;  // Between a thread's accesses.

  RegionKind region() const { return {size, pages, placement}; }
};

// Reads the keys cpus, placement and pattern of `workload`.
StreamSpec read_stream(ObjectReader& workload);

// A stream on its way: hold it until its workers are done.
class Stream {
 public:
  // `first_thread` is the place of the stream's first thread in the team.
  Stream(const StreamSpec& spec, Region& region, Team& team, int first_thread);

  // One for each CPU; a unit is an access.
  std::vector<Worker> workers();

  double bytes_per_unit() const { return static_cast<double>(spec_.access_size); }
  // Bytes on the bus for each byte asked for: ordinary stores fetch their line first.
  double bus_bytes_per_byte() const {
    return spec_.stores == Stores::kStreaming ? 1 : 1 + spec_.writes / 100.0;
  }
  // Whether the array is larger than the CPUs' caches, so that accesses go over the bus at all.
  bool passes_caches() const { return spec_.size > last_level_cache_bytes(spec_.cpus); }

  // Checks what was written, throws Failure at the first wrong line. `workers` are those that ran.
  nlohmann::ordered_json evidence(std::span<const Worker> workers) const;

 private:
  struct Share {
    Walk walk;
    Position position;
    std::uint64_t seed;  // The position's first state.
    std::optional<ZipfOrder> zipf;
  };
  std::uint64_t verify(const Share& share, std::uint64_t accesses) const;
  std::uint64_t reached(const Share& share, std::uint64_t accesses) const;

  StreamSpec spec_;
  Region& region_;
  Mix mix_;
  std::deque<Share> shares_;  // Workers point into it.
};

}  // namespace tierscope
