// The dynamic threshold: bytes of two sides come to their ratio, whatever the sizes of blocks.
#include "ratio.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace {

ratio_line two_to_one() {
  ratio_line line{};
  line.arenas[0] = kPlain;
  line.shares[0] = 2;
  line.shares[1] = 1;
  line.start = 1024;
  line.least = 1;
  line.most = std::size_t{1} << 30;
  line.window = 20;
  line.step = 15;
  line.trigger = 2;
  return line;
}

double second_share() {
  const ratio_state state = read_ratio_state();
  return static_cast<double>(state.bytes[1]) /
         (static_cast<double>(state.bytes[0]) + static_cast<double>(state.bytes[1]));
}

// Keeps `live` blocks of a distribution of sizes; returns the share at the end.
template <typename Sizes>
double run(const ratio_line& line, Sizes sizes, std::size_t live = 20000, int blocks = 200000) {
  begin_ratio(&line);
  std::mt19937 random(7);
  std::deque<std::pair<int, std::ptrdiff_t>> held;
  for (int i = 0; i < blocks; ++i) {
    const auto size = static_cast<std::size_t>(sizes(random));
    const int side = side_of(size);
    count_on_side(side, static_cast<std::ptrdiff_t>(size));
    held.emplace_back(side, size);
    if (held.size() > live) {
      count_on_side(held.front().first, -held.front().second);
      held.pop_front();
    }
  }
  return second_share();
}

TEST(Ratio, BytesComeToTheSharesForSizesOfAnyDistribution) {
  const ratio_line line = two_to_one();
  EXPECT_NEAR(run(line, std::uniform_int_distribution<>(1, 5000)), 1.0 / 3, 0.05);
  EXPECT_NEAR(run(line, std::uniform_int_distribution<>(16, 64)), 1.0 / 3, 0.05);
  EXPECT_NEAR(run(line, std::lognormal_distribution<>(7, 1.5)), 1.0 / 3, 0.06);
  EXPECT_NEAR(run(line, [](auto&) { return 100; }), 1.0 / 3, 0.05);
  EXPECT_NEAR(run(line, [](auto& random) { return random() % 10 == 0 ? 100000 : 100; }), 1.0 / 3,
              0.06);
}

TEST(Ratio, TheThresholdStaysWithinItsBounds) {
  ratio_line line = two_to_one();
  line.least = 512;
  line.most = 2048;
  run(line, [](auto&) { return 100; });
  EXPECT_EQ(read_ratio_state().threshold, 512U);  // All of it is below, whatever is done.
  EXPECT_EQ(second_share(), 0);
  run(line, [](auto&) { return 4096; });
  EXPECT_EQ(read_ratio_state().threshold, 2048U);
}

TEST(Ratio, WithinTheTriggerNothingMoves) {
  const ratio_line line = two_to_one();
  begin_ratio(&line);
  for (int i = 0; i < 100; ++i) {
    count_on_side(0, 200);
    count_on_side(1, 100);
  }
  EXPECT_EQ(read_ratio_state().moves, 0U);
  EXPECT_EQ(read_ratio_state().threshold, 1024U);
}

TEST(Ratio, ThreadsTogetherKeepTheRatio) {
  const ratio_line line = two_to_one();
  begin_ratio(&line);
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) {
    threads.emplace_back([seed] {
      std::mt19937 random(seed);
      for (int i = 0; i < 50000; ++i) {
        const std::size_t size = 16 + random() % 5000;
        count_on_side(side_of(size), static_cast<std::ptrdiff_t>(size));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_NEAR(second_share(), 1.0 / 3, 0.03);
}

}  // namespace
