#include "gpu/chase_links.h"

#include <fmt/format.h>

#include <numeric>
#include <random>
#include <utility>

#include "errors.h"

namespace tierscope {
namespace {

// A single cycle through all slots in random order (Sattolo 1986).
std::vector<std::uint32_t> random_links(std::uint32_t slots) {
  std::vector<std::uint32_t> order(slots);
  std::iota(order.begin(), order.end(), 0U);
  std::mt19937_64 random(1);
  for (std::uint32_t i = slots - 1; i > 0; --i) {
    const auto other = static_cast<std::uint32_t>((static_cast<unsigned __int128>(random()) * i) >>
                                                  64);  // 0..i-1, never i itself
    std::swap(order[i], order[other]);
  }
  return order;
}

std::vector<std::uint32_t> linear_links(std::uint32_t slots) {
  std::vector<std::uint32_t> next(slots);
  for (std::uint32_t i = 0; i < slots; ++i) next[i] = (i + 1) % slots;
  return next;
}

// Throws Failure unless the walk comes home after visiting every slot, and not before.
void prove_cycle(const std::vector<std::uint32_t>& next) {
  std::uint32_t at = 0;
  std::size_t steps = 0;
  do {
    at = next[at];
    ++steps;
  } while (at != 0 && steps <= next.size());
  if (steps != next.size()) {
    throw Failure(fmt::format("the chase comes home after {} of {} slots", steps, next.size()),
                  Cause::kVerification);
  }
}

}  // namespace

std::vector<std::uint32_t> chase_links(std::uint32_t slots, bool linear) {
  std::vector<std::uint32_t> next = linear ? linear_links(slots) : random_links(slots);
  prove_cycle(next);
  return next;
}

std::uint32_t follow_links(const std::vector<std::uint32_t>& next, std::uint32_t at,
                           std::uint32_t loads) {
  for (std::uint32_t i = 0; i < loads % next.size(); ++i) at = next[at];
  return at;
}

}  // namespace tierscope
