// A stream of reads and writes in a given mix and at a limited rate: load for a chase, or one of
// several concurrent workloads.
#pragma once

#include <any>
#include <deque>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "access/array_data.h"
#include "access/kernel.h"
#include "access/zipf_order.h"
#include "harness/leases.h"
#include "kinds/evidence.h"
#include "memory/placement.h"
#include "memory/rounds.h"
#include "memory/system_memory.h"
#include "protocol/object_reader.h"
#include "threads/window.h"

namespace tierscope {

struct StreamSpec {
  CpuSets threads;        // Which CPUs each of them runs on.
  std::vector<int> cpus;  // All CPUs of those.
  bool on_sets;           // The plan names sets of CPUs for them.
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

  // Of a region of whole rounds of the placement. Throws Unavailable where a thread's share holds
  // none.
  RegionKey key() const {
    return {in_whole_rounds(size, pages, placement, {threads.size(), access_size}), pages,
            placement};
  }
};

// Reads the keys cpus, placement and pattern of `workload`.
StreamSpec read_stream(const ObjectReader& workload);

// A stream from repetition to repetition. `workers` are always its own, in the order of workers().
class Stream {
 public:
  explicit Stream(const StreamSpec& spec);

  // One for each thread; a unit is an access. They point into this object.
  std::vector<Worker> workers();

  // Whether a region with these contents is one that streams use.
  static bool fits(const std::any& contents);

  // Before the samples of a repetition: overwrites what will be verified after it. `first_thread`
  // is the place of the stream's first thread in the team. Throws Unavailable where the CPU lacks
  // an instruction.
  void open(const Lease& lease, Team& team, int first_thread, std::span<Worker> workers);

  double bytes_per_unit() const { return static_cast<double>(spec_.access_size); }
  // Bytes on the bus for each byte asked for: ordinary stores fetch their line first.
  double bus_bytes_per_byte() const {
    return spec_.stores == Stores::kStreaming ? 1 : 1 + spec_.writes / 100.0;
  }
  // Whether the bus carries more than the program asked for: the array is larger than the CPUs'
  // caches, and lines are fetched before they are written.
  bool has_write_allocate() const {
    return bus_bytes_per_byte() != 1 && spec_.size > last_level_cache_bytes(spec_.cpus);
  }

  // After the last sample, on the stream's own thread number `thread`: checks what it wrote. Throws
  // Failure at the first wrong line.
  void verify(std::size_t thread, const Worker& worker);
  // After verify() of all threads. Throws Failure where pages are not where they were placed.
  nlohmann::ordered_json evidence(std::span<const Worker> workers);

 private:
  struct Share {
    Walk walk;
    Position position;
    std::uint64_t seed;             // The position's first state,
    std::uint64_t start;            // and its first offset.
    std::optional<ZipfOrder> zipf;  // What the walk has.
    std::uint64_t before = 0;       // Accesses when the blocks of the proof were overwritten.
    std::uint64_t compared = 0;     // Bytes.
    std::uint64_t written = 0;      // Those of them that hold what was written.
    std::uint64_t reached = 0;      // Bytes.
  };
  void choose_kernel();
  void divide(std::span<Worker> workers);
  ProofSample proof(const Share& share) const;
  std::uint64_t verified_bytes(const Share& share, std::uint64_t accesses) const;
  std::uint64_t reached_bytes(const Share& share, std::uint64_t accesses) const;

  StreamSpec spec_;
  std::string isa_;  // Empty: not chosen yet.
  const Region* region_ = nullptr;
  std::byte* base_ = nullptr;  // Of the region that the shares are of.
  Compared compared_;
  MixedKernel kernel_ = nullptr;
  Mix mix_;
  std::deque<Share> shares_;  // Workers point into it.
};

// One of several concurrent streams, and its place among all workers.
struct StreamPart {
  Stream* stream;
  std::size_t first;  // Of all workers.
  std::size_t threads;

  std::span<const Worker> of(std::span<const Worker> workers) const {
    return workers.subspan(first, threads);
  }
};

// The threads of all streams verify what they wrote, concurrently. workers[i] is thread i's. Throws
// Failure at the first wrong line.
void verify_streams(Team& team, std::span<const StreamPart> parts, std::span<const Worker> workers);

}  // namespace tierscope
