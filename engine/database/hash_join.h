// Hash join of two relations: a table is built of one and probed with the other.
//
// Either over the whole of a thread's share, with a table that may be far larger than the caches;
// or in partitions, after both relations were copied so that what joins lies together and a
// partition's table stays in the caches. Copies are made by way of a cache line for each partition
// and non-temporal stores: Balkesen et al., "Main-memory hash joins on multi-core CPUs", ICDE 2013.
#pragma once

#include <array>
#include <deque>
#include <string_view>

#include "database/hash_table.h"
#include "database/keyed_index.h"
#include "database/shares.h"
#include "database/simd.h"
#include "database/structure.h"
#include "protocol/constants.h"

namespace tierscope::database {

struct HashJoinSpec {
  std::uint64_t build_keys = 0;  // Rows of 16 bytes, a key and a value; at least one a thread.
  std::uint64_t probe_keys = 0;  // As many or more.
  // Of probe keys, those that the build relation does not have, 0..1.
  double misses = 0;
  std::size_t partitions = 1;  // A power of two, up to kMaxPartitions; 1: not partitioned.
  std::size_t interleave = 1;  // Not partitioned: probes under way in a thread; 1..kMaxInterleave.
  std::size_t threads = 1;
};

inline constexpr std::size_t kMaxPartitions = tables::kOpsMaxPartitions;

// Keys of the build relation are distinct (a primary key); each row of the probe relation matches
// one or none. Threads join shares of both relations that have no key in common, so that nothing is
// shared. A unit is the whole join; its operations are the rows of both relations.
class HashJoin : public Structure {
 public:
  static constexpr std::array<std::string_view, 5> kParts{"build", "probe", "table", "copies",
                                                          "output"};

  explicit HashJoin(const HashJoinSpec& spec);

  std::vector<Part> parts() const override;
  void build(Memory memory, const OnThreads& on_threads) override;
  void work(std::size_t thread, std::uint64_t units) override;
  std::uint64_t operations_per_unit() const override;
  std::size_t input_bytes() const override { return sizeof(Entry); }
  std::uint64_t units_per_sample() const override { return 1; }
  bool timed() const override { return false; }
  std::string_view isa() const override { return name_of(Simd::kBaseline); }
  std::string verify(const OnThreads& on_threads) override;

 private:
  using Rows = std::span<Entry>;

  struct ProbeRow {
    Entry row;
    bool matches;
  };

  // A thread's shares of all parts.
  struct alignas(64) Thread {
    Ranks ranks{};  // Of the build relation's keys.
    Rows build;
    Rows probe;
    std::byte* table = nullptr;
    Rows parted_build;  // Copies, by partition.
    Rows parted_probe;
    Entry* lines = nullptr;               // One cache line for each partition.
    std::uint64_t* build_ends = nullptr;  // Of each partition, in the copies.
    std::uint64_t* probe_ends = nullptr;
    Entry* output = nullptr;    // Of each match, the values of both rows.
    std::uint64_t matches = 0;  // Of the last join.
    std::uint64_t done = 0;     // Joins.
  };

  std::uint64_t max_build() const;
  std::uint64_t max_probe() const;
  std::uint64_t table_groups() const;
  std::size_t table_bytes() const;
  std::size_t partition_bytes() const;
  bool partitioned() const { return spec_.partitions > 1; }
  ProbeRow probe_row(const Thread& thread, std::uint64_t row) const;

  void assign(Memory memory, std::size_t thread);
  void fill(Thread& thread) const;
  void join_partitions(Thread& thread) const;
  // Writes the matches from `output` on and returns how many there are.
  std::uint64_t join(const Thread& thread, std::span<const Entry> build,
                     std::span<const Entry> probe, Entry* output) const;
  void compare(const Thread& thread) const;

  HashJoinSpec spec_;
  Keys keys_;
  std::deque<Thread> threads_;
};

}  // namespace tierscope::database
