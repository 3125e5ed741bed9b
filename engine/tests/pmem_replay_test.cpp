// The states that a crash could leave, against a machine that is run step by step in every way.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "pmem_check/replay.h"
#include "pmem_check/slots.h"
#include "splitmix64.h"

namespace tierscope {
namespace {

using Words = std::vector<std::uint64_t>;
using MemoryState = std::pair<Words, std::uint64_t>;
constexpr std::uint64_t kUnlimited = 1'000'000'000;

std::set<MemoryState> replayed(const MemoryTrace& trace, std::size_t words,
                               std::uint64_t limit = kUnlimited) {
  std::set<MemoryState> found;
  replay(trace, words, {.states = limit, .seed = 1},
         [&](std::span<const std::uint64_t> state, std::uint64_t acknowledged) {
           found.emplace(Words(state.begin(), state.end()), acknowledged);
         });
  return found;
}

// A machine whose cache writes back any line after any step: the set of all memories that it can
// have. A fence waits for the lines that were flushed, so it leaves only memories that have them.
class Machine {
 public:
  explicit Machine(std::size_t words) : words_(words), memories_{{Versions(lines()), 0}} { see(); }

  void step(const MemoryEvent& event) {
    const std::size_t line = event.word / kLineWords;
    if (event.kind == MemoryEvent::Kind::kStore) {
      stores_.push_back(event);
      ++newest_[line];
    } else if (event.kind == MemoryEvent::Kind::kFlush) {
      flushed_[line] = newest_[line];
    } else if (event.kind == MemoryEvent::Kind::kAcknowledge) {
      acknowledged_ = event.value;
    } else {
      std::erase_if(memories_, [this](const auto& memory) { return lacks_flushed(memory.first); });
    }
    write_back();
    see();
  }

  const std::set<MemoryState>& seen() const { return seen_; }

 private:
  using Versions = std::vector<std::size_t>;  // Of each line: how many of its stores memory has.

  std::size_t lines() const { return words_ / kLineWords; }

  bool lacks_flushed(const Versions& memory) const {
    for (std::size_t line = 0; line < lines(); ++line) {
      if (memory[line] < flushed_[line]) return true;
    }
    return false;
  }

  void write_back() {
    for (std::size_t line = 0; line < lines(); ++line) {
      const auto before = memories_;
      for (auto [memory, unused] : before) {
        memory[line] = newest_[line];
        memories_.emplace(memory, unused);
      }
    }
  }

  void see() {
    for (const auto& [memory, unused] : memories_) {
      Words words(words_);
      Versions left = memory;
      for (const MemoryEvent& store : stores_) {
        std::size_t& more = left[store.word / kLineWords];
        if (more == 0) continue;
        --more;
        words[store.word] = store.value;
      }
      seen_.emplace(words, acknowledged_);
    }
  }

  std::size_t words_;
  MemoryTrace stores_;
  std::array<std::size_t, 4> newest_{};
  std::array<std::size_t, 4> flushed_{};
  std::set<std::pair<Versions, int>> memories_;
  std::uint64_t acknowledged_ = 0;
  std::set<MemoryState> seen_;
};

MemoryTrace random_trace(std::uint64_t seed, std::size_t words) {
  MemoryTrace trace;
  const std::size_t length = splitmix64(seed) % 14;
  for (std::size_t i = 0; i < length; ++i) {
    const std::size_t word = splitmix64(seed) % words;
    const std::uint64_t choice = splitmix64(seed) % 10;
    if (choice < 5) trace.push_back({MemoryEvent::Kind::kStore, word, i + 1});
    if (choice == 5 || choice == 6) trace.push_back({MemoryEvent::Kind::kFlush, word});
    if (choice == 7 || choice == 8) trace.push_back({MemoryEvent::Kind::kFence});
    if (choice == 9) trace.push_back({MemoryEvent::Kind::kAcknowledge, 0, i + 1});
  }
  return trace;
}

std::set<Words> memories(const std::set<MemoryState>& states) {
  std::set<Words> found;
  for (const auto& [words, acknowledged] : states) found.insert(words);
  return found;
}

TEST(PmemReplay, HasTheStatesOfEveryRunOfTheMachineAndNoOthers) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const std::size_t words = (1 + seed % 3) * kLineWords;
    const MemoryTrace trace = random_trace(seed, words);
    Machine machine(words);
    for (const MemoryEvent& event : trace) machine.step(event);
    const std::set<MemoryState> found = replayed(trace, words);
    ASSERT_EQ(memories(found), memories(machine.seen())) << "seed " << seed;
    // A crash point stands for those since the last fence: same memory, later acknowledgement.
    for (const MemoryState& state : found)
      ASSERT_TRUE(machine.seen().contains(state)) << "seed " << seed;
    for (const MemoryState& seen : machine.seen()) {
      const auto later = [&](const MemoryState& state) {
        return state.first == seen.first && state.second >= seen.second;
      };
      ASSERT_TRUE(std::any_of(found.begin(), found.end(), later)) << "seed " << seed;
    }
  }
}

TEST(PmemReplay, ASampleIsOfTheStatesAndHasTheMostAndTheLeast) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const std::size_t words = 3 * kLineWords;
    const MemoryTrace trace = random_trace(seed, words);
    const std::set<MemoryState> all = replayed(trace, words);
    for (const std::uint64_t limit : {2, 5}) {
      for (const MemoryState& state : replayed(trace, words, limit)) {
        ASSERT_TRUE(all.contains(state)) << "seed " << seed;
      }
    }
    Words newest(words);
    for (const MemoryEvent& event : trace) {
      if (event.kind == MemoryEvent::Kind::kStore) newest[event.word] = event.value;
    }
    ASSERT_TRUE(memories(replayed(trace, words, 2)).contains(newest)) << "seed " << seed;
  }
}

TEST(PmemReplay, CountsAndBoundsStates) {
  Recorder recorder;
  for (std::size_t line = 0; line < 3; ++line) {
    recorder.store(line * kLineWords, 1);
    recorder.store(line * kLineWords + 1, 2);
  }
  const auto ignore = [](std::span<const std::uint64_t>, std::uint64_t) {};
  const Replayed whole = replay(recorder.trace(), 3 * kLineWords, {.states = 27}, ignore);
  EXPECT_EQ(whole.states, 27);
  EXPECT_EQ(whole.crash_points, 1);
  EXPECT_EQ(whole.sampled, 0);
  const Replayed sampled = replay(recorder.trace(), 3 * kLineWords, {.states = 26}, ignore);
  EXPECT_EQ(sampled.states, 26);
  EXPECT_EQ(sampled.sampled, 1);
}

TEST(PmemReplay, AFlushIsOfTheStoresBeforeItAndCountsOnlyAfterAFence) {
  using Kind = MemoryEvent::Kind;
  const MemoryTrace trace{{Kind::kStore, 0, 1}, {Kind::kFlush, 0}, {Kind::kStore, 0, 2}};
  EXPECT_EQ(memories(replayed(trace, kLineWords)).size(), 3);
  MemoryTrace fenced = trace;
  fenced.push_back({Kind::kFence});
  std::set<std::uint64_t> after;
  fenced.push_back({Kind::kAcknowledge, 0, 7});
  for (const auto& [words, acknowledged] : replayed(fenced, kLineWords)) {
    if (acknowledged == 7) after.insert(words[0]);
  }
  EXPECT_EQ(after, (std::set<std::uint64_t>{1, 2}));
}

// How many of the states of some generations are inconsistent, or have lost what was acknowledged.
std::pair<std::uint64_t, std::uint64_t> wrong(SlotsFault fault, std::uint64_t limit) {
  Recorder recorder;
  for (std::uint64_t generation = 1; generation <= 4; ++generation) {
    write_slots(recorder, generation, fault);
  }
  std::uint64_t torn = 0;
  std::uint64_t lost = 0;
  replay(recorder.trace(), kSlotsWords, {.states = limit},
         [&](std::span<const std::uint64_t> words, std::uint64_t acknowledged) {
           const Survivor found = read_slots(words);
           torn += found.problem.empty() ? 0 : 1;
           lost += found.generation < acknowledged ? 1 : 0;
         });
  return {torn, lost};
}

TEST(PmemReplay, SlotsAreConsistentInEveryStateAndBrokenWritersAreNot) {
  EXPECT_EQ(wrong(SlotsFault::kNone, 10'000), std::pair(0UL, 0UL));
  const auto [torn, lost] = wrong(SlotsFault::kNoFlush, 10'000);
  EXPECT_GT(torn, 0);
  EXPECT_GT(lost, 0);
  // Its last fence waits for all, so that nothing acknowledged is lost.
  const auto [unordered, forgotten] = wrong(SlotsFault::kNoFence, 10'000);
  EXPECT_GT(unordered, 0);
  EXPECT_EQ(forgotten, 0);
}

TEST(PmemReplay, AFewStatesAreEnoughToCatchTheBrokenWriters) {
  EXPECT_GT(wrong(SlotsFault::kNoFlush, 20).first, 0);
  EXPECT_GT(wrong(SlotsFault::kNoFence, 20).first, 0);
}

}  // namespace
}  // namespace tierscope
