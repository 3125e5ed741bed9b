#include "benches/chaser.h"

#include <algorithm>
#include <array>

#include "benches/memory_spec.h"

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
  pattern.pages = reader.has("pages") ? reader.choice("pages", kPagesNames) : Pages::kThp;
  reader.finish();
  if (pattern.size < 2 * pattern.stride) {
    throw reader.error("size", "has to hold at least two strides");
  }
  return pattern;
}

void** linked_chase(const ChasePattern& pattern, const Lent& lent) {
  const auto* const linked = std::any_cast<Linked>(lent.contents);
  if (linked != nullptr && linked->order == pattern.order && linked->stride == pattern.stride) {
    return linked->start;
  }
  void** const start =
      link_chase({lent.region->data(), pattern.size}, pattern.stride, pattern.order);
  *lent.contents = Linked{.order = pattern.order, .stride = pattern.stride, .start = start};
  return start;
}

std::uint64_t chased_bytes(const ChasePattern& pattern, std::uint64_t loads) {
  constexpr std::uint64_t kLine = 64;
  return std::min(loads, chase_length(pattern.size, pattern.stride)) * kLine;
}

}  // namespace tierscope
