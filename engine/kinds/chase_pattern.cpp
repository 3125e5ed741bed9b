#include "kinds/chase_pattern.h"

#include <algorithm>
#include <array>

#include "protocol/plan_parts.h"

namespace tierscope {
namespace {

struct Linked {
  ChaseOrder order;
  std::size_t stride;
  ChaseEntries entries;
};

}  // namespace

ChasePattern read_chase_pattern(ObjectReader& measurement) {
  static constexpr std::array<std::pair<std::string_view, ChaseOrder>, 2> kOrders{
      {{"random", ChaseOrder::kRandom}, {"page-random", ChaseOrder::kPageRandom}}};
  constexpr std::size_t kDefaultStride = 256;

  ObjectReader reader = measurement.object("pattern");
  ChasePattern pattern{};
  pattern.order = reader.has("order") ? reader.choice("order", kOrders) : ChaseOrder::kRandom;
  pattern.stride = reader.has("stride") ? reader.bytes("stride") : kDefaultStride;
  pattern.size = reader.bytes("size");
  pattern.pages = read_pages(reader);
  reader.finish();
  if (pattern.size < 2 * pattern.stride) {
    throw reader.error("size", "is smaller than two strides");
  }
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
  constexpr std::uint64_t kLine = 64;
  return std::min(loads, chase_length(pattern.size, pattern.stride)) * kLine;
}

}  // namespace tierscope
