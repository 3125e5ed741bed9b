// How the threads of a measurement of bandwidth divide its arrays, and what they reached of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "access/kernel.h"
#include "access/zipf_order.h"
#include "harness/leases.h"
#include "kinds/bandwidth_spec.h"
#include "kinds/node_traffic.h"
#include "threads/window.h"

namespace tierscope {

// A thread's part of the arrays.
struct BandwidthShare {
  Walk walk;
  // What the thread fills and verifies: where it walks, unless all of them walk everywhere.
  Walk own;
  std::size_t first = 0;    // Where the walk begins in the arrays.
  std::uint64_t start = 0;  // Offset of its first access.
  Position position;
  std::uint64_t seed = 0;          // The position's first state.
  std::optional<ZipfOrder> zipf;   // What the walk has,
  std::uint64_t zipf_reached = 0;  // and the bytes that it reached at least.
  std::size_t own_first = 0;       // Of `own`: the number of its first element in the arrays.
  std::uint64_t before = 0;        // Accesses when the blocks of the proof were overwritten.
  std::uint64_t compared = 0;      // Bytes.
  std::uint64_t written = 0;       // Those of them that hold what was written.
};

// Gives each thread its share of the arrays, or all of them where the threads share them. Where the
// walks stand does not change.
void divide(const BandwidthSpec& spec, const std::vector<Lease>& arrays,
            std::deque<BandwidthShare>& shares);

// Distinct bytes of an array that the threads reached at least; workers[i] walks shares[i].
std::uint64_t reached_bytes(const BandwidthSpec& spec, const std::deque<BandwidthShare>& shares,
                            std::span<const Worker> workers);

// What the threads walked so far, as evidence of traffic takes it.
std::vector<WalkedShare> walked_shares(const BandwidthSpec& spec,
                                       const std::deque<BandwidthShare>& shares,
                                       std::span<const Worker> workers);

}  // namespace tierscope
