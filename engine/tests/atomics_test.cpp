#include "access/atomics.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

#include "sizes.h"

namespace tierscope {
namespace {

std::uint64_t sum(const std::vector<std::uint64_t>& memory) {
  std::uint64_t total = 0;
  for (const std::uint64_t value : memory) total += value;
  return total;
}

template <Atomic kKind>
void expect_no_update_lost() {
  constexpr std::uint64_t kLines = 3;
  constexpr std::uint64_t kUpdates = 20'000;
  std::vector<std::uint64_t> memory(kLines * kCacheLine / sizeof(std::uint64_t));
  auto* const base = reinterpret_cast<std::byte*>(memory.data());
  std::array<std::uint64_t, 2> tries{};
  std::array<std::uint64_t, 2> states{1, 2};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 2; ++i) {
    threads.emplace_back(
        [&, i] { tries[i] = update_counters<kKind>(base, kLines, states[i], kUpdates); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum(memory), 2 * kUpdates);
  EXPECT_GE(tries[0], kUpdates);
  EXPECT_GE(tries[1], kUpdates);
}

TEST(UpdateCounters, LosesNoFetchAndAdd) { expect_no_update_lost<Atomic::kFetchAndAdd>(); }

TEST(UpdateCounters, LosesNoCompareAndSwap) { expect_no_update_lost<Atomic::kCompareAndSwap>(); }

TEST(UpdateCounters, StaysInItsLinesAndReachesAllOfThem) {
  constexpr std::uint64_t kLines = 8;
  constexpr std::size_t kStep = kCacheLine / sizeof(std::uint64_t);
  std::vector<std::uint64_t> memory((kLines + 2) * kStep);
  std::uint64_t state = 5;
  update_counters<Atomic::kFetchAndAdd>(reinterpret_cast<std::byte*>(memory.data() + kStep), kLines,
                                        state, kLines);
  EXPECT_EQ(memory.front(), 0U);
  EXPECT_EQ(memory[(kLines + 1) * kStep], 0U);
  for (std::uint64_t line = 1; line <= kLines; ++line) EXPECT_EQ(memory[line * kStep], 1U);
}

}  // namespace
}  // namespace tierscope
