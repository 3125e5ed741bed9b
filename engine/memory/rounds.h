// Whole rounds of interleaved pages, so that the traffic of each thread has the weights asked for.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "memory/placement.h"

namespace tierscope {

// What threads walk of an array: each a share of its own, or all of them the whole array.
struct Sharers {
  std::size_t shares;       // 1 where all threads walk the whole array.
  std::size_t access_size;  // Bytes of one access; no share cuts one in two.
};

// Bytes that shares of an array are made of: whole accesses, and whole rounds where the placement
// has rounds. In a region, every stretch of so many bytes has the weights asked for, wherever a
// round begins.
std::size_t share_grain(Pages pages, const Placement& placement, std::size_t access_size);

// The same of arrays that are walked together, each placed in its own way.
std::size_t share_grain(Pages pages, std::span<const Placement> placements,
                        std::size_t access_size);

// The size of an array cut to whole grains where the placement has rounds, else as it is. Throws
// Unavailable, with the numbers and what would do, where there are fewer grains than shares.
std::size_t in_whole_rounds(std::size_t bytes, Pages pages, const Placement& placement,
                            const Sharers& sharers);

// The same of arrays that are walked together.
std::size_t in_whole_rounds(std::size_t bytes, Pages pages, std::span<const Placement> placements,
                            const Sharers& sharers);

// Bytes [first, last) of an array.
struct ByteRange {
  std::size_t first;
  std::size_t last;

  bool operator==(const ByteRange&) const = default;
};

// An array cut into so many shares of whole grains, in order. The first shares have a grain more
// where they do not come out even; what fills no grain belongs to none.
std::vector<ByteRange> cut_into_shares(std::size_t bytes, std::size_t grain, std::size_t shares);

}  // namespace tierscope
