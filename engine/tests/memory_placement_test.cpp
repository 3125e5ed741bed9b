#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "errors.h"
#include "memory/placement.h"

namespace tierscope {
namespace {

// The node of each page, put together from the runs of every share.
std::vector<int> nodes_of_pages(const Placement& placement, PageRange slice) {
  std::vector<int> nodes(slice.last - slice.first, -1);
  for (std::size_t share = 0; share < placement.nodes.size(); ++share) {
    for_each_run(placement, share, slice, [&](PageRange run) {
      for (std::size_t page = run.first; page < run.last; ++page) {
        EXPECT_EQ(nodes.at(page - slice.first), -1) << "page " << page << " given twice";
        nodes.at(page - slice.first) = placement.nodes[share].node;
      }
    });
  }
  return nodes;
}

std::string failure_text(const Placement& placement, std::size_t unit, const RegionReport& report) {
  try {
    verify_placement(placement, unit, report);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

const Placement kThreeToOne{Policy::kWeighted, {{0, 3}, {2, 1}}};
const Placement kThreeToOneByKernel{Policy::kWeighted, {{0, 3}, {2, 1}}, Mechanism::kKernel};

TEST(Runs, WeightsAreTakenInRoundsFromPageZero) {
  EXPECT_EQ(nodes_of_pages(kThreeToOne, {0, 10}), (std::vector<int>{0, 0, 0, 2, 0, 0, 0, 2, 0, 0}));
}

TEST(Runs, ASliceContinuesTheRoundsOfItsRegion) {
  EXPECT_EQ(nodes_of_pages(kThreeToOne, {2, 9}), (std::vector<int>{0, 2, 0, 0, 0, 2, 0}));
}

TEST(Runs, InterleaveIgnoresWeights) {
  const Placement placement{Policy::kInterleave, {{1, 9}, {0, 9}}};
  EXPECT_EQ(nodes_of_pages(placement, {0, 5}), (std::vector<int>{1, 0, 1, 0, 1}));
}

TEST(Runs, CountsAreThoseThatAllowedPagesStates) {
  const Placement placement{Policy::kWeighted, {{0, 5}, {1, 3}, {700, 255}, {1023, 1}}};
  for (const std::size_t pages : {1U, 5U, 8U, 263U, 264U, 265U, 4096U}) {
    const std::vector<int> nodes = nodes_of_pages(placement, {0, pages});
    const std::vector<PageBounds> bounds = allowed_pages(placement, pages);
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      const auto count =
          static_cast<std::size_t>(std::count(nodes.begin(), nodes.end(), placement.nodes[i].node));
      EXPECT_EQ(bounds[i], (PageBounds{count, count})) << pages << " pages, share " << i;
    }
  }
}

TEST(Partition, RangesFollowTheWeightsWithoutAGap) {
  const Placement placement{Policy::kPartition, {{0, 1}, {1, 2}, {2, 1}}};
  EXPECT_EQ(partition_ranges(placement, 10),
            (std::vector<NodesRange>{{{0, 2}, 0, 1}, {{2, 7}, 1, 1}, {{7, 10}, 2, 1}}));
}

TEST(Partition, ANodeMayGetNothing) {
  const Placement placement{Policy::kPartition, {{0, 1}, {1, 255}}};
  EXPECT_EQ(partition_ranges(placement, 3),
            (std::vector<NodesRange>{{{0, 0}, 0, 1}, {{0, 3}, 1, 1}}));
}

TEST(Partition, NodesThatShareARangeTakeItsPagesInTurn) {
  Placement placement{Policy::kPartition, {{0, 3}, {1, 3}, {2, 2}}};
  placement.ranges = {2, 1};
  EXPECT_EQ(partition_ranges(placement, 20),
            (std::vector<NodesRange>{{{0, 15}, 0, 2}, {{15, 20}, 2, 1}}));
  // The kernel may begin with either of both; in the second range there is one.
  EXPECT_EQ(allowed_pages(placement, 20), (std::vector<PageBounds>{{7, 8}, {7, 8}, {5, 5}}));
  EXPECT_EQ(failure_text(placement, 4096, {.pages = {{0, 7}, {1, 8}, {2, 5}}, .page_bytes = 4096}),
            "");
  // A range a node, of the same shares.
  EXPECT_NE(failure_text(placement, 4096, {.pages = {{0, 6}, {1, 9}, {2, 5}}, .page_bytes = 4096}),
            "");
}

TEST(AllowedPages, TheKernelMayBeginItsRoundAnywhere) {
  // Any 10 pages in a sample out of 0 0 0 2 0 0 0 2 ...: two rounds and two pages.
  EXPECT_EQ(allowed_pages(kThreeToOneByKernel, 10), (std::vector<PageBounds>{{7, 8}, {2, 3}}));
}

TEST(AllowedPages, TheKernelsCountsSeenOnFourNodesFit) {
  // Seen with weights 5:3:1:1 over 4096 pages on Linux 6.12.
  const Placement placement{
      Policy::kWeighted, {{0, 5}, {1, 3}, {2, 1}, {4, 1}}, Mechanism::kKernel};
  const RegionReport report{.pages = {{0, 2046}, {1, 1230}, {2, 410}, {4, 410}},
                            .page_bytes = 4096};
  EXPECT_EQ(failure_text(placement, 4096, report), "");
}

TEST(Verify, BindIsOneNodeOnly) {
  const Placement placement{Policy::kBind, {{1}}};
  EXPECT_EQ(failure_text(placement, 4096, {.pages = {{1, 512}}, .page_bytes = 4096}), "");
  EXPECT_EQ(failure_text(placement, 4096, {.pages = {{0, 2}, {1, 510}}, .page_bytes = 4096}),
            "pages of 4096 bytes are not on the nodes asked for; node 1 holds 510, asked 512; "
            "node 0 holds 2, asked 0");
}

TEST(Verify, PreferredTakesWhatCame) {
  const Placement placement{Policy::kPreferred, {{1}}};
  EXPECT_EQ(failure_text(placement, 4096, {.pages = {{0, 500}, {1, 12}}, .page_bytes = 4096}), "");
}

TEST(Verify, InterleaveByUserIsExact) {
  const Placement placement{Policy::kInterleave, {{0}, {1}}};
  EXPECT_EQ(failure_text(placement, 4096, {.pages = {{0, 6}, {1, 5}}, .page_bytes = 4096}), "");
  EXPECT_NE(failure_text(placement, 4096, {.pages = {{0, 5}, {1, 6}}, .page_bytes = 4096}), "");
}

TEST(Verify, OnePageTooManyByTheKernelIsAFailureThatNamesTheBounds) {
  EXPECT_EQ(
      failure_text(kThreeToOneByKernel, 4096, {.pages = {{0, 9}, {2, 1}}, .page_bytes = 4096}),
      "pages of 4096 bytes are not on the nodes asked for; node 0 holds 9, asked 7 to 8; "
      "node 2 holds 1, asked 2 to 3");
}

TEST(Verify, PartitionIsExact) {
  const Placement placement{Policy::kPartition, {{0, 1}, {1, 2}, {2, 1}}};
  EXPECT_EQ(failure_text(placement, 4096, {.pages = {{0, 2}, {1, 5}, {2, 3}}, .page_bytes = 4096}),
            "");
  EXPECT_NE(failure_text(placement, 4096, {.pages = {{0, 3}, {1, 5}, {2, 2}}, .page_bytes = 4096}),
            "");
}

TEST(Verify, PagesThatWentAreAFailureUnderEveryPolicy) {
  EXPECT_EQ(failure_text({Policy::kPreferred, {{0}}}, 4096,
                         {.pages = {{0, 7}}, .absent_pages = 3, .page_bytes = 4096}),
            "3 of 10 pages of 4096 bytes are no longer in memory");
}

TEST(Verify, HugePagesOfWhichSomeAreSmallAreComparedInSmallOnes) {
  constexpr std::size_t kHuge = std::size_t{2} << 20;
  const RegionReport report{
      .pages = {{0, 1536}, {2, 512}}, .page_bytes = 4096, .huge_bytes = 3 * kHuge};
  EXPECT_EQ(failure_text(kThreeToOne, kHuge, report), "");
}

TEST(Verify, SmallPagesThatTheKernelInterleavedMayLieOnAnyNodeAskedFor) {
  constexpr std::size_t kHuge = std::size_t{2} << 20;
  RegionReport report{.pages = {{0, 1408}, {2, 640}}, .page_bytes = 4096, .huge_bytes = 3 * kHuge};
  EXPECT_EQ(failure_text(kThreeToOneByKernel, kHuge, report), "");
  report.pages = {{0, 1000}, {2, 1048}};
  EXPECT_NE(failure_text(kThreeToOneByKernel, kHuge, report), "");
  report.pages = {{0, 1536}, {1, 512}};
  EXPECT_NE(failure_text(kThreeToOneByKernel, kHuge, report), "");
}

}  // namespace
}  // namespace tierscope
