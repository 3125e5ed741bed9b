#include "database/lsm_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "database/shares.h"
#include "errors.h"

namespace tierscope::database {
namespace {

// Of `count` ascending keys, how many are <= key; without branches that depend on keys.
template <typename KeyAt>
std::uint64_t not_above(std::uint64_t count, std::uint64_t key, const KeyAt& key_at) {
  std::uint64_t first = 0;
  while (count > 0) {
    const std::uint64_t half = (count + 1) / 2;
    first += key_at(first + half - 1) <= key ? half : 0;
    count -= half;
  }
  return first;
}

}  // namespace

LsmTree::LsmTree(const LsmTreeSpec& spec) : spec_(spec), keys_(2 * spec.keys) {}

// The first key of a cycle is on level 0, the next r are on level 1, and so on.
std::size_t LsmTree::level_of(std::uint64_t rank) const {
  std::uint64_t place = rank % cycle();
  std::uint64_t on_level = 1;
  for (std::size_t level = 0; level + 1 < kLevels; ++level, on_level *= spec_.ratio) {
    if (place < on_level) return level;
    place -= on_level;
  }
  return kLevels - 1;
}

std::uint64_t LsmTree::ranks_on(std::size_t level, std::uint64_t ranks) const {
  std::uint64_t before = 0;  // Of a cycle's keys, those on the levels above.
  std::uint64_t on_level = 1;
  for (; level > 0; --level, on_level *= spec_.ratio) before += on_level;
  const std::uint64_t rest = ranks % cycle();
  return ranks / cycle() * on_level + std::min(rest - std::min(rest, before), on_level);
}

std::size_t LsmTree::fence_bytes(std::size_t level) const {
  return in_whole_lines((keys_on(level) + kBlockKeys - 1) / kBlockKeys * sizeof(std::uint64_t));
}

std::vector<Part> LsmTree::parts() const {
  std::vector<Part> found{{kParts[0], 0}, {kParts[1], 0}};
  for (std::size_t level = 0; level < kLevels; ++level) {
    found[0].bytes += BloomFilter::bytes(keys_on(level));
    found[1].bytes += fence_bytes(level);
    found.push_back({kParts[2 + level], in_whole_lines(keys_on(level) * sizeof(Entry))});
  }
  return found;
}

void LsmTree::build(Memory memory, const OnThreads& on_threads) {
  std::byte* filters = memory[0].data();
  std::byte* fences = memory[1].data();
  std::memset(filters, 0, parts()[0].bytes);
  for (std::size_t level = 0; level < kLevels; ++level) {
    const std::uint64_t count = keys_on(level);
    levels_[level] = {.filter = BloomFilter(filters, count),
                      .fences = reinterpret_cast<std::uint64_t*>(fences),
                      .entries = reinterpret_cast<Entry*>(memory[2 + level].data()),
                      .count = count};
    filters += BloomFilter::bytes(count);
    fences += fence_bytes(level);
  }
  threads_.clear();
  const Ranks all{0, spec_.keys};
  for (std::size_t thread = 0; thread < spec_.threads; ++thread) {
    threads_.push_back({.stream = KeyStream(keys_, all, spec_.distribution, thread, spec_.threads),
                        .luck = thread});
  }
  on_threads([&](std::size_t thread) { load(share_of(spec_.keys, spec_.threads, thread)); });
}

// Keys come in order, so that each level's are written in order, too.
void LsmTree::load(Ranks ranks) {
  std::array<std::uint64_t, kLevels> next{};
  for (std::size_t level = 0; level < kLevels; ++level) next[level] = ranks_on(level, ranks.first);
  for (std::uint64_t rank = ranks.first; rank < ranks.first + ranks.count; ++rank) {
    const std::size_t on = level_of(rank);
    Level& level = levels_[on];
    const std::uint64_t key = keys_.at(2 * rank);
    const std::uint64_t at = next[on]++;
    level.entries[at] = {key, value_of(key)};
    if (at % kBlockKeys == 0) level.fences[at / kBlockKeys] = key;
    level.filter.add(HashTable::hash(key));
  }
}

LsmTree::Found LsmTree::find(std::uint64_t key) const {
  const std::uint64_t hashed = HashTable::hash(key);
  std::size_t searched = 0;
  for (std::size_t number = 0; number < kLevels; ++number) {
    const Level& level = levels_[number];
    if (!level.filter.may_hold(hashed)) continue;
    ++searched;
    const std::uint64_t blocks = (level.count + kBlockKeys - 1) / kBlockKeys;
    const std::uint64_t above =
        not_above(blocks, key, [&](std::uint64_t i) { return level.fences[i]; });
    if (above == 0) continue;
    const std::uint64_t first = (above - 1) * kBlockKeys;
    const Entry* const block = level.entries + first;
    const std::uint64_t count = std::min(kBlockKeys, level.count - first);
    const std::uint64_t at = not_above(count, key, [&](std::uint64_t i) { return block[i].key; });
    const Entry& entry = block[at - 1];
    if (entry.key == key) return {&entry.value, number, searched};
  }
  return {.blocks = searched};
}

void LsmTree::work(std::size_t number, std::uint64_t units) {
  Thread& own = threads_[number];
  const auto missed = static_cast<std::uint64_t>(std::ldexp(spec_.misses, 53));
  for (std::uint64_t i = 0; i < units; ++i) {
    const std::uint64_t absent = splitmix64(own.luck) >> 11 < missed ? 1 : 0;
    const std::uint64_t key = keys_.at(2 * own.stream.next_rank() + absent);
    const Found found = find(key);
    own.absent += absent;
    own.blocks += found.blocks;
    ++own.found[found.level];
    own.wrong += absent != (found.value == nullptr ? 1 : 0) ||
                 (found.value != nullptr && *found.value != value_of(key));
  }
  own.done += units;
}

std::string LsmTree::verify(const OnThreads& on_threads) {
  on_threads([&](std::size_t thread) { compare(share_of(spec_.keys, spec_.threads, thread)); });
  Thread all{threads_.front()};
  for (std::size_t number = 1; number < threads_.size(); ++number) {
    const Thread& thread = threads_[number];
    all.done += thread.done;
    all.absent += thread.absent;
    all.wrong += thread.wrong;
    all.blocks += thread.blocks;
    for (std::size_t level = 0; level <= kLevels; ++level) all.found[level] += thread.found[level];
  }
  if (all.wrong != 0) {
    throw Failure(
        fmt::format("{} of {} lookups gave another answer than they have to", all.wrong, all.done),
        Cause::kVerification);
  }
  return fmt::format(
      "{} lookups, each with its key's value, found on levels 0 to {}: {}; {} of {} absent keys "
      "not "
      "found; {} blocks searched",
      all.done, kLevels - 1, fmt::join(std::span(all.found).first(kLevels), ", "),
      all.found[kLevels], all.absent, all.blocks);
}

// Keys in order, or one of so many: each is on its level, and the number behind it on none.
void LsmTree::compare(Ranks ranks) const {
  constexpr std::uint64_t kMaxCompared = 1U << 20;
  const std::uint64_t step = std::max<std::uint64_t>(ranks.count / kMaxCompared, 1);
  for (std::uint64_t i = 0; i < ranks.count; i += step) {
    const std::uint64_t rank = ranks.first + i;
    const std::uint64_t key = keys_.at(2 * rank);
    const Found found = find(key);
    if (found.value == nullptr || found.level != level_of(rank) || *found.value != value_of(key)) {
      throw Failure(fmt::format("key {} is not on level {} with its value", key, level_of(rank)),
                    Cause::kVerification);
    }
    if (find(keys_.at(2 * rank + 1)).value != nullptr) {
      throw Failure(fmt::format("key {} was found, which no level has", keys_.at(2 * rank + 1)),
                    Cause::kVerification);
    }
  }
}

}  // namespace tierscope::database
