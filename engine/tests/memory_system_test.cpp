// What is read from the kernel's text files.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "memory/read_back.h"
#include "memory/system_memory.h"

namespace tierscope {
namespace {

TEST(NumberList, RangesAndSingleNumbers) {
  EXPECT_EQ(parse_number_list("0-2,5,1022-1023"), (std::vector<int>{0, 1, 2, 5, 1022, 1023}));
  EXPECT_EQ(parse_number_list("0"), (std::vector<int>{0}));
  EXPECT_EQ(parse_number_list(""), (std::vector<int>{}));
}

TEST(Meminfo, ReadsTheNodesFormAndTheMachines) {
  EXPECT_EQ(meminfo_bytes("Node 3 MemTotal:       16 kB\nNode 3 MemFree:    4 kB\n", "MemFree"),
            4096U);
  EXPECT_EQ(meminfo_bytes("MemTotal:       16 kB\nMemFree:    4 kB\n", "MemTotal"), 16384U);
}

TEST(Meminfo, AFieldIsNotFoundInsideALongerOne) {
  const char* text = "Node 0 Inactive(file):   1 kB\nNode 0 Active(file):   2 kB\n";
  EXPECT_EQ(meminfo_bytes(text, "Active(file)"), 2048U);
  EXPECT_EQ(meminfo_bytes(text, "Free"), std::nullopt);
}

class Caches : public testing::Test {
 protected:
  Caches() { std::filesystem::create_directories(root_); }
  ~Caches() override { std::filesystem::remove_all(root_); }

  void add(int cpu, int index, const char* level, const char* size, const char* sharing) {
    const auto cache = root_ / fmt::format("cpu{}/cache/index{}", cpu, index);
    std::filesystem::create_directories(cache);
    std::ofstream(cache / "level") << level << '\n';
    std::ofstream(cache / "size") << size << '\n';
    std::ofstream(cache / "shared_cpu_list") << sharing << '\n';
  }

  const std::filesystem::path root_ =
      std::filesystem::temp_directory_path() / fmt::format("tierscope-caches-{}", getpid());
};

TEST_F(Caches, OfTheLastLevelAreCountedOnceEach) {
  for (const int cpu : {0, 1, 2}) {
    add(cpu, 0, "1", "48K", "");
    add(cpu, 1, "3", "32768K", cpu < 2 ? "0-1" : "2-3");
    add(cpu, 2, "2", "2048K", "");
  }
  EXPECT_EQ(last_level_cache_bytes(std::vector{0}, root_), std::size_t{32} << 20);
  EXPECT_EQ(last_level_cache_bytes(std::vector{0, 1}, root_), std::size_t{32} << 20);
  EXPECT_EQ(last_level_cache_bytes(std::vector{0, 1, 2}, root_), std::size_t{64} << 20);
}

TEST_F(Caches, ThatTheKernelDoesNotNameCountAsNone) {
  EXPECT_EQ(last_level_cache_bytes(std::vector{0}, root_), 0U);
}

std::size_t huge_bytes_of(std::string_view text, std::uintptr_t first, std::uintptr_t last) {
  std::istringstream smaps{std::string(text)};
  return huge_bytes_in(smaps, first, last);
}

constexpr const char* kSmaps =
    "7f0000000000-7f0000200000 rw-p 00000000 00:00 0 \n"
    "Size:               2048 kB\n"
    "AnonHugePages:      2048 kB\n"
    "ShmemPmdMapped:        0 kB\n"
    "7f0000400000-7f0000800000 rw-p 00000000 00:00 0                          [anon: x]\n"
    "AnonHugePages:      4096 kB\n"
    "VmFlags: rd wr mr mw me ac hg \n"
    "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n"
    "AnonHugePages:         0 kB";

TEST(Smaps, CountsTheMappingsOfTheRange) {
  EXPECT_EQ(huge_bytes_of(kSmaps, 0x7f0000000000, 0x7f0000200000), std::size_t{2} << 20);
  EXPECT_EQ(huge_bytes_of(kSmaps, 0x7f0000000000, 0x7f0000800000), std::size_t{6} << 20);
}

TEST(Smaps, HugePagesOfSharedMemoryAndOfFilesCount) {
  const char* const shared =
      "7f0000000000-7f0000600000 rw-s 00000000 00:01 7                          /dev/zero\n"
      "AnonHugePages:         0 kB\n"
      "ShmemPmdMapped:     4096 kB\n"
      "FilePmdMapped:      2048 kB\n";
  EXPECT_EQ(huge_bytes_of(shared, 0x7f0000000000, 0x7f0000600000), std::size_t{6} << 20);
}

TEST(Smaps, AMappingThatReachesBeyondTheRangeDoesNotCount) {
  EXPECT_EQ(huge_bytes_of(kSmaps, 0x7f0000400000, 0x7f0000600000), 0U);
}

TEST(Smaps, CutTextIsReadUpToTheCut) {
  const std::string_view text(kSmaps);
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_LE(huge_bytes_of(text.substr(0, length), 0, UINTPTR_MAX), std::size_t{6} << 20);
  }
}

class ThpSwitches : public testing::Test {
 protected:
  ThpSwitches() { std::filesystem::create_directories(root_ / "hugepages-2048kB"); }
  ~ThpSwitches() override { std::filesystem::remove_all(root_); }

  void set(const char* file, const char* text) { std::ofstream(root_ / file) << text << '\n'; }

  // "shmem_enabled says never"; empty where nothing forbids huge pages of 2 MiB.
  std::string forbids(bool shared) const {
    const auto found = forbidding_switch(shared, std::size_t{2} << 20, root_);
    if (!found) return "";
    return found->file.substr(root_.string().size() + 1) + " says " + found->setting;
  }

  const std::filesystem::path root_ =
      std::filesystem::temp_directory_path() / fmt::format("tierscope-thp-{}", getpid());
};

TEST_F(ThpSwitches, OfSharedAndPrivateMemoryAreApart) {
  set("enabled", "always [madvise] never");
  set("shmem_enabled", "always within_size advise [never] deny force");
  EXPECT_EQ(forbids(false), "");
  EXPECT_EQ(forbids(true), "shmem_enabled says never");
  set("enabled", "always madvise [never]");
  set("shmem_enabled", "always within_size [advise] never deny force");
  EXPECT_EQ(forbids(false), "enabled says never");
  EXPECT_EQ(forbids(true), "");
}

TEST_F(ThpSwitches, TheSizesOwnGoesFirstUnlessItInherits) {
  set("shmem_enabled", "always within_size advise [never] deny force");
  set("hugepages-2048kB/shmem_enabled", "always inherit within_size [advise] never");
  EXPECT_EQ(forbids(true), "");
  set("hugepages-2048kB/shmem_enabled", "always [inherit] within_size advise never");
  EXPECT_EQ(forbids(true), "shmem_enabled says never");
  set("shmem_enabled", "always within_size [advise] never deny force");
  set("hugepages-2048kB/shmem_enabled", "always inherit within_size advise [never]");
  EXPECT_EQ(forbids(true), "hugepages-2048kB/shmem_enabled says never");
}

TEST_F(ThpSwitches, DenyAndAMissingSwitchForbid) {
  EXPECT_EQ(forbids(true), "shmem_enabled says nothing");
  set("shmem_enabled", "always within_size advise never [deny] force");
  set("hugepages-2048kB/shmem_enabled", "[always] inherit within_size advise never");
  EXPECT_EQ(forbids(true), "shmem_enabled says deny");
}

constexpr const char* kV2Mount =
    "31 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";

TEST(Cgroup, V2OwnAndAllAncestors) {
  EXPECT_EQ(cgroup_directories("0::/user.slice/session-1.scope\n", kV2Mount, "memory"),
            (std::vector<std::string>{"/sys/fs/cgroup/user.slice/session-1.scope",
                                      "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup"}));
}

TEST(Cgroup, AContainersOwnNamespaceShowsItAtTheTop) {
  EXPECT_EQ(cgroup_directories("0::/\n", kV2Mount, "memory"),
            (std::vector<std::string>{"/sys/fs/cgroup"}));
  EXPECT_EQ(cgroup_directories("0::/../other\n", kV2Mount, "memory"),
            (std::vector<std::string>{"/sys/fs/cgroup"}));
}

TEST(Cgroup, V1TakesTheControllersOwnMountAndStripsItsRoot) {
  const char* mounts =
      "30 23 0:25 /docker/ab /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
      "31 23 0:26 /docker/ab /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
  EXPECT_EQ(
      cgroup_directories("5:memory:/docker/ab/in\n4:cpu,cpuacct:/docker/ab\n", mounts, "memory"),
      (std::vector<std::string>{"/sys/fs/cgroup/memory/in", "/sys/fs/cgroup/memory"}));
}

TEST(Cgroup, BothVersionsAtOnce) {
  const std::string mounts =
      "32 23 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
      "33 23 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
  EXPECT_EQ(cgroup_directories("4:memory:/a\n0::/\n", mounts, "memory"),
            (std::vector<std::string>{"/sys/fs/cgroup/memory/a", "/sys/fs/cgroup/memory",
                                      "/sys/fs/cgroup/unified"}));
}

}  // namespace
}  // namespace tierscope
