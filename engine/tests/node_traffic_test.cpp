// Which nodes accesses went to, compared with offsets counted one by one.
#include "kinds/node_traffic.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>

#include "access/zipf_order.h"

namespace tierscope {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kAccess = 1024;

// Pages 0 0 0 2 0 0 0 2 ...
RegionReport three_to_one(std::size_t pages) {
  RegionReport report{.page_bytes = kPage};
  for (std::size_t page = 0; page < pages; ++page) report.nodes.push_back(page % 4 == 3 ? 2 : 0);
  return report;
}

WalkedShare share_of(Order order, std::uint64_t accesses, std::uint64_t start = 0) {
  return {.walk = {.bytes = 8 * kPage, .access_size = kAccess},
          .order = order,
          .first = 4 * kPage,
          .start = start,
          .accesses = accesses};
}

NodeTraffic traffic_of(const WalkedShare& share) {
  NodeTraffic traffic;
  add_traffic(share, three_to_one(16), traffic);
  return traffic;
}

// Every access at the offset that `next` gives.
NodeTraffic counted(const WalkedShare& share, const std::function<std::uint64_t()>& next) {
  const RegionReport report = three_to_one(16);
  NodeTraffic traffic;
  for (std::uint64_t i = 0; i < share.accesses; ++i) {
    traffic[report.nodes[(share.first + next()) / kPage]] += kAccess * share.counted;
  }
  return traffic;
}

// Nodes without a byte may be there or not.
void expect_same(NodeTraffic found, NodeTraffic expected) {
  for (const int node : {0, 2}) EXPECT_DOUBLE_EQ(found[node], expected[node]) << "node " << node;
  EXPECT_EQ(found.size(), 2U);
}

TEST(NodeTraffic, SequentialAndReverseWalksAreAccountedToTheByte) {
  constexpr std::uint64_t kBlocks = 32;
  for (const std::uint64_t start : {0U, 5U, 31U}) {
    for (std::uint64_t accesses = 1; accesses < 3 * kBlocks; ++accesses) {
      std::uint64_t at = start;
      const WalkedShare forwards = share_of(Order::kSequential, accesses, start * kAccess);
      expect_same(traffic_of(forwards),
                  counted(forwards, [&] { return (at++ % kBlocks) * kAccess; }));
      at = start + 4 * kBlocks;
      const WalkedShare backwards = share_of(Order::kReverse, accesses, start * kAccess);
      expect_same(traffic_of(backwards),
                  counted(backwards, [&] { return (--at % kBlocks) * kAccess; }));
    }
  }
}

TEST(NodeTraffic, RandomAccessesGoWhereTheSharesPagesAre) {
  EXPECT_DOUBLE_EQ(traffic_of(share_of(Order::kRandom, 1000)).at(0), 750 * kAccess);
}

TEST(NodeTraffic, StridesBeyondAPageMayMissANode) {
  WalkedShare share = share_of(Order::kStrided, 4);
  share.walk.stride = 2 * kPage;
  EXPECT_EQ(traffic_of(share), (NodeTraffic{{0, 4 * kAccess}}));
  share.accesses = 32;  // All phases: the first page of each pair, then the second.
  expect_same(traffic_of(share), {{0, 24 * kAccess}, {2, 8 * kAccess}});
}

TEST(NodeTraffic, HotBlocksAreWhereZipfsOrderPutsThem) {
  const ZipfOrder zipf(32, 1.5);
  WalkedShare share = share_of(Order::kZipf, 500);
  share.walk.zipf = &zipf;
  share.seed = 7;
  std::uint64_t state = 7;
  expect_same(traffic_of(share), counted(share, [&] { return zipf.next(state) * kAccess; }));
}

TEST(NodeTraffic, WalksOfSeveralThreadsBeginEvenlySpread) {
  const Walk walk{.bytes = 10 * kAccess, .access_size = kAccess};
  EXPECT_EQ(spread_start(walk, Order::kSequential, 0, 4), 0U);
  EXPECT_EQ(spread_start(walk, Order::kReverse, 3, 4), 7 * kAccess);
  EXPECT_EQ(spread_start(walk, Order::kRandom, 3, 4), 0U);
}

}  // namespace
}  // namespace tierscope
