#include "topology/hwloc_xml.h"

#include <gtest/gtest.h>
#include <hwloc.h>
#include <sched.h>

namespace tierscope {
namespace {

class HwlocXml : public testing::Test {
 protected:
  void SetUp() override {
    const std::string xml = hwloc_xml();
    ASSERT_EQ(hwloc_topology_init(&topology_), 0);
    ASSERT_EQ(
        hwloc_topology_set_xmlbuffer(topology_, xml.c_str(), static_cast<int>(xml.size()) + 1), 0);
    ASSERT_EQ(hwloc_topology_set_io_types_filter(topology_, HWLOC_TYPE_FILTER_KEEP_ALL), 0);
    ASSERT_EQ(hwloc_topology_set_flags(topology_, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED), 0);
    ASSERT_EQ(hwloc_topology_load(topology_), 0);
  }
  void TearDown() override { hwloc_topology_destroy(topology_); }

  hwloc_topology_t topology_ = nullptr;
};

TEST_F(HwlocXml, HoldsEveryCpuThatThisProcessMayUse) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  const hwloc_const_cpuset_t cpus = hwloc_topology_get_topology_cpuset(topology_);
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) EXPECT_TRUE(hwloc_bitmap_isset(cpus, cpu)) << "CPU " << cpu;
  }
}

TEST_F(HwlocXml, HoldsANumaNodeWithMemory) {
  const hwloc_obj_t node = hwloc_get_obj_by_type(topology_, HWLOC_OBJ_NUMANODE, 0);
  ASSERT_NE(node, nullptr);
  EXPECT_GT(node->attr->numanode.local_memory, 0U);
}

}  // namespace
}  // namespace tierscope
