#include "kinds/chase_pattern.h"

#include <algorithm>
#include <array>

#include "protocol/plan_parts.h"

namespace tierscope {
namespace {

struct Linked {
  ChaseOrder order;
  std::size_t stride;
  void** start;
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

void link_walk(const ChasePattern& pattern, const Lease& lease, ChaseWalk& walk) {
  Linked linked{.order = pattern.order, .stride = pattern.stride, .start = nullptr};
  const auto* const found = std::any_cast<Linked>(&lease.found);
  if (found != nullptr && found->order == pattern.order && found->stride == pattern.stride) {
    linked.start = found->start;
  } else {
    linked.start = link_chase({lease.region->data(), pattern.size}, pattern.stride, pattern.order);
    walk.loads = 0;
  }
  *lease.contents = linked;
  if (walk.start == linked.start) return;
  walk = {.start = linked.start, .at = linked.start};
}

std::uint64_t chased_bytes(const ChasePattern& pattern, std::uint64_t loads) {
  constexpr std::uint64_t kLine = 64;
  return std::min(loads, chase_length(pattern.size, pattern.stride)) * kLine;
}

}  // namespace tierscope
