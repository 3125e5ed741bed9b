// A tournament of sorted runs: Knuth, The Art of Computer Programming, vol. 3, 5.4.1, "tree of
// losers".
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "database/hash_table.h"
#include "protocol/constants.h"

namespace tierscope::database {

inline constexpr std::size_t kMaxRuns = tables::kOpsMaxRuns;

// What is left of a run of ascending keys; none of them is the greatest 64-bit number.
struct SortedRun {
  const Entry* next = nullptr;
  const Entry* end = nullptr;
};

// Merges runs: log2(runs) comparisons for a key, none of which is a branch.
class LoserTree {
 public:
  LoserTree() = default;
  explicit LoserTree(std::span<const SortedRun> runs)
      : leaves_(std::bit_ceil(runs.size())), runs_(leaves_), losers_(leaves_) {
    std::ranges::copy(runs, runs_.begin());
    winner_ = play(1);
  }

  // Writes the next `count` entries to `to`; so many are left.
  void merge(Entry* to, std::uint64_t count) {
    Player winner = winner_;
    for (Entry* const end = to + count; to != end; ++to) {
      SortedRun& run = runs_[winner.run];
      *to = *run.next++;
      __builtin_prefetch(run.next + kAhead);
      winner.key = first_key(run);
      for (std::size_t at = (winner.run + leaves_) / 2; at > 0; at /= 2) {
        const Player loser = losers_[at];
        // Masks, since compilers make branches of a conditional exchange.
        const std::uint64_t exchange = -static_cast<std::uint64_t>(loser.key < winner.key);
        const std::uint64_t keys = (loser.key ^ winner.key) & exchange;
        const std::uint64_t runs = (loser.run ^ winner.run) & exchange;
        losers_[at] = {loser.key ^ keys, loser.run ^ runs};
        winner = {winner.key ^ keys, winner.run ^ runs};
      }
    }
    winner_ = winner;
  }

 private:
  static constexpr std::size_t kAhead = 16;  // Entries; hardware follows fewer streams than runs.
  static constexpr std::uint64_t kNoKey = std::numeric_limits<std::uint64_t>::max();

  struct Player {
    std::uint64_t key;
    std::uint64_t run;
  };

  static std::uint64_t first_key(const SortedRun& run) {
    return run.next == run.end ? kNoKey : run.next->key;
  }

  // Plays the matches below a node and notes their losers.
  Player play(std::size_t node) {
    if (node >= leaves_) return {first_key(runs_[node - leaves_]), node - leaves_};
    const Player left = play(2 * node);
    const Player right = play(2 * node + 1);
    losers_[node] = right.key < left.key ? left : right;
    return right.key < left.key ? right : left;
  }

  std::size_t leaves_ = 1;
  std::vector<SortedRun> runs_;  // Those that are lacking are empty.
  std::vector<Player> losers_;
  Player winner_{};
};

}  // namespace tierscope::database
