// Which nodes threads' accesses went to: where the pages are, and what each thread walked of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "access/kernel.h"
#include "memory/placement.h"

namespace tierscope {

// What one thread walked of a region.
struct WalkedShare {
  Walk walk{};
  Order order = Order::kSequential;
  std::size_t first = 0;    // Where the walk's bytes begin in the region.
  std::uint64_t start = 0;  // Offset that a sequential or reverse walk began at.
  std::uint64_t accesses = 0;
  double counted = 1;      // Bytes that the program counts for each byte of the region.
  std::uint64_t seed = 0;  // Order zipf: the state that it began with.
};

// Where the walk of one thread of several begins, so that they are spread evenly over what they
// walk and do not come to the same node, or the same bytes, at the same moment. 0 for orders that
// are not sequential or reverse.
std::uint64_t spread_start(const Walk& walk, Order order, std::size_t thread, std::size_t threads);

// Bytes that the program asked to move, by node.
using NodeTraffic = std::map<int, double>;

// Adds what the thread moved of the region that the report is of. Sequential and reverse walks are
// accounted to the byte. In random order, and strided within pages, every page of the share is as
// likely as another. Strides beyond a page and order zipf go by the first accesses, made again.
void add_traffic(const WalkedShare& share, const RegionReport& report, NodeTraffic& traffic);

}  // namespace tierscope
