#include "access/chase.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <set>
#include <tuple>
#include <vector>

namespace tierscope {
namespace {

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};

class Cycle : public testing::TestWithParam<std::tuple<std::size_t, std::size_t, ChaseOrder>> {};

// Follows the links one by one until the start comes again.
TEST_P(Cycle, VisitsEveryLineOfEverySlotExactlyOnce) {
  const auto [bytes, stride, order] = GetParam();
  const std::unique_ptr<std::byte, Free> memory(
      static_cast<std::byte*>(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096)));
  void** const start = link_chase({memory.get(), bytes}, stride, order).front();
  std::set<const void*> seen;
  void** at = start;
  do {
    const std::ptrdiff_t offset = reinterpret_cast<std::byte*>(at) - memory.get();
    ASSERT_GE(offset, 0);
    ASSERT_LT(static_cast<std::size_t>(offset), bytes / stride * stride);
    ASSERT_EQ(offset % 64, 0);
    ASSERT_TRUE(seen.insert(at).second) << "a line came twice before the cycle closed";
    at = static_cast<void**>(*at);
  } while (at != start);
  EXPECT_EQ(seen.size(), bytes / stride * stride / 64);
  EXPECT_EQ(seen.size(), chase_length(bytes, stride));
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, Cycle,
    testing::Combine(testing::Values(512, 4096, 5 * 256, 1 << 20, 3'000'000, (1 << 22) + 64),
                     testing::Values(64, 256),
                     testing::Values(ChaseOrder::kRandom, ChaseOrder::kPageRandom)));

TEST(FollowChase, GoesAsFarAsAskedInWholeUnrolls) {
  constexpr std::size_t kBytes = 1 << 16;
  const std::unique_ptr<std::byte, Free> memory(
      static_cast<std::byte*>(std::aligned_alloc(4096, kBytes)));
  void** const start = link_chase({memory.get(), kBytes}, 256, ChaseOrder::kRandom).front();
  void** expected = start;
  for (std::uint64_t i = 0; i < 2 * kChaseUnroll; ++i) expected = static_cast<void**>(*expected);
  EXPECT_EQ(follow_chase(start, kChaseUnroll + 1), expected);
}

// Wherever the compiler holds a chase, in a register or on the stack, it follows its own links.
TEST(FollowChases, FollowsEachChaseAsOneAloneWould) {
  constexpr std::size_t kBytes = 1 << 16;
  const std::unique_ptr<std::byte, Free> memory(
      static_cast<std::byte*>(std::aligned_alloc(4096, kBytes)));
  const ChaseEntries entries = link_chase({memory.get(), kBytes}, 256, ChaseOrder::kRandom);
  for (std::size_t chases = 1; chases <= kMaxChases; ++chases) {
    std::vector<void**> at(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(chases));
    follow_chases(at, 2 * kChaseUnroll);
    for (std::size_t chase = 0; chase < chases; ++chase) {
      EXPECT_EQ(at[chase], follow_chase(entries[chase], 2 * kChaseUnroll))
          << chase << " of " << chases;
    }
  }
}

// So that no chase meets, still cached, what another one has just loaded.
TEST(LinkChase, EntersTheCycleAtEvenDistances) {
  constexpr std::size_t kBytes = 1 << 20;
  const std::unique_ptr<std::byte, Free> memory(
      static_cast<std::byte*>(std::aligned_alloc(4096, kBytes)));
  const ChaseEntries entries = link_chase({memory.get(), kBytes}, 256, ChaseOrder::kRandom);
  const std::uint64_t length = chase_length(kBytes, 256);
  void** at = entries.front();
  std::uint64_t walked = 0;
  for (std::size_t entry = 0; entry < entries.size(); ++entry) {
    for (; walked < entry * length / entries.size(); ++walked) at = static_cast<void**>(*at);
    ASSERT_EQ(entries[entry], at) << entry;
  }
}

TEST(LinkChase, EntersAShortCycleAtEachOfItsLines) {
  constexpr std::size_t kBytes = 2048;
  const std::unique_ptr<std::byte, Free> memory(
      static_cast<std::byte*>(std::aligned_alloc(4096, 4096)));
  const ChaseEntries entries = link_chase({memory.get(), kBytes}, 64, ChaseOrder::kRandom);
  EXPECT_EQ(std::set<void**>(entries.begin(), entries.end()).size(), kBytes / 64);
}

TEST(LinkChase, SuccessiveLoadsStayAwayFromNeighbouringLines) {
  constexpr std::size_t kBytes = 1 << 22;
  const std::unique_ptr<std::byte, Free> memory(
      static_cast<std::byte*>(std::aligned_alloc(4096, kBytes)));
  void** at = link_chase({memory.get(), kBytes}, 256, ChaseOrder::kRandom).front();
  std::uint64_t near = 0;
  const std::uint64_t length = chase_length(kBytes, 256);
  for (std::uint64_t i = 0; i < length; ++i) {
    void** const next = static_cast<void**>(*at);
    near += std::abs(reinterpret_cast<std::byte*>(next) - reinterpret_cast<std::byte*>(at)) <= 256;
    at = next;
  }
  // By chance a few of 65536 land within a slot's distance; a stride pattern would be far more.
  EXPECT_LT(near, length / 1000);
}

// The trap described at Shuffle in chase.cpp: each of the 64 unrolled loads must not see a stride.
TEST(LinkChase, NoLoadOfTheUnrolledLoopSeesAConstantStride) {
  constexpr std::size_t kBytes = 1 << 22;
  const std::unique_ptr<std::byte, Free> memory(
      static_cast<std::byte*>(std::aligned_alloc(4096, kBytes)));
  void** at = link_chase({memory.get(), kBytes}, 256, ChaseOrder::kPageRandom).front();
  std::set<std::ptrdiff_t> strides;
  constexpr int kLooked = 200;
  for (int i = 0; i < kLooked; ++i) {
    void** const next = follow_chase(at, kChaseUnroll);
    strides.insert(reinterpret_cast<std::byte*>(next) - reinterpret_cast<std::byte*>(at));
    at = next;
  }
  EXPECT_GT(strides.size(), kLooked * 9 / 10);
}

}  // namespace
}  // namespace tierscope
