// Whether operations overlapped, from when each began and ended.
#pragma once

#include <cstdint>
#include <vector>

namespace tierscope {

struct Interval {
  std::uint64_t start_ns;
  std::uint64_t end_ns;
};

struct Overlap {
  std::size_t operations;
  double busy_ns;        // In which at least one was under way,
  double overlapped_ns;  // and in which two or more were.
  int most;              // At once.
};

// Of intervals in any order; those of no length count as operations only.
Overlap overlap_of(const std::vector<Interval>& intervals);

}  // namespace tierscope
