// Keys that an index holds, and the order in which a thread asks for them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "access/random_order.h"
#include "access/zipf_order.h"
#include "splitmix64.h"

namespace tierscope::database {

// floor(fraction / 2^64 * range).
constexpr std::uint64_t scaled(std::uint64_t fraction, std::uint64_t range) {
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(fraction) * range) >> 64);
}

// Distinct 64-bit keys by rank, ascending. Generated ones are made in registers, so that no array
// of keys takes part in what is measured: one at a random place of each of `count` equal stretches
// of all 64-bit numbers. Others are what a file holds.
class Keys {
 public:
  // 1..2^40 keys.
  explicit Keys(std::uint64_t count) : count_(count), step_(~std::uint64_t{0} / count) {}

  // The distinct ones of these, at least one.
  explicit Keys(std::vector<std::uint64_t> given) : given_(std::move(given)) {
    std::sort(given_.begin(), given_.end());
    given_.erase(std::unique(given_.begin(), given_.end()), given_.end());
    count_ = given_.size();
  }

  std::uint64_t size() const { return count_; }

  std::uint64_t at(std::uint64_t rank) const {
    if (!given_.empty()) return given_[rank];
    return rank * step_ + scaled(splitmix64_mixed(rank + kSplitMix64Step), step_);
  }

 private:
  std::uint64_t count_;
  std::uint64_t step_ = 0;
  std::vector<std::uint64_t> given_{};
};

// The value of a key, before any update.
constexpr std::uint64_t value_of(std::uint64_t key) { return key * 0x9fb21c651e98df25ULL; }

struct Ranks {
  std::uint64_t first;
  std::uint64_t count;
};

// How the keys that are asked for are spread.
struct Distribution {
  std::optional<double> alpha{};  // Zipf's, above 0; without one all are equally likely,
  // or, where there are any, these, in their order.
  std::shared_ptr<const std::vector<std::uint64_t>> words{};
  bool latest = false;  // Zipf's law prefers the keys that were inserted last, as YCSB's "latest".
};

// The keys that one thread asks for, all of them among those of its ranks.
class KeyStream {
 public:
  // `number` tells the streams of threads apart. `keys` stay where they are.
  KeyStream(const Keys& keys, Ranks ranks, const Distribution& distribution, std::uint64_t number,
            std::uint64_t streams)
      : keys_(&keys), ranks_(ranks), state_(number * kSplitMix64Step + 1) {
    if (distribution.words) {
      take_words(*distribution.words);
      position_ = words_.size() / streams * number;
    } else if (distribution.alpha) {
      zipf_.emplace(ranks.count, *distribution.alpha);
    }
  }

  std::uint64_t next() {
    if (words_.empty()) return keys_->at(next_rank());
    const std::uint64_t key = words_[position_];
    if (++position_ == words_.size()) position_ = 0;
    return key;
  }

  // A rank whose key is asked for; not of words.
  std::uint64_t next_rank() {
    if (zipf_) return ranks_.first + zipf_->next(state_);
    return ranks_.first + scaled(splitmix64(state_), ranks_.count);
  }

 private:
  // Those that are keys of the ranks.
  void take_words(const std::vector<std::uint64_t>& words) {
    const std::uint64_t low = keys_->at(ranks_.first);
    const std::uint64_t high = keys_->at(ranks_.first + ranks_.count - 1);
    for (const std::uint64_t word : words) {
      if (low <= word && word <= high) words_.push_back(word);
    }
  }

  const Keys* keys_;
  Ranks ranks_;
  std::vector<std::uint64_t> words_{};
  std::size_t position_ = 0;
  std::uint64_t state_;
  std::optional<ZipfOrder> zipf_;
};

}  // namespace tierscope::database
