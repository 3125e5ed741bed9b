// What regions of chains hold, and the proof that walks went where they had to.
#include <fmt/format.h>

#include <algorithm>

#include "access/chain.h"
#include "access/chain_access.h"
#include "errors.h"
#include "sizes.h"

namespace tierscope {
namespace {

[[noreturn]] void fail(const std::string& what) { throw Failure(what, Cause::kVerification); }

}  // namespace

void fill_lines(std::byte* region, std::uint64_t number, std::size_t first, std::size_t lines) {
  auto* words = reinterpret_cast<std::uint64_t*>(region + first * kCacheLine);
  for (std::size_t line = first; line < first + lines; ++line) {
    const std::uint64_t word = line_word(number, line);
    *words++ = word;
    for (std::uint64_t i = 1; i < kCacheLine / kChainWord; ++i) *words++ = ~(word + i);
  }
}

void compare_lines(const std::byte* region, std::uint64_t number, std::size_t first,
                   std::size_t lines, std::size_t step) {
  const auto* const words = reinterpret_cast<const std::uint64_t*>(region);
  constexpr std::size_t kWords = kCacheLine / kChainWord;
  for (std::size_t line = first; line < first + lines; line += step) {
    const std::uint64_t word = line_word(number, line);
    for (std::uint64_t i = 0; i < kWords; ++i) {
      const std::uint64_t found = words[line * kWords + i];
      if (found == word + i || (i > 0 && found == ~(word + i))) continue;
      fail(fmt::format("the word at byte {} of m{} is {:#x}, not {:#x}",
                       line * kCacheLine + i * kChainWord, number, found, word + i));
    }
  }
}

std::uint64_t replay_chains(const Chain& chain, std::span<ChainWalk> walks, std::uint64_t rounds,
                            std::uint64_t step) {
  std::uint64_t compared = 0;
  const auto check = [&compared](const ChainStep& written, const std::byte* at) {
    // A word by itself is stored as it was: the first of its line.
    if (written.operation.size == kChainWord) return;
    const std::size_t size = written.operation.size;
    const std::byte* const last = at + size - kChainWord;
    const std::uint64_t wanted =
        word_at(written, last) + std::min(size, kCacheLine) / kChainWord - 1;
    const std::uint64_t found = *reinterpret_cast<const std::uint64_t*>(last);
    if (found != wanted) {
      fail(fmt::format("the word at byte {} of m{} is {:#x}, not {:#x} as written",
                       last - written.region, written.number, found, wanted));
    }
    compared += kChainWord;
  };
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (ChainWalk& walk : walks) {
      if (!chain.linked) walk.word = 0;
      for (const ChainStep& made : chain.steps) {
        locate(made, walk);
        if (made.operation.access != ChainAccess::kWrite) {
          walk.word = word_at(made, walk.at);
          walk.sum += walk.word;
        } else if (round % step == 0) {
          check(made, walk.at);
        }
      }
    }
  }
  return compared;
}

void compare_walks(std::span<const ChainWalk> walks, std::span<const ChainWalk> replayed) {
  for (std::size_t i = 0; i < walks.size(); ++i) {
    if (walks[i] == replayed[i]) continue;
    fail(
        fmt::format("walk {} read other words than the same walk over the known contents: it "
                    "ends at {} with the sum {:#x}, not at {} with {:#x}",
                    i, static_cast<const void*>(walks[i].at), walks[i].sum,
                    static_cast<const void*>(replayed[i].at), replayed[i].sum));
  }
}

}  // namespace tierscope
