#include "storage/device_counters.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

namespace tierscope {
namespace {

// A tree of the kernel's files; gone with the test.
class Tree {
 public:
  Tree() : root_(std::filesystem::temp_directory_path() / ("blocks." + std::to_string(getpid()))) {}
  ~Tree() { std::filesystem::remove_all(root_); }
  std::string root() const { return root_; }

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << '\n';
  }

  void link(const std::string& path, const std::string& target) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::filesystem::create_symlink(root_ / target, root_ / path);
  }

  // A device below /sys/devices, "pci0/nvme0n1" or, of a partition, "pci0/nvme0n1/nvme0n1p1".
  void device(const std::string& place, const std::string& number) const {
    const std::string name = std::filesystem::path(place).filename();
    write("sys/devices/" + place + "/dev", number);
    link("sys/class/block/" + name, "sys/devices/" + place);
    link("sys/dev/block/" + number, "sys/devices/" + place);
  }

  void moved(const std::string& name, int read_sectors, int written_sectors) const {
    write("sys/class/block/" + name + "/stat", "  7 0 " + std::to_string(read_sectors) + " 5 9 1 " +
                                                   std::to_string(written_sectors) +
                                                   " 4 0 9 9 0 0 0 0 0 0");
  }

  void slave(const std::string& name, const std::string& of) const {
    write("sys/class/block/" + of + "/slaves/" + name, "");
  }

 private:
  std::filesystem::path root_;
};

using Names = std::vector<std::string>;

TEST(DeviceCounters, CountSectorsOf512BytesWhateverTheDrivesOwn) {
  const Tree tree;
  tree.device("pci0/sda", "8:0");
  tree.write("sys/class/block/sda/queue/logical_block_size", "4096");
  tree.moved("sda", 100, 30);
  const DeviceCounters counters(std::array{makedev(8, 0)}, tree.root());
  EXPECT_EQ(counters.drives(), Names{"sda"});
  EXPECT_EQ(counters.sum(counters.read())->read, 51200U);
  EXPECT_EQ(counters.sum(counters.read())->written, 15360U);
  tree.moved("sda", 100, 31);
  EXPECT_EQ(counters.sum(counters.read())->written, 15872U);
}

TEST(DeviceCounters, OfAnArrayHaveItAndEachMemberByItself) {
  const Tree tree;
  tree.device("virtual/md0", "9:0");
  tree.device("pci0/nvme0n1", "259:0");
  tree.device("pci0/nvme1n1", "259:1");
  tree.slave("nvme0n1", "md0");
  tree.slave("nvme1n1", "md0");
  const auto stat = [&](const std::string& name, const std::string& text) {
    tree.write("sys/class/block/" + name + "/stat", text);
  };
  for (const char* const name : {"md0", "nvme0n1", "nvme1n1"}) stat(name, "1 0 8 1 1 0 8 1 0 1 2");
  const DeviceCounters counters(std::array{makedev(9, 0)}, tree.root());
  const std::vector<BlockCounts> before = counters.read();
  stat("md0", "5 0 520 9 1 0 8 1 0 31 22");
  stat("nvme0n1", "4 1 264 7 2 3 24 5 0 21 12 0 0 0 0 0 0");
  stat("nvme1n1", "1 0 8 1 1 0 8 1 0 1 2 0 0 0 0 0 0");
  const std::vector<BlockCounts> moved = difference(before, counters.read());
  ASSERT_EQ(moved.size(), 3U);
  EXPECT_EQ(moved[0].name, "md0");
  EXPECT_EQ(moved[0].bytes_read, 512U * 512);
  const BlockCounts& busy = moved[1];
  EXPECT_EQ(busy.name, "nvme0n1");
  EXPECT_EQ(busy.reads, 3U);
  EXPECT_EQ(busy.reads_merged, 1U);
  EXPECT_EQ(busy.bytes_read, 256U * 512);
  EXPECT_EQ(busy.read_ms, 6U);
  EXPECT_EQ(busy.writes, 1U);
  EXPECT_EQ(busy.writes_merged, 3U);
  EXPECT_EQ(busy.bytes_written, 16U * 512);
  EXPECT_EQ(busy.write_ms, 4U);
  EXPECT_EQ(busy.busy_ms, 20U);
  EXPECT_EQ(busy.in_flight_ms, 10U);
  EXPECT_EQ(moved[2].reads, 0U);
}

TEST(DeviceCounters, LeaveOutWhatDoesNotCount) {
  const Tree tree;
  tree.device("pci0/sda", "8:0");
  tree.moved("sda", 8, 8);
  tree.write("sys/class/block/sda/queue/iostats", "0");
  EXPECT_TRUE(DeviceCounters(std::array{makedev(8, 0)}, tree.root()).read().empty());
}

TEST(DeviceCounters, OfAPartitionAreItsDisks) {
  const Tree tree;
  tree.device("pci0/nvme0n1", "259:0");
  tree.device("pci0/nvme0n1/nvme0n1p2", "259:2");
  tree.write("sys/devices/pci0/nvme0n1/nvme0n1p2/partition", "2");
  tree.moved("nvme0n1", 8, 16);
  tree.moved("nvme0n1p2", 1, 1);
  const DeviceCounters counters(std::array{makedev(259, 2)}, tree.root());
  EXPECT_EQ(counters.drives(), Names{"nvme0n1"});
  EXPECT_EQ(counters.sum(counters.read())->read, 8U * 512);
}

TEST(DeviceCounters, AddUpTheDrivesBelowAVolumeOnAnArrayOfPartitions) {
  const Tree tree;
  for (const int number : {0, 1}) {
    const std::string disk = "nvme" + std::to_string(number) + "n1";
    tree.device("pci0/" + disk, "259:" + std::to_string(10 * number));
    tree.device("pci0/" + disk + "/" + disk + "p1", "259:" + std::to_string(10 * number + 1));
    tree.write("sys/class/block/" + disk + "p1/partition", "1");
    tree.moved(disk, 100, 1000);
  }
  tree.device("virtual/md0", "9:0");
  tree.device("virtual/dm-3", "252:3");
  tree.moved("md0", 7, 7);
  tree.moved("dm-3", 7, 7);
  tree.slave("nvme0n1p1", "md0");
  tree.slave("nvme1n1p1", "md0");
  tree.slave("md0", "dm-3");
  const DeviceCounters counters(std::array{makedev(252, 3)}, tree.root());
  EXPECT_EQ(counters.drives(), (Names{"nvme0n1", "nvme1n1"}));
  EXPECT_EQ(counters.sum(counters.read())->read, 200U * 512);
  EXPECT_EQ(counters.sum(counters.read())->written, 2000U * 512);
}

TEST(DeviceCounters, CountADriveOnceThatSeveralTargetsLieOn) {
  const Tree tree;
  tree.device("pci0/sda", "8:0");
  tree.device("pci0/sdb", "8:16");
  tree.moved("sda", 1, 1);
  tree.moved("sdb", 2, 2);
  const DeviceCounters counters(std::array{makedev(8, 0), makedev(8, 16), makedev(8, 0)},
                                tree.root());
  EXPECT_EQ(counters.sum(counters.read())->read, 3U * 512);
}

TEST(DeviceCounters, GiveNoSumThatMissesAPart) {
  const Tree tree;
  tree.device("pci0/sda", "8:0");
  tree.device("pci0/sdb", "8:16");
  tree.moved("sda", 1, 1);
  const auto read = [&](std::vector<dev_t> devices) {
    const DeviceCounters counters(devices, tree.root());
    return counters.sum(counters.read());
  };
  EXPECT_TRUE(read({makedev(8, 0)}));
  EXPECT_FALSE(read({makedev(8, 0), makedev(8, 16)})) << "sdb has no counters";
  EXPECT_FALSE(read({makedev(8, 0), makedev(0, 25)})) << "a tmpfs is on no drive";
  EXPECT_FALSE(read({}));
  tree.write("sys/class/block/sda/queue/iostats", "0");
  EXPECT_FALSE(read({makedev(8, 0)})) << "the kernel was told not to count";
}

TEST(DeviceOf, AFileWithANumberOfItsFileSystemIsWhatIsMounted) {
  const std::string path = "/dev/shm/device_of." + std::to_string(getpid());
  const int file = open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  ASSERT_GE(file, 0);
  unlink(path.c_str());
  struct statx status{};
  ASSERT_EQ(statx(file, "", AT_EMPTY_PATH, STATX_MNT_ID, &status), 0);
  const std::string mount = std::to_string(status.stx_mnt_id);
  const Tree tree;
  tree.device("virtual/dm-1", "252:1");
  tree.write("dev/dm-1", "");
  tree.link("dev/mapper/data", "dev/dm-1");
  const dev_t own = makedev(status.stx_dev_major, status.stx_dev_minor);
  tree.write("proc/self/mountinfo", mount + " 1 0:52 / /data rw - tmpfs tmpfs rw");
  EXPECT_EQ(device_of(file, tree.root()), own);
  tree.write("proc/self/mountinfo", mount + "9 1 0:9 / /x rw - btrfs /dev/sdz rw\n" + mount +
                                        " 1 0:52 /@home /home rw - btrfs /dev/mapper/data rw");
  EXPECT_EQ(device_of(file, tree.root()), makedev(252, 1));
  close(file);
}

// The kernel's own counters move as this machine's disk is read past the page cache.
TEST(ProcessBytes, AreThoseThatReachedDrives) {
  const Tree tree;
  EXPECT_FALSE(process_bytes(tree.root()));
  tree.write("proc/self/io", "rchar: 9\nwchar: 8\nread_bytes: 8192");
  EXPECT_FALSE(process_bytes(tree.root())) << "a part would mislead";
  tree.write("proc/self/io",
             "rchar: 9\nwchar: 8\nsyscr: 1\nsyscw: 1\nread_bytes: 8192\nwrite_bytes: 4096\n"
             "cancelled_write_bytes: 512");
  const std::optional<DeviceBytes> found = process_bytes(tree.root());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->read, 8192);
  EXPECT_EQ(found->written, 4096);
}

TEST(DeviceCounters, OfThisMachinesRootAreReadable) {
  const int file = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  const DeviceCounters counters(std::array{device_of(file)});
  close(file);
  for (const std::string& drive : counters.drives()) {
    EXPECT_TRUE(std::filesystem::exists("/sys/class/block/" + drive + "/stat")) << drive;
  }
  EXPECT_EQ(counters.sum(counters.read()).has_value(), !counters.drives().empty());
}

}  // namespace
}  // namespace tierscope
