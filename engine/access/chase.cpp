#include "access/chase.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "sizes.h"

namespace tierscope {
namespace {
constexpr std::size_t kPagesInGroup = 64;

// A one-to-one shuffle of the numbers below a power of two: rounds of xor-shift and odd multiply,
// each of which can be undone (the finaliser of MurmurHash3, cut to `bits` bits).
//
// A linear congruential generator would not do here: taken modulo a power of two, its every 64th
// number differs by nearly the same amount, so each load instruction of the unrolled chase would
// see a constant stride inside a group of pages, and stride prefetchers would follow it.
class Shuffle {
 public:
  Shuffle(std::uint64_t count, std::uint64_t seed)
      : bits_(std::max(1U, static_cast<unsigned>(std::bit_width(count - 1)))),
        mask_((std::uint64_t{1} << bits_) - 1),
        seed_((seed + 1) * 0x9e3779b97f4a7c15ULL) {}

  std::uint64_t size() const { return mask_ + 1; }

  std::uint64_t at(std::uint64_t number) const {
    const unsigned shift = (bits_ + 1) / 2;
    for (const std::uint64_t odd : {kMixer1, kMixer2, seed_ | 1}) {
      number = ((number + seed_) * odd) & mask_;
      number ^= number >> shift;
    }
    return number;
  }

 private:
  static constexpr std::uint64_t kMixer1 = 0xff51afd7ed558ccdULL;
  static constexpr std::uint64_t kMixer2 = 0xc4ceb9fe1a85ec53ULL;
  unsigned bits_;
  std::uint64_t mask_;
  std::uint64_t seed_;
};

// Calls visit(number) for each of 0..count-1 once, in a random order that `seed` picks.
template <typename Visit>
void visit_all(std::uint64_t count, std::uint64_t seed, const Visit& visit) {
  const Shuffle shuffle(count, seed);
  for (std::uint64_t step = 0; step < shuffle.size(); ++step) {
    const std::uint64_t number = shuffle.at(step);
    if (number < count) visit(number);
  }
}

// Follows as many chases as there are indices. All indices are constants, so that the compiler
// takes `place` apart into registers. The empty asm statements keep the loads in this order:
// without them it follows two chases for the whole unrolled loop, and then the next two.
template <std::size_t... kChase>
void follow_so_many(std::span<void**> at, std::uint64_t loads,
                    std::index_sequence<kChase...> /*chases*/) {
  constexpr std::uint64_t kRounds = kChaseUnroll / std::bit_ceil(sizeof...(kChase));
  void** place[] = {at[kChase]...};
  const auto follow = [](void**& link) {
    link = static_cast<void**>(*link);
    asm volatile("" : "+r"(link));
  };
  for (std::uint64_t done = 0; done < loads; done += kRounds) {
#pragma GCC unroll 64
    for (std::uint64_t round = 0; round < kRounds; ++round) (follow(place[kChase]), ...);
  }
  ((at[kChase] = place[kChase]), ...);
}

using Follow = void (*)(std::span<void**> at, std::uint64_t loads);

template <std::size_t... kBelow>
constexpr std::array<Follow, sizeof...(kBelow)> followers(std::index_sequence<kBelow...> /*all*/) {
  return {[](std::span<void**> at, std::uint64_t loads) {
    follow_so_many(at, loads, std::make_index_sequence<kBelow + 1>());
  }...};
}

}  // namespace

std::uint64_t chase_length(std::size_t bytes, std::size_t stride) {
  return bytes / stride * (stride / kCacheLine);
}

ChaseEntries link_chase(std::span<std::byte> region, std::size_t stride, ChaseOrder order) {
  const std::size_t slots = region.size() / stride;
  const std::size_t group_bytes = kPagesInGroup * static_cast<std::size_t>(getpagesize());
  const std::size_t slots_in_group =
      order == ChaseOrder::kRandom ? slots : std::max<std::size_t>(1, group_bytes / stride);
  const std::size_t groups = (slots + slots_in_group - 1) / slots_in_group;

  ChaseEntries entries{};
  const std::uint64_t length = chase_length(region.size(), stride);
  std::uint64_t linked = 0;
  std::size_t entered = 0;
  void* first = nullptr;
  void** previous = &first;  // The link that has yet to be told where to go on.
  for (std::size_t line = 0; line < stride / kCacheLine; ++line) {
    visit_all(groups, line, [&](std::uint64_t group) {
      const std::size_t begin = group * slots_in_group;
      const std::size_t here = std::min(slots_in_group, slots - begin);
      visit_all(here, line * groups + group, [&](std::uint64_t slot) {
        auto* const link =
            reinterpret_cast<void**>(region.data() + (begin + slot) * stride + line * kCacheLine);
        *previous = static_cast<void*>(link);
        previous = link;
        for (; entered < entries.size() && entered * length / entries.size() == linked; ++entered) {
          entries[entered] = link;
        }
        ++linked;
      });
    });
  }
  *previous = first;
  return entries;
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

void follow_chases(std::span<void**> at, std::uint64_t loads) {
  static constexpr auto kFollowers = followers(std::make_index_sequence<kMaxChases>());
  kFollowers[at.size() - 1](at, loads);
}

}  // namespace tierscope
