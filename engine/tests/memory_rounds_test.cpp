// Shares of interleaved arrays: each thread's traffic has the weights asked for.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "errors.h"
#include "memory/rounds.h"
#include "memory/system_memory.h"
#include "sizes.h"

namespace tierscope {
namespace {

constexpr std::size_t kHuge = 2 * kMiB;

const Placement kTwentyToOne{Policy::kWeighted, {{0, 20}, {2, 1}}};

std::map<int, std::size_t> pages_in(const Placement& placement, PageRange slice) {
  std::map<int, std::size_t> found;
  for (std::size_t share = 0; share < placement.nodes.size(); ++share) {
    for_each_run(placement, share, slice, [&](PageRange run) {
      found[placement.nodes[share].node] += run.last - run.first;
    });
  }
  return found;
}

TEST(Rounds, EveryShareHoldsTheWeightsExactly) {
  const std::vector<Placement> placements{
      kTwentyToOne,
      {Policy::kInterleave, {{1}, {0}, {5}}},
      {Policy::kWeighted, {{0, 5}, {1, 3}, {2, 1}, {4, 1}}},
  };
  for (const Placement& placement : placements) {
    for (const std::size_t threads : {1U, 2U, 3U, 7U, 31U, 97U}) {
      const std::size_t bytes =
          in_whole_rounds(4096 * kMiB, Pages::kHuge2M, placement, {threads, kCacheLine});
      EXPECT_LE(bytes, 4096 * kMiB);
      EXPECT_GT(bytes + round_pages(placement) * kHuge, 4096 * kMiB);
      const std::size_t grain = share_grain(Pages::kHuge2M, placement, kCacheLine);
      std::size_t end = 0;
      for (const ByteRange& share : cut_into_shares(bytes, grain, threads)) {
        EXPECT_EQ(share.first, end);
        end = share.last;
        const auto pages = pages_in(placement, {share.first / kHuge, share.last / kHuge});
        const std::size_t rounds = (share.last - share.first) / kHuge / round_pages(placement);
        EXPECT_GE(rounds, 1U);
        for (const NodeShare& node : placement.nodes) {
          const int weight = placement.policy == Policy::kWeighted ? node.weight : 1;
          EXPECT_EQ(pages.at(node.node), rounds * static_cast<std::size_t>(weight));
        }
      }
      EXPECT_EQ(end, bytes);
    }
  }
}

TEST(Rounds, AShareWithoutAWholeRoundIsRefusedWithTheNumbers) {
  try {
    in_whole_rounds(4096 * kMiB, Pages::kHuge2M, kTwentyToOne, {128, kCacheLine});
    FAIL() << "31 threads would have no page of node 2";
  } catch (const Unavailable& refused) {
    EXPECT_EQ(refused.cause(), Cause::kWeights);
    EXPECT_STREQ(refused.what(),
                 "32 MiB for each thread hold 16 of the 21 pages of 2 MiB in a round of 20:1");
    EXPECT_EQ(refused.remedy(),
              "ask for a size of 5376m or more, or for base pages, or for 97 threads at most");
  }
  EXPECT_EQ(in_whole_rounds(5376 * kMiB, Pages::kHuge2M, kTwentyToOne, {128, kCacheLine}),
            5376 * kMiB);
}

TEST(Rounds, OneThreadNeedsAWholeRoundToo) {
  try {
    in_whole_rounds(2 * base_page_bytes(), Pages::kBase, {Policy::kInterleave, {{0}, {1}, {2}}},
                    {1, kCacheLine});
    FAIL() << "node 2 would have no page";
  } catch (const Unavailable& refused) {
    EXPECT_TRUE(std::string(refused.what()).ends_with("in a round of 1:1:1")) << refused.what();
    EXPECT_EQ(refused.remedy(),
              "ask for a size of " + std::to_string(3 * base_page_bytes() / 1024) + "k or more");
  }
}

TEST(Rounds, OtherPoliciesHaveNone) {
  for (const Policy policy : {Policy::kBind, Policy::kPreferred, Policy::kPartition}) {
    const Placement placement{policy, {{0, 20}}};
    EXPECT_EQ(in_whole_rounds(1000 * kCacheLine, Pages::kHuge2M, placement, {900, kCacheLine}),
              1000 * kCacheLine);
    EXPECT_EQ(share_grain(Pages::kHuge2M, placement, 3 * kCacheLine), 3 * kCacheLine);
  }
}

TEST(Rounds, NoShareCutsAnAccessInTwo) {
  const Placement placement{Policy::kInterleave, {{0}, {1}}};
  const std::size_t access = 3 * kCacheLine;
  const std::size_t grain = share_grain(Pages::kBase, placement, access);
  EXPECT_EQ(grain % access, 0U);
  EXPECT_EQ(grain % (2 * base_page_bytes()), 0U);
}

TEST(Shares, TheFirstOnesHaveWhatIsOver) {
  EXPECT_EQ(cut_into_shares(1000, 100, 4),
            (std::vector<ByteRange>{{0, 300}, {300, 600}, {600, 800}, {800, 1000}}));
  EXPECT_EQ(cut_into_shares(250, 100, 3),
            (std::vector<ByteRange>{{0, 100}, {100, 200}, {200, 200}}));
}

}  // namespace
}  // namespace tierscope
