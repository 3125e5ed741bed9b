#include "access/chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "access/chain_access.h"
#include "access/ticks.h"
#include "access/timed_chase.h"
#include "errors.h"
#include "sampling/clock.h"
#include "sizes.h"

namespace tierscope {
namespace {

// Relative to the address that an operation takes: what it and the writes behind it touch.
struct Reach {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

bool picks(std::span<const ChainOperation> operations, std::size_t index) {
  return index == 0 || operations[index].access != ChainAccess::kWrite;
}

std::size_t slot_bytes(const ChainOperation& operation) {
  return std::max(operation.size, kCacheLine);
}

Reach reach_of(std::span<const ChainOperation> operations, std::size_t index) {
  Reach found{.low = 0, .high = static_cast<std::int64_t>(slot_bytes(operations[index]))};
  std::int64_t at = 0;
  for (std::size_t i = index + 1; i < operations.size() && !picks(operations, i); ++i) {
    at += operations[i].offset;
    found.low = std::min(found.low, at);
    found.high = std::max(found.high, at + static_cast<std::int64_t>(operations[i].size));
  }
  return found;
}

// Bytes before the first address that an operation may take, so that no write goes below the
// region.
std::size_t lead_of(const ChainOperation& operation, const Reach& reach) {
  const std::size_t slot = slot_bytes(operation);
  return (static_cast<std::size_t>(-reach.low) + slot - 1) / slot * slot;
}

// Makes the operation of a step whose address is walk.at.
template <ChainAccess kAccess, CacheUse kCache>
inline void access(const ChainStep& step, ChainWalk& walk) {
  if constexpr (kAccess == ChainAccess::kWrite) {
    write_bytes<kCache>(walk.at, step.operation.size, word_at(step, walk.at));
  } else {
    if constexpr (kAccess == ChainAccess::kRead) {
      walk.word = read_bytes<kCache>(walk.at, step.operation.size);
    } else if constexpr (kAccess == ChainAccess::kCompareAndSwap) {
      walk.word = swap_word(walk.at, word_at(step, walk.at));
    } else {
      walk.word = add_nothing(walk.at);
    }
    walk.sum += walk.word;
  }
  if (step.operation.fence == ChainFence::kStores) write_back_fence();
  if (step.operation.fence == ChainFence::kAll) full_fence();
}

// A chain of one operation: what does not change stays in registers, a single walk's state too.
template <ChainAccess kAccess, CacheUse kCache, bool kLinked>
void run_one(const Chain& chain, std::span<ChainWalk> walks, std::uint64_t rounds) {
  const ChainStep step = chain.steps.front();
  const auto make = [&step](ChainWalk& walk) {
    if constexpr (!kLinked) walk.word = 0;
    walk.at = next_address(step, walk);
    access<kAccess, kCache>(step, walk);
  };
  if (walks.size() == 1) {
    ChainWalk walk = walks.front();
    for (; rounds > 0; --rounds) make(walk);
    walks.front() = walk;
    return;
  }
  for (; rounds > 0; --rounds) {
    for (ChainWalk& walk : walks) make(walk);
  }
}

struct Ways {
  decltype(ChainStep::access) any;  // As one operation of several.
  decltype(Chain::run) linked;      // As the only one.
  decltype(Chain::run) unlinked;
};

template <ChainAccess kAccess, CacheUse kCache>
constexpr Ways kWays{access<kAccess, kCache>, run_one<kAccess, kCache, true>,
                     run_one<kAccess, kCache, false>};

template <ChainAccess kAccess>
const Ways& ways_of(CacheUse cache) {
  switch (cache) {
    case CacheUse::kWriteBack:
      return kWays<kAccess, CacheUse::kWriteBack>;
    case CacheUse::kFlush:
      return kWays<kAccess, CacheUse::kFlush>;
    case CacheUse::kFlushOpt:
      return kWays<kAccess, CacheUse::kFlushOpt>;
    case CacheUse::kNonTemporal:
      return kWays<kAccess, CacheUse::kNonTemporal>;
    case CacheUse::kNone:
      break;
  }
  return kWays<kAccess, CacheUse::kNone>;
}

const Ways& ways_of(const ChainOperation& operation) {
  switch (operation.access) {
    case ChainAccess::kWrite:
      return ways_of<ChainAccess::kWrite>(operation.cache);
    case ChainAccess::kCompareAndSwap:
      return kWays<ChainAccess::kCompareAndSwap, CacheUse::kNone>;
    case ChainAccess::kFetchAndAdd:
      return kWays<ChainAccess::kFetchAndAdd, CacheUse::kNone>;
    case ChainAccess::kRead:
      break;
  }
  return ways_of<ChainAccess::kRead>(operation.cache);
}

void make_steps(std::span<const ChainStep> steps, std::span<ChainWalk> walks) {
  for (const ChainStep& step : steps) {
    for (ChainWalk& walk : walks) {
      locate(step, walk);
      step.access(step, walk);
    }
  }
}

void forget_words(const Chain& chain, std::span<ChainWalk> walks) {
  if (chain.linked) return;
  for (ChainWalk& walk : walks) walk.word = 0;
}

void run_several(const Chain& chain, std::span<ChainWalk> walks, std::uint64_t rounds) {
  for (; rounds > 0; --rounds) {
    forget_words(chain, walks);
    make_steps(chain.steps, walks);
  }
}

bool fences_all(const ChainStep& step) { return step.operation.fence == ChainFence::kAll; }

}  // namespace

std::size_t chain_reach(std::span<const ChainOperation> operations, std::size_t region) {
  std::size_t most = 0;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (!picks(operations, i) || operations[i].region != region) continue;
    const Reach reach = reach_of(operations, i);
    most = std::max(most, lead_of(operations[i], reach) + static_cast<std::size_t>(reach.high));
  }
  return most;
}

std::size_t Chain::bytes() const {
  std::size_t sum = 0;
  for (const ChainStep& step : steps) sum += step.operation.size;
  return sum;
}

std::size_t Chain::picks() const {
  return static_cast<std::size_t>(std::ranges::count_if(steps, &ChainStep::picks));
}

Chain lay_chain(std::span<const ChainOperation> operations, bool linked,
                std::span<const ChainRegion> regions) {
  const Ways& first = ways_of(operations.front());
  Chain chain{
      .steps = {},
      .linked = linked,
      .run = operations.size() > 1 ? run_several : (linked ? first.linked : first.unlinked)};
  std::size_t region = 0;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const ChainOperation& operation = operations[i];
    ChainStep step{.operation = operation, .picks = picks(operations, i)};
    step.access = ways_of(operation).any;
    if (step.picks) {
      region = operation.region;
      const Reach reach = reach_of(operations, i);
      const std::size_t slot = slot_bytes(operation);
      const std::size_t lead = lead_of(operation, reach);
      const std::size_t room = regions[region].bytes - lead - static_cast<std::size_t>(reach.high);
      step.first = regions[region].base + lead;
      step.span = (room / slot + 1) * slot;
      step.mask = ~(slot - 1);
    }
    step.region = regions[region].base;
    step.number = region;
    chain.steps.push_back(step);
  }
  return chain;
}

void require_instructions(std::span<const ChainOperation> operations) {
#if defined(__x86_64__)
  static constexpr std::array<std::pair<CacheUse, Flush>, 3> kFlushes{
      {{CacheUse::kWriteBack, Flush::kClwb},
       {CacheUse::kFlush, Flush::kClflush},
       {CacheUse::kFlushOpt, Flush::kClflushopt}}};
  const auto lacks = [](std::string_view name) {
    throw Unavailable(Cause::kIsa, fmt::format("this CPU has no instruction {}", name),
                      "leave it out of the --chain");
  };
  for (const ChainOperation& operation : operations) {
    for (const auto& [cache, flush] : kFlushes) {
      if (operation.cache != cache || has_flush(flush)) continue;
      const auto* const named =
          std::ranges::find(kFlushNames, flush, &decltype(kFlushNames)::value_type::second);
      lacks(named->first);
    }
    const bool streams =
        operation.access == ChainAccess::kRead && operation.cache == CacheUse::kNonTemporal;
    if (streams && __builtin_cpu_supports("sse4.1") == 0) lacks("movntdqa");
  }
#else
  static_cast<void>(operations);
#endif
}

void run_chains(const Chain& chain, std::span<ChainWalk> walks, std::uint64_t rounds) {
  chain.run(chain, walks, rounds);
}

TimedRounds time_chains(const Chain& chain, std::span<ChainWalk> walks, std::uint64_t rounds,
                        std::uint64_t every, Histogram& ns) {
  const double tick_ns = timer_tick_ns();
  // The timer waits for loads and not for stores; see block_writes.cpp.
  const bool fenced =
      std::ranges::any_of(chain.steps, fences_all) && !fences_all(chain.steps.back());
  const std::span<const ChainStep> steps(chain.steps);
  TimedRounds timed;
  while (rounds > 0) {
    const std::uint64_t untimed = std::min(every, rounds) - 1;
    if (untimed > 0) run_chains(chain, walks, untimed);
    if (chain.timed_from > 0) {
      forget_words(chain, walks);
      make_steps(steps.first(chain.timed_from), walks);
    }
    const std::uint64_t before = ticks_before();
    if (chain.timed_from > 0) {
      make_steps(steps.subspan(chain.timed_from), walks);
    } else {
      run_chains(chain, walks, 1);
    }
    if (fenced) full_fence();
    const auto ticks = static_cast<double>(ticks_after() - before);
    ns.record(static_cast<std::uint64_t>(std::llround(ticks * tick_ns)));
    timed.ns += ticks * tick_ns;
    ++timed.rounds;
    rounds -= untimed + 1;
  }
  return timed;
}

double chain_address_ns(const Chain& chain) {
  constexpr int kRepetitions = 7;
  constexpr std::uint64_t kChains = 1U << 14;
  std::vector<ChainStep> steps;
  std::ranges::copy_if(chain.steps, std::back_inserter(steps), &ChainStep::picks);
  double least = std::numeric_limits<double>::infinity();
  ChainWalk walk;
  for (int i = 0; i < kRepetitions; ++i) {
    const double start = now_seconds();
    for (std::uint64_t made = 0; made < kChains; ++made) {
      if (!chain.linked) walk.word = 0;
      for (const ChainStep& step : steps) {
        walk.word = reinterpret_cast<std::uintptr_t>(next_address(step, walk));
        asm volatile("" : "+r"(walk.word));
      }
    }
    least = std::min(least, now_seconds() - start);
  }
  return least * 1e9 / static_cast<double>(kChains);
}

}  // namespace tierscope
