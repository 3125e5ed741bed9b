// Regions on the machine that the test runs on. It needs node 0 with memory and no more; what
// needs several nodes runs where it finds them, and says so where it does not.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "errors.h"
#include "memory/region.h"
#include "memory/requirements.h"
#include "memory/system_memory.h"
#include "sizes.h"

namespace tierscope {
namespace {

const Placement kNodeZero{Policy::kBind, {{0}}};

std::vector<int> own_cpus() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE && cpus.size() < 2; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) cpus.push_back(cpu);
  }
  return cpus;
}

struct Refusal {
  std::string reason;
  std::string remedy;
};

Refusal refusal(std::size_t bytes, Pages pages, const Placement& placement) {
  try {
    require_memory(bytes, pages, placement);
  } catch (const Unavailable& unavailable) {
    return {unavailable.what(), unavailable.remedy()};
  }
  return {};
}

std::size_t mapped_kib() {
  const std::string status = read_text("/proc/self/status");
  return std::stoul(status.substr(status.find("VmSize:") + 7));
}

class RegionTest : public testing::Test {
 protected:
  Team team_{own_cpus()};
};

class EveryPolicy : public testing::TestWithParam<std::tuple<Policy, Mechanism, Pages>> {};

TEST_P(EveryPolicy, PutsAllPagesOnTheOnlyNodeAsked) {
  const auto [policy, mechanism, pages] = GetParam();
  const Placement placement{policy, {{0, 1}}, mechanism};
  const Refusal refused = refusal(5 * kMiB, pages, placement);
  if (!refused.reason.empty()) GTEST_SKIP() << refused.reason << "; " << refused.remedy;
  Team team(own_cpus());
  const Region region(5 * kMiB, pages, placement, team);
  const RegionReport report = region.report();
  const std::size_t unit = page_bytes(pages);
  const std::size_t bytes = (5 * kMiB + unit - 1) / unit * unit;
  ASSERT_EQ(report.pages.size(), 1U);
  EXPECT_EQ(report.pages.at(0) * report.page_bytes, bytes);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(region.data()) % unit, 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Region, EveryPolicy,
    testing::Combine(testing::Values(Policy::kBind, Policy::kPreferred, Policy::kInterleave,
                                     Policy::kWeighted, Policy::kPartition, Policy::kFirstTouch),
                     testing::Values(Mechanism::kUser, Mechanism::kKernel),
                     testing::Values(Pages::kBase, Pages::kThp, Pages::kHuge2M)));

TEST_F(RegionTest, IsZeroAndWritableToItsLastByte) {
  const Region region(kMiB + 64, Pages::kBase, kNodeZero, team_);
  EXPECT_EQ(region.size(), kMiB + 64);
  EXPECT_TRUE(std::all_of(region.data(), region.data() + region.size(),
                          [](std::byte byte) { return byte == std::byte{0}; }));
  region.data()[region.size() - 1] = std::byte{1};
}

TEST_F(RegionTest, BasePagesAreNotHuge) {
  const Region region(8 * kMiB, Pages::kBase, kNodeZero, team_);
  const RegionReport report = region.report();
  EXPECT_EQ(report.page_bytes, base_page_bytes());
  EXPECT_EQ(report.huge_bytes, 0U);
}

TEST_F(RegionTest, ThpCountsBasePagesWhereTheKernelSplitOne) {
  const std::size_t huge = page_bytes(Pages::kThp);
  const Refusal refused = refusal(4 * huge, Pages::kThp, kNodeZero);
  if (!refused.reason.empty()) GTEST_SKIP() << refused.reason;
  const Region region(4 * huge, Pages::kThp, kNodeZero, team_);
  if (region.report().huge_bytes != 4 * huge) GTEST_SKIP() << "no free huge pages at the moment";
  // Changing one base page's protection splits the huge page that it is in.
  ASSERT_EQ(mprotect(region.data(), base_page_bytes(), PROT_READ), 0);
  ASSERT_EQ(mprotect(region.data(), base_page_bytes(), PROT_READ | PROT_WRITE), 0);
  const RegionReport report = region.report();
  EXPECT_EQ(report.page_bytes, base_page_bytes());
  EXPECT_EQ(report.huge_bytes, 3 * huge);
  EXPECT_EQ(report.pages.at(0), 4 * huge / base_page_bytes());
}

TEST_F(RegionTest, APageThatWentIsNoticed) {
  const Region region(kMiB, Pages::kBase, kNodeZero, team_);
  ASSERT_EQ(madvise(region.data(), base_page_bytes(), MADV_DONTNEED), 0);
  EXPECT_THROW(region.report(), Failure);
}

TEST_F(RegionTest, MovesAndFreesItsAddressSpace) {
  const std::size_t before = mapped_kib();
  {
    Region first(64 * kMiB, Pages::kThp, kNodeZero, team_);
    const std::byte* data = first.data();
    const Region second = std::move(first);
    EXPECT_EQ(second.data(), data);
    EXPECT_GE(mapped_kib(), before + 64 * 1024);
  }
  EXPECT_LT(mapped_kib(), before + 1024);
}

TEST_F(RegionTest, ManyPagesByTurnsStayOneMapping) {
  const auto mappings = [] {
    const std::string text = read_text("/proc/self/maps");
    return std::count(text.begin(), text.end(), '\n');
  };
  const auto before = mappings();
  const Region region(16 * kMiB, Pages::kBase, {Policy::kInterleave, {{0}}}, team_);
  // The region, a guard on each side, what the allocator takes for threads; not one for each page.
  EXPECT_LE(mappings(), before + 16);
}

TEST(Requirements, TooLargeIsRefusedWithTheNumbers) {
  const Refusal refused = refusal(std::size_t{1} << 50, Pages::kBase, kNodeZero);
  EXPECT_TRUE(refused.reason.starts_with("node 0 has ")) << refused.reason;
  EXPECT_TRUE(refused.reason.ends_with("; 1024 TiB needed")) << refused.reason;
}

TEST(Requirements, EachNodesShareIsWhatCounts) {
  const NodeMemory memory = node_memory(0);
  EXPECT_EQ(refusal(memory.available / 2, Pages::kBase, kNodeZero).reason, "");
  EXPECT_NE(refusal(memory.available, Pages::kBase, kNodeZero).reason, "") << "no reserve kept";
}

TEST(Requirements, NoSuchNode) {
  EXPECT_EQ(refusal(kMiB, Pages::kBase, {Policy::kBind, {{1023}}}).reason,
            "node 1023 does not exist");
}

TEST(Requirements, AnEmptyHugetlbPoolNamesTheCommand) {
  const std::string pool = hugetlb_pool(0, 2 * kMiB);
  const std::string free = read_text(pool + "/free_hugepages");
  if (free.empty()) GTEST_SKIP() << "this kernel has no 2 MiB hugetlb pages";
  const std::size_t needed = std::stoul(free) + 7;
  const Refusal refused = refusal(needed * 2 * kMiB, Pages::kHuge2M, kNodeZero);
  EXPECT_NE(refused.reason.find(std::to_string(needed) + " needed"), std::string::npos)
      << refused.reason;
  EXPECT_TRUE(refused.remedy.starts_with("echo ")) << refused.remedy;
  EXPECT_TRUE(refused.remedy.ends_with(" | sudo tee " + pool + "/nr_hugepages")) << refused.remedy;
}

TEST(Requirements, HugePagesOfArmKernelsAreToldWhereThereAreNone) {
  EXPECT_EQ(page_bytes(Pages::kHuge512M), 512 * kMiB);
  if (!read_text(hugetlb_pool(0, 512 * kMiB) + "/free_hugepages").empty()) {
    GTEST_SKIP() << "this kernel has 512 MiB hugetlb pages";
  }
  const Refusal refused = refusal(512 * kMiB, Pages::kHuge512M, kNodeZero);
  EXPECT_NE(refused.reason.find("512"), std::string::npos) << refused.reason;
}

TEST(Requirements, KernelWeightsAreComparedAndNeverWritten) {
  const std::string path = "/sys/kernel/mm/mempolicy/weighted_interleave/node0";
  const std::string weight = read_text(path);
  const Refusal refused =
      refusal(kMiB, Pages::kBase, {Policy::kWeighted, {{0, 77}}, Mechanism::kKernel});
  if (weight.empty()) {
    EXPECT_TRUE(refused.reason.starts_with("this kernel has no weighted")) << refused.reason;
  } else {
    EXPECT_EQ(refused.remedy, "echo 77 | sudo tee " + path + "; or use mechanism user");
  }
  EXPECT_EQ(read_text(path), weight);
}

TEST(Requirements, NothingIsAProgrammersError) {
  EXPECT_THROW(require_memory(0, Pages::kBase, kNodeZero), std::invalid_argument);
  EXPECT_THROW(require_memory(1, Pages::kBase, {Policy::kBind, {}}), std::invalid_argument);
}

// Every policy over all nodes with memory at once; the report itself verifies.
TEST_F(RegionTest, AllNodesTogether) {
  const std::vector<int> nodes = nodes_with_memory();
  if (nodes.size() < 2) GTEST_SKIP() << "this machine has one node with memory";
  std::vector<NodeShare> shares;
  int weight = 5;
  for (const int node : nodes)
    shares.push_back({node, std::exchange(weight, std::max(1, weight - 2))});
  for (const Pages pages : {Pages::kBase, Pages::kThp}) {
    for (const Policy policy : {Policy::kInterleave, Policy::kWeighted, Policy::kPartition}) {
      const Region region(23 * page_bytes(pages), pages, {policy, shares}, team_);
      EXPECT_EQ(region.report().pages.size(), nodes.size());
    }
    Placement both{Policy::kPartition, {{nodes[0]}, {nodes[1]}}};
    both.ranges = {2};
    EXPECT_EQ(Region(23 * page_bytes(pages), pages, both, team_).report().pages.size(), 2U);
    const Region region(23 * page_bytes(pages), pages,
                        {Policy::kInterleave, shares, Mechanism::kKernel}, team_);
    EXPECT_EQ(region.report().pages.size(), nodes.size());
    for (const NodeShare& share : shares) {
      const Region bound(3 * page_bytes(pages), pages, {Policy::kBind, {share}}, team_);
      EXPECT_EQ(bound.report().pages.count(share.node), 1U);
    }
  }
}

}  // namespace
}  // namespace tierscope
