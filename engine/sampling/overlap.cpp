#include "sampling/overlap.h"

#include <algorithm>
#include <utility>

namespace tierscope {

Overlap overlap_of(const std::vector<Interval>& intervals) {
  // Ends come before begins of the same moment: what follows at once does not overlap.
  std::vector<std::pair<std::uint64_t, int>> changes;
  changes.reserve(2 * intervals.size());
  for (const Interval& one : intervals) {
    if (one.end_ns <= one.start_ns) continue;
    changes.emplace_back(one.start_ns, 1);
    changes.emplace_back(one.end_ns, -1);
  }
  std::sort(changes.begin(), changes.end());
  Overlap found{.operations = intervals.size(), .busy_ns = 0, .overlapped_ns = 0, .most = 0};
  int under_way = 0;
  std::uint64_t last = 0;
  for (const auto& [moment, change] : changes) {
    const auto passed = static_cast<double>(moment - last);
    if (under_way > 0) found.busy_ns += passed;
    if (under_way > 1) found.overlapped_ns += passed;
    under_way += change;
    found.most = std::max(found.most, under_way);
    last = moment;
  }
  return found;
}

}  // namespace tierscope
