#include "kinds/chase_pattern.h"

#include <algorithm>
#include <array>

#include "protocol/constants.h"
#include "protocol/plan_parts.h"
#include "sizes.h"

namespace tierscope {
namespace {

struct Linked {
  ChaseOrder order;
  std::size_t stride;
  ChaseEntries entries;
};

}  // namespace

ChasePattern read_chase_pattern(const ObjectReader& reader) {
  static constexpr std::array<std::pair<std::string_view, ChaseOrder>, 2> kOrders{
      {{"random", ChaseOrder::kRandom}, {"page-random", ChaseOrder::kPageRandom}}};
  const ChasePattern pattern{.order = reader.choice("order", kOrders),
                             .stride = reader.bytes("stride"),
                             .size = reader.bytes("size"),
                             .pages = read_pages(reader)};
  reader.check(tables::kLatencyPatternSize, pattern.size >= 2 * pattern.stride);
  return pattern;
}

bool is_linked(const ChasePattern& pattern, const std::any& contents) {
  const auto* const linked = std::any_cast<Linked>(&contents);
  return linked != nullptr && linked->order == pattern.order && linked->stride == pattern.stride;
}

void link_walk(const ChasePattern& pattern, const Lease& lease, ChaseWalk& walk) {
  Linked linked{.order = pattern.order, .stride = pattern.stride, .entries = {}};
  if (is_linked(pattern, lease.found)) {
    linked.entries = std::any_cast<Linked>(&lease.found)->entries;
  } else {
    linked.entries =
        link_chase({lease.region->data(), pattern.size}, pattern.stride, pattern.order);
    walk.loads = 0;
  }
  *lease.contents = linked;
  void** const start = linked.entries.front();
  if (walk.start == start) return;
  walk.start = start;
  walk.loads = 0;
  const std::size_t chases = walk.at.size();
  for (std::size_t chase = 0; chase < chases; ++chase) {
    walk.at[chase] = linked.entries[chase * linked.entries.size() / chases];
  }
}

std::uint64_t chased_bytes(const ChasePattern& pattern, std::uint64_t loads) {
  return std::min(loads, chase_length(pattern.size, pattern.stride)) * kCacheLine;
}

}  // namespace tierscope
