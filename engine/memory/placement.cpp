#include "memory/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "errors.h"

namespace tierscope {
namespace {

// Interleave takes one page a node, whatever the shares say.
std::size_t weight_in_round(const Placement& placement, const NodeShare& share) {
  return placement.policy == Policy::kInterleave ? 1 : static_cast<std::size_t>(share.weight);
}

// A placement names a node, so the bound changes nothing.
std::size_t sum_of_weights(const Placement& placement) {
  std::size_t sum = 0;
  for (const NodeShare& share : placement.nodes) sum += weight_in_round(placement, share);
  return std::max<std::size_t>(sum, 1);
}

// What one node holds of any window of so many consecutive pages in an endless row of rounds.
PageBounds bounds_in_window(std::size_t pages, std::size_t round, std::size_t weight) {
  const std::size_t whole = pages / round * weight;
  const std::size_t rest = pages % round;
  const std::size_t others = round - weight;
  return {whole + (rest > others ? rest - others : 0), whole + std::min(rest, weight)};
}

// What one node holds of the first so many pages.
std::size_t exact_in_rounds(std::size_t pages, std::size_t round, std::size_t before,
                            std::size_t weight) {
  const std::size_t rest = pages % round;
  return pages / round * weight + std::min(rest > before ? rest - before : 0, weight);
}

std::vector<PageBounds> interleaved_bounds(const Placement& placement, std::size_t pages) {
  const std::size_t round = sum_of_weights(placement);
  std::vector<PageBounds> bounds;
  std::size_t before = 0;
  for (const NodeShare& share : placement.nodes) {
    const std::size_t weight = weight_in_round(placement, share);
    if (placement.mechanism == Mechanism::kKernel) {
      bounds.push_back(bounds_in_window(pages, round, weight));
    } else {
      const std::size_t exact = exact_in_rounds(pages, round, before, weight);
      bounds.push_back({exact, exact});
    }
    before += weight;
  }
  return bounds;
}

std::string bounds_text(const PageBounds& bounds) {
  return bounds.least == bounds.most ? fmt::format("{}", bounds.least)
                                     : fmt::format("{} to {}", bounds.least, bounds.most);
}

bool interleaved_by_kernel(const Placement& placement) {
  if (placement.policy == Policy::kPartition) return !placement.ranges.empty();
  return placement.mechanism == Mechanism::kKernel &&
         (placement.policy == Policy::kInterleave || placement.policy == Policy::kWeighted);
}

// Where the kernel interleaves but could not give huge pages everywhere, the small ones follow
// rounds of their own: what is not huge may lie on any of the nodes.
std::size_t stray_pages(const Placement& placement, std::size_t unit_bytes,
                        const RegionReport& report, std::size_t total) {
  if (!interleaved_by_kernel(placement) || report.page_bytes == unit_bytes) return 0;
  return total - report.huge_bytes / report.page_bytes;
}

}  // namespace

std::size_t round_pages(const Placement& placement) {
  const bool in_turn =
      placement.policy == Policy::kInterleave || placement.policy == Policy::kWeighted;
  return in_turn ? sum_of_weights(placement) : 1;
}

std::vector<NodesRange> partition_ranges(const Placement& placement, std::size_t pages) {
  const std::size_t round = sum_of_weights(placement);
  std::vector<int> counts = placement.ranges;
  if (counts.empty()) counts.assign(placement.nodes.size(), 1);
  std::vector<NodesRange> ranges;
  std::size_t weights = 0;
  std::size_t first = 0;
  std::size_t node = 0;
  for (const int count : counts) {
    const auto nodes = static_cast<std::size_t>(count);
    for (std::size_t i = 0; i < nodes; ++i) {
      weights += weight_in_round(placement, placement.nodes.at(node + i));
    }
    const std::size_t last = pages / round * weights + pages % round * weights / round;
    ranges.push_back({.pages = {first, last}, .first_node = node, .nodes = nodes});
    first = last;
    node += nodes;
  }
  return ranges;
}

void for_each_run(const Placement& placement, std::size_t share, PageRange slice,
                  const std::function<void(PageRange)>& visit) {
  const std::size_t round = round_pages(placement);
  const std::size_t weight = weight_in_round(placement, placement.nodes.at(share));
  std::size_t before = 0;
  for (std::size_t i = 0; i < share; ++i) before += weight_in_round(placement, placement.nodes[i]);
  for (std::size_t first = slice.first / round * round + before; first < slice.last;
       first += round) {
    const PageRange run{std::max(first, slice.first), std::min(first + weight, slice.last)};
    if (run.first < run.last) visit(run);
  }
}

std::vector<PageBounds> allowed_pages(const Placement& placement, std::size_t pages) {
  switch (placement.policy) {
    case Policy::kBind:
      return {{pages, pages}};
    case Policy::kPreferred:
      return {{0, pages}};
    case Policy::kInterleave:
    case Policy::kWeighted:
      return interleaved_bounds(placement, pages);
    case Policy::kFirstTouch:
      return std::vector<PageBounds>(placement.nodes.size(), {0, pages});
    case Policy::kPartition:
      break;
  }
  std::vector<PageBounds> bounds;
  for (const NodesRange& range : partition_ranges(placement, pages)) {
    const std::size_t count = range.pages.last - range.pages.first;
    bounds.insert(bounds.end(), range.nodes, bounds_in_window(count, range.nodes, 1));
  }
  return bounds;
}

void verify_placement(const Placement& placement, std::size_t unit_bytes,
                      const RegionReport& report) {
  std::size_t total = report.absent_pages;
  for (const auto& [node, count] : report.pages) total += count;
  if (report.absent_pages != 0) {
    throw Failure(fmt::format("{} of {} pages of {} bytes are no longer in memory",
                              report.absent_pages, total, report.page_bytes),
                  Cause::kPlacement);
  }
  if (placement.policy == Policy::kPreferred) return;

  const std::size_t scale = unit_bytes / report.page_bytes;
  const std::size_t stray = stray_pages(placement, unit_bytes, report, total);
  const std::vector<PageBounds> bounds = allowed_pages(placement, total / scale);
  std::map<int, std::size_t> seen = report.pages;
  bool right = true;
  std::string text;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const int node = placement.nodes[i].node;
    const std::size_t count = seen[node];
    const std::size_t least = bounds[i].least * scale;
    const PageBounds bound{least - std::min(least, stray), bounds[i].most * scale + stray};
    right = right && bound.least <= count && count <= bound.most;
    text += fmt::format("; node {} holds {}, asked {}", node, count, bounds_text(bound));
    seen.erase(node);
  }
  for (const auto& [node, count] : seen) {
    right = false;
    text += fmt::format("; node {} holds {}, asked 0", node, count);
  }
  if (!right) {
    throw Failure(
        fmt::format("pages of {} bytes are not on the nodes asked for{}", report.page_bytes, text),
        Cause::kPlacement);
  }
}

}  // namespace tierscope
