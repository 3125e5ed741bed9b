#include "access/block_writes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ranges>

#include "access/ticks.h"
#include "access/timed_chase.h"
#include "errors.h"
#include "sizes.h"

namespace tierscope {
namespace {

constexpr std::size_t kWordBytes = sizeof(std::uint64_t);

// The first two words of a block, and what leads from each two to the next two.
Words first_words(const BlockWalk& walk, const std::byte* block) {
  const std::uint64_t first = walk.first_word(block);
  return Words{first, first + 1};
}
constexpr Words kNextWords{2, 2};

void stream_block(const BlockWalk& walk, std::byte* block) {
  auto* at = reinterpret_cast<Words*>(block);
  auto* const end = reinterpret_cast<Words*>(block + walk.block_bytes());
  Words words = first_words(walk, block);
  for (; at != end; at += 2) {
    stream_words(at, words, words + kNextWords);
    words += kNextWords + kNextWords;
  }
}

template <bool kNonTemporal, Flush kFlush, bool kFence>
void write_block(const BlockWalk& walk, std::byte* block) {
  if constexpr (kNonTemporal) {
    stream_block(walk, block);
  } else {
    store_block(walk, block);
  }
  if constexpr (kFlush != Flush::kNone) {
    for (std::size_t line = 0; line < walk.block_bytes(); line += kCacheLine) {
      flush_line<kFlush>(block + line);
    }
  }
  if constexpr (kFence) drain<kFlush>();
}

// RDTSCP waits for loads and not for stores: after SFENCE alone, flushes may still be under way
// (Intel SDM vol. 2B, RDTSCP, which names MFENCE for that). Arm's DSB has waited for them.
inline void await_stores() {
#if defined(__x86_64__)
  _mm_mfence();
#endif
}

std::uint64_t to_ns(std::uint64_t ticks, double tick_ns) {
  return static_cast<std::uint64_t>(std::llround(static_cast<double>(ticks) * tick_ns));
}

template <bool kNonTemporal, Flush kFlush, bool kFence>
BlockWriter writer() {
  constexpr auto kWrite = write_block<kNonTemporal, kFlush, kFence>;
  return {.write =
              [](BlockWalk& walk, std::uint64_t count) {
                for (; count > 0; --count) kWrite(walk, walk.next());
              },
          .time =
              [tick_ns = timer_tick_ns()](BlockWalk& walk, std::uint64_t count, Histogram& ns) {
                for (; count > 0; --count) {
                  std::byte* const block = walk.next();
                  const std::uint64_t before = ticks_before();
                  kWrite(walk, block);
                  if constexpr (kFence) await_stores();
                  ns.record(to_ns(ticks_after() - before, tick_ns));
                }
              }};
}

BlockWriter flushing_writer(Flush flush) {
  switch (flush) {
#if defined(__x86_64__)
    case Flush::kClwb:
      return writer<false, Flush::kClwb, true>();
    case Flush::kClflushopt:
      return writer<false, Flush::kClflushopt, true>();
    case Flush::kClflush:
      return writer<false, Flush::kClflush, true>();
#else
    case Flush::kCvap:
      return writer<false, Flush::kCvap, true>();
    case Flush::kCvac:
      return writer<false, Flush::kCvac, true>();
#endif
    default:
      return writer<false, Flush::kNone, false>();
  }
}

std::string_view name_of(Flush flush) {
  const auto* const found =
      std::ranges::find(kFlushNames, flush, [](const auto& named) { return named.second; });
  return found == kFlushNames.end() ? "no flush" : found->first;
}

#if defined(__x86_64__)
constexpr std::string_view kFence = "sfence";
#else
constexpr std::string_view kFence = "dsb";
#endif

}  // namespace

std::string BlockWrite::text() const {
  std::string said = non_temporal ? "16-byte non-temporal stores" : "16-byte stores";
  if (flush != Flush::kNone) said += fmt::format(", {} of each line", name_of(flush));
  return fence ? fmt::format("{}, {}", said, kFence) : said;
}

BlockWalk::BlockWalk(std::byte* base, std::size_t offset, std::size_t block_bytes,
                     std::uint64_t blocks, bool random, std::uint64_t key)
    : base_(base),
      offset_(offset),
      block_bytes_(block_bytes),
      bytes_(block_bytes * blocks),
      random_(random),
      order_(blocks),
      key_(key) {}

std::uint64_t BlockWalk::revisit(std::uint64_t step,
                                 const std::function<void(const std::byte*)>& visit) const {
  BlockWalk again(base_, offset_, block_bytes_, bytes_ / block_bytes_, random_, key_);
  const std::uint64_t distinct = random_ ? order_.period() : bytes_ / block_bytes_;
  const std::uint64_t taken = std::min(taken_, distinct);
  for (std::uint64_t i = 0; i < taken; ++i) {
    const std::byte* const block = again.next();
    if (i % step == 0) visit(block);
  }
  return (taken + step - 1) / step;
}

std::uint64_t BlockWalk::compare(std::uint64_t step) const {
  const auto check = [this](const std::byte* block) {
    const auto* const words = reinterpret_cast<const std::uint64_t*>(block);
    const std::uint64_t first = first_word(block);
    for (std::size_t word = 0; word < block_bytes_ / kWordBytes; ++word) {
      if (words[word] == first + word) continue;
      const auto place = static_cast<std::size_t>(block - base_) + word * kWordBytes;
      throw Failure(fmt::format("the word at byte {} is {:#x}, not {:#x} as written",
                                offset_ + place, words[word], first + word),
                    Cause::kVerification);
    }
  };
  return revisit(step, check) * block_bytes_;
}

void store_block(const BlockWalk& walk, std::byte* block) {
  auto* at = reinterpret_cast<Words*>(block);
  auto* const end = reinterpret_cast<Words*>(block + walk.block_bytes());
  Words words = first_words(walk, block);
  for (; at != end; ++at) {
    *at = words;
    words += kNextWords;
  }
  asm volatile("" : : : "memory");  // The stores are made here, before whatever follows.
}

void require_flush(Flush flush) {
  if (has_flush(flush)) return;
  throw Unavailable(Cause::kIsa, fmt::format("this CPU has no instruction {}", name_of(flush)),
                    "choose another --method");
}

BlockWriter block_writer(const BlockWrite& how) {
  require_flush(how.flush);
  if (how.non_temporal) {
    return how.fence ? writer<true, Flush::kNone, true>() : writer<true, Flush::kNone, false>();
  }
  return flushing_writer(how.flush);
}

BlockWriter block_writer(const std::function<void(BlockWalk&)>& operation) {
  return {.write =
              [operation](BlockWalk& walk, std::uint64_t count) {
                for (; count > 0; --count) operation(walk);
              },
          .time =
              [operation, tick_ns = timer_tick_ns()](BlockWalk& walk, std::uint64_t count,
                                                     Histogram& ns) {
                for (; count > 0; --count) {
                  const std::uint64_t before = ticks_before();
                  operation(walk);
                  await_stores();
                  ns.record(to_ns(ticks_after() - before, tick_ns));
                }
              }};
}

double write_timer_ns() { return timer_cost_ticks() * timer_tick_ns(); }

}  // namespace tierscope
