#include "harness/leases.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <any>
#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "errors.h"

namespace tierscope {
namespace {

constexpr std::size_t kBytes = std::size_t{1} << 20;
constexpr std::array<int, 1> kCpu{0};
const RegionKey kKey{kBytes, Pages::kBase, {Policy::kBind, {{0}}}};
const RegionKey kOther{2 * kBytes, Pages::kBase, kKey.placement};

// Numbers of the page frames of a region of base pages; 0 for anyone but root
// (proc_pid_pagemap(5)).
std::vector<std::uint64_t> frames_of(const Region& region) {
  std::vector<std::uint64_t> frames(region.size() / 4096);
  const auto page = reinterpret_cast<std::uintptr_t>(region.data()) / 4096;
  const int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  const auto bytes = static_cast<ssize_t>(frames.size() * sizeof(std::uint64_t));
  EXPECT_EQ(pread(file, frames.data(), static_cast<std::size_t>(bytes),
                  static_cast<off_t>(page * sizeof(std::uint64_t))),
            bytes);
  close(file);
  for (std::uint64_t& frame : frames) frame &= (std::uint64_t{1} << 55) - 1;
  return frames;
}

class LeasesTest : public testing::Test {
 protected:
  std::vector<Lease> repetition(const std::vector<RegionKey>& keys, bool fresh = false) {
    leases_.begin_repetition(fresh);
    return leases_.regions(keys, leases_.team(kCpu));
  }

  // Leases a region that it prefers to hold this text, and leaves it there.
  Lease named(const std::string& name, bool fresh = false) {
    leases_.begin_repetition(fresh);
    const Lease lease = leases_
                            .regions(std::array{kKey}, leases_.team(kCpu),
                                     [&name](std::size_t, const std::any& found) {
                                       const auto* const text = std::any_cast<std::string>(&found);
                                       return text != nullptr && *text == name;
                                     })
                            .front();
    *lease.contents = name;
    return lease;
  }

  Leases leases_;
};

TEST_F(LeasesTest, ALaterRepetitionFindsWhatTheLastOneLeft) {
  const Lease first = repetition({kKey}).front();
  EXPECT_TRUE(first.is_new);
  EXPECT_FALSE(first.found.has_value());
  *first.contents = std::string("left");
  const Lease second = repetition({kKey}).front();
  EXPECT_EQ(second.region, first.region);
  EXPECT_FALSE(second.is_new);
  EXPECT_EQ(std::any_cast<std::string>(second.found), "left");
}

TEST_F(LeasesTest, WhoSaysNothingLeavesNothing) {
  *repetition({kKey}).front().contents = std::string("left");
  repetition({kKey});
  EXPECT_FALSE(repetition({kKey}).front().found.has_value());
}

TEST_F(LeasesTest, TwoLeasesOfAVisitAreTwoRegions) {
  const std::vector<Lease> leases = repetition({kKey, kKey});
  EXPECT_NE(leases[0].region, leases[1].region);
  const std::vector<Lease> again = repetition({kKey, kKey});
  EXPECT_EQ(again[0].region, leases[0].region);
  EXPECT_EQ(again[1].region, leases[1].region);
}

TEST_F(LeasesTest, AHolderFindsTheRegionWhoseContentsFit) {
  const Lease first = named("first");
  EXPECT_TRUE(named("second").is_new) << "what the first one left is not overwritten";
  const Lease again = named("first");
  EXPECT_EQ(again.region, first.region);
  EXPECT_EQ(std::any_cast<std::string>(again.found), "first");
}

TEST_F(LeasesTest, AFullPoolGivesARegionWhoseContentsDoNotFit) {
  for (int repetition = 0; repetition < 40; ++repetition) {
    leases_.begin_repetition(false);
    const Lease lease = leases_
                            .regions(std::array{kKey}, leases_.team(kCpu),
                                     [](std::size_t, const std::any&) { return false; })
                            .front();
    *lease.contents = repetition;
    EXPECT_EQ(lease.is_new, repetition < 32) << repetition;
  }
  EXPECT_EQ(leases_.size(), 32U);
}

TEST_F(LeasesTest, AFreshRepetitionHasNewPages) {
  *repetition({kKey}).front().contents = std::string("left");
  const Lease fresh = repetition({kKey}, true).front();
  EXPECT_TRUE(fresh.is_new);
  EXPECT_FALSE(fresh.found.has_value());
  EXPECT_EQ(leases_.size(), 2U) << "the replaced one holds its pages";
  EXPECT_EQ(repetition({kKey}).front().region, fresh.region);
}

TEST_F(LeasesTest, NewPagesAreOthersThanAllBefore) {
  std::set<std::uint64_t> frames;
  std::size_t pages = 0;
  for (int set = 0; set < 5; ++set) {
    const Lease lease = repetition({kKey}, true).front();
    for (const std::uint64_t frame : frames_of(*lease.region)) frames.insert(frame);
    pages += kBytes / 4096;
  }
  if (frames.contains(0)) GTEST_SKIP() << "only root sees the numbers of page frames";
  EXPECT_EQ(frames.size(), pages);
}

TEST_F(LeasesTest, AFreshRepetitionLeavesWhatItDoesNotReplace) {
  named("chase");
  named("array");
  EXPECT_TRUE(named("array", true).is_new);
  EXPECT_FALSE(named("chase").is_new);
}

TEST_F(LeasesTest, ReplacedRegionsTakeNoPlaceOfOthers) {
  repetition({kOther});
  for (int set = 0; set < 40; ++set) repetition({kKey}, true);
  EXPECT_FALSE(repetition({kOther}).front().is_new);
}

TEST_F(LeasesTest, RegionsOfASweepStay) {
  for (std::size_t size = 1; size <= 8; ++size)
    repetition({{size * kBytes, Pages::kBase, kKey.placement}});
  EXPECT_EQ(leases_.size(), 8U);
  EXPECT_FALSE(repetition({kKey}).front().is_new);
}

TEST_F(LeasesTest, ThePoolHasAnEnd) {
  for (std::size_t size = 1; size <= 40; ++size)
    repetition({{size * 4096, Pages::kBase, kKey.placement}});
  EXPECT_EQ(leases_.size(), 32U);
  EXPECT_TRUE(repetition({{4096, Pages::kBase, kKey.placement}}).front().is_new)
      << "the oldest goes";
  EXPECT_FALSE(repetition({{40 * 4096, Pages::kBase, kKey.placement}}).front().is_new);
}

TEST_F(LeasesTest, WhatDoesNotFitIsRefusedOnceNothingIdleIsLeft) {
  repetition({kKey});
  leases_.begin_repetition(false);
  const std::vector<RegionKey> huge{{std::size_t{1} << 50, Pages::kBase, kKey.placement}};
  EXPECT_THROW(leases_.regions(huge, leases_.team(kCpu)), Unavailable);
  EXPECT_EQ(leases_.size(), 0U);
}

TEST_F(LeasesTest, ANodeThatDoesNotExistDropsNothing) {
  repetition({kKey});
  leases_.begin_repetition(false);
  const std::vector<RegionKey> nowhere{{kBytes, Pages::kBase, {Policy::kBind, {{1023}}}}};
  EXPECT_THROW(leases_.regions(nowhere, leases_.team(kCpu)), Unavailable);
  EXPECT_EQ(leases_.size(), 1U);
}

TEST_F(LeasesTest, TeamsStay) {
  leases_.begin_repetition(false);
  const Team* const team = &leases_.team(kCpu);
  leases_.begin_repetition(false);
  EXPECT_EQ(&leases_.team(kCpu), team);
}

}  // namespace
}  // namespace tierscope
