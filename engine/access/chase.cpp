#include "access/chase.h"

#include <unistd.h>

#include <algorithm>

#include "access/random_order.h"

namespace tierscope {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kPagesInGroup = 64;

// Calls visit(number) for each of 0..count-1 once, in a random order that `seed` picks.
template <typename Visit>
void visit_all(std::uint64_t count, std::uint64_t seed, const Visit& visit) {
  // In a power-of-two range the generator gives every number once; those past `count` are skipped.
  const RandomOrder order(std::bit_ceil(count), seed);
  std::uint64_t state = 0;
  for (std::uint64_t step = 0; step < order.blocks; ++step) {
    const std::uint64_t number = order.next(state);
    if (number < count) visit(number);
  }
}

}  // namespace

std::uint64_t chase_length(std::size_t bytes, std::size_t stride) {
  return bytes / stride * (stride / kLine);
}

void** link_chase(std::span<std::byte> region, std::size_t stride, ChaseOrder order) {
  const std::size_t slots = region.size() / stride;
  const std::size_t group_bytes = kPagesInGroup * static_cast<std::size_t>(getpagesize());
  const std::size_t slots_in_group =
      order == ChaseOrder::kRandom ? slots : std::max<std::size_t>(1, group_bytes / stride);
  const std::size_t groups = (slots + slots_in_group - 1) / slots_in_group;

  void** first = nullptr;
  void** previous = nullptr;
  for (std::size_t line = 0; line < stride / kLine; ++line) {
    visit_all(groups, line, [&](std::uint64_t group) {
      const std::size_t begin = group * slots_in_group;
      const std::size_t here = std::min(slots_in_group, slots - begin);
      visit_all(here, line * groups + group, [&](std::uint64_t slot) {
        auto* const link =
            reinterpret_cast<void**>(region.data() + (begin + slot) * stride + line * kLine);
        if (previous == nullptr) {
          first = link;
        } else {
          *previous = static_cast<void*>(link);
        }
        previous = link;
      });
    });
  }
  *previous = static_cast<void*>(first);
  return first;
}

void** follow_chase(void** start, std::uint64_t loads) {
  void** at = start;
  for (std::uint64_t done = 0; done < loads; done += kChaseUnroll) {
#pragma GCC unroll 64
    for (std::uint64_t i = 0; i < kChaseUnroll; ++i) at = static_cast<void**>(*at);
  }
  asm volatile("" : "+r"(at));  // The last load is needed, too.
  return at;
}

}  // namespace tierscope
