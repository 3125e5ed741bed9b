// Block devices are overwritten only when nothing speaks against it. As root with loop devices;
// other tests need neither.
#include "storage/device_guard.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "errors.h"
#include "scratch_directory.h"
#include "storage/contents.h"

namespace tierscope {
namespace {

namespace fs = std::filesystem;

const dev_t kDevice = makedev(8, 16);

// A sysfs with one disk that nobody uses.
class DeviceUses : public testing::Test {
 protected:
  DeviceUses() {
    fs::create_directories(folder_ + "/holders");
    fs::create_directories(folder_ + "/queue");
    fs::create_directories(root_.path("proc/self"));
    write_text(folder_ + "/ro", "0\n");
    write_text(folder_ + "/queue/zoned", "none\n");
    write_text(root_.path("proc/self/mountinfo"),
               "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n23 1 8:160 / /other rw - xfs /dev/sdk rw\n");
    write_text(root_.path("proc/swaps"), "Filename Type Size Used Priority\n");
  }

  std::vector<std::string> uses() const { return uses_of(kDevice, places_); }
  using Uses = std::vector<std::string>;

  ScratchDirectory root_;
  std::string folder_ = root_.path("sys/dev/block/8:16");
  DevicePlaces places_{root_.path("sys"), root_.path("proc"), root_.path("by-id")};
};

TEST_F(DeviceUses, OneThatNobodyUsesIsFree) { EXPECT_EQ(uses(), Uses{}); }

TEST_F(DeviceUses, PartitionsAndDisksWithPartitionsAreInUse) {
  fs::create_directories(folder_ + "/sdb1");
  EXPECT_EQ(uses(), Uses{});
  write_text(folder_ + "/sdb1/partition", "1\n");
  EXPECT_EQ(uses(), Uses{"has the partition sdb1"});
  write_text(folder_ + "/partition", "1\n");
  EXPECT_EQ(uses().front(), "is a partition");
}

TEST_F(DeviceUses, HoldersMountsAndStateAreNamed) {
  fs::create_directories(folder_ + "/holders/md0");
  EXPECT_EQ(uses(), Uses{"is used by md0"});
  write_text(root_.path("proc/self/mountinfo"), "30 1 8:16 / /data rw - ext4 /dev/sdb rw\n");
  EXPECT_EQ(uses().back(), "is mounted on /data");
  write_text(folder_ + "/ro", "1\n");
  write_text(folder_ + "/queue/zoned", "host-managed\n");
  EXPECT_EQ(uses(), (Uses{"is used by md0", "is mounted on /data", "is read-only",
                          "is zoned (host-managed)"}));
}

TEST_F(DeviceUses, OneThatSysfsDoesNotKnowIsRefused) {
  EXPECT_THROW(uses_of(makedev(9, 9), places_), Unavailable);
}

TEST_F(DeviceUses, ItsSerialNumberNamesIt) {
  EXPECT_TRUE(lasting_names(kDevice, places_).empty());
  fs::create_directories(folder_ + "/device");
  write_text(folder_ + "/device/serial", "  S4EMNX0R  \n");
  EXPECT_EQ(lasting_names(kDevice, places_), Uses{"S4EMNX0R"});
}

// A loop device of 64 MiB, the least that libblkid takes for a part of a ZFS pool, over a file of
// zeros, with a name in a by-id directory of its own.
class LoopDevice : public testing::Test {
 protected:
  void SetUp() override {
    const int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    if (control < 0) GTEST_SKIP() << "needs root and loop devices";
    const int number = ioctl(control, LOOP_CTL_GET_FREE);
    close(control);
    path_ = "/dev/loop" + std::to_string(number);
    write_text(backing_, "");
    fs::resize_file(backing_, kBytes);
    const int file = open(backing_.c_str(), O_RDWR | O_CLOEXEC);
    loop_ = open(path_.c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_GE(loop_, 0) << path_;
    ASSERT_EQ(ioctl(loop_, LOOP_SET_FD, file), 0) << std::strerror(errno);
    close(file);
    fs::create_directories(places_.by_id);
    fs::create_symlink(path_, places_.by_id + "/nvme-Test_Drive_1234");
  }
  void TearDown() override {
    if (loop_ < 0) return;
    ioctl(loop_, LOOP_CLR_FD, 0);
    close(loop_);
  }

  std::string refusal(const DeviceWanted& wanted) const {
    try {
      const Device device(wanted, places_);
    } catch (const Unavailable& error) {
      EXPECT_FALSE(error.remedy().empty());
      return std::string(error.what()) + " | " + error.remedy();
    }
    return "";
  }
  DeviceWanted destroy(const std::string& word = "") const {
    return {path_, "nvme-Test_Drive_1234", word};
  }
  bool refuses_for(const std::string& part) const {
    const std::string message = refusal(destroy(kSecondWord));
    return message.find(part) != std::string::npos;
  }
  void put(std::uint64_t offset, const std::string& text) const {
    ASSERT_EQ(pwrite(loop_, text.data(), text.size(), static_cast<off_t>(offset)),
              static_cast<ssize_t>(text.size()));
    ASSERT_EQ(fsync(loop_), 0);
  }

  static constexpr std::size_t kBytes = 64 << 20;
  ScratchDirectory root_;
  std::string backing_ = root_.path("disk");
  std::string path_;
  int loop_ = -1;
  DevicePlaces places_{.by_id = root_.path("by-id")};
};

TEST_F(LoopDevice, AnEmptyOneThatIsNamedMayBeWritten) {
  const Device device(destroy(), places_);
  EXPECT_EQ(device.size(), kBytes);
  const int file = device.open(O_RDWR | O_DIRECT);
  EXPECT_GE(file, 0);
  close(file);
  EXPECT_EQ(refusal({path_, places_.by_id + "/nvme-Test_Drive_1234", ""}).find("neither"),
            std::string::npos)
      << "the whole path of the name is one, too";
}

TEST_F(LoopDevice, NobodyElseCanClaimItMeanwhile) {
  const Device device(destroy(), places_);
  EXPECT_LT(open(path_.c_str(), O_RDONLY | O_EXCL), 0);
}

TEST_F(LoopDevice, OneThatSomebodyHasClaimedIsRefused) {
  const int theirs = open(path_.c_str(), O_RDONLY | O_EXCL);
  ASSERT_GE(theirs, 0);
  EXPECT_NE(refusal(destroy()).find("somebody has claimed it"), std::string::npos);
  close(theirs);
}

// What a measurement wrote is in the way neither of another one beside it nor of a later one.
TEST_F(LoopDevice, WhatTierscopeWroteMayBeOverwritten) {
  std::vector<std::byte> data(kBytes);
  prepare(data, 1, 0);
  {
    const Device device(destroy(), places_);
    put(0, std::string(4096, 'x'));
    EXPECT_EQ(refusal(destroy()), "") << "checked already";
    ASSERT_EQ(pwrite(loop_, data.data(), data.size(), 0), static_cast<ssize_t>(kBytes));
  }
  EXPECT_EQ(refusal(destroy()), "");
  put(kBytes / 2, std::string(4096, 'x'));
  EXPECT_NE(refusal(destroy()).find(kSecondWord), std::string::npos);
}

TEST_F(LoopDevice, APurgeDiscardsAllOfIt) {
  put(kBytes - 4096, std::string(4096, 'x'));
  {
    const Device device({path_, "", ""}, places_);
    EXPECT_THROW(device.purge(), Unavailable) << "it is only read";
  }
  const Device device(destroy(kSecondWord), places_);
  EXPECT_EQ(device.purge(), kBytes);
  std::string last(4096, 'y');
  ASSERT_EQ(pread(loop_, last.data(), last.size(), kBytes - 4096), 4096);
  EXPECT_EQ(last, std::string(4096, '\0'));
}

TEST_F(LoopDevice, OneThatIsOnlyReadIsNeverOpenForWriting) {
  put(0, "data");
  const Device device({path_, "", ""}, places_);
  const int file = device.open(O_RDONLY);
  EXPECT_GE(file, 0);
  close(file);
  EXPECT_THROW(device.open(O_RDWR), Unavailable);
  EXPECT_THROW(device.open(O_WRONLY), Unavailable);
}

TEST_F(LoopDevice, KernelNamesAndOtherNamesDoNotDo) {
  for (const std::string& name : {path_, path_.substr(5), std::string("nvme-Other_Drive")}) {
    const std::string message = refusal({path_, name, kSecondWord});
    EXPECT_NE(message.find("say nvme-Test_Drive_1234"), std::string::npos) << message;
  }
  EXPECT_NE(refusal({backing_, "disk", ""}).find("not a block device"), std::string::npos);
  EXPECT_NE(refusal({"/dev/none", "none", ""}).find("cannot be opened"), std::string::npos);
}

TEST_F(LoopDevice, DataWithoutASignatureTakesASecondWord) {
  put(kBytes - 512, "precious");
  EXPECT_NE(refusal(destroy()).find(kSecondWord), std::string::npos);
  EXPECT_NE(refusal(destroy("yes")).find("it holds data at offset 67104768"), std::string::npos);
  EXPECT_EQ(refusal(destroy(kSecondWord)), "");
}

std::string little_endian(std::uint64_t value, std::size_t bytes) {
  std::string text(bytes, '\0');
  std::memcpy(text.data(), &value, bytes);
  return text;
}

// CRC-32, polynomial 0xedb88320, not inverted.
std::uint32_t checksum(std::uint32_t sum, const std::string& text) {
  for (const char byte : text) {
    sum ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? 0xedb88320U : 0);
  }
  return sum;
}

constexpr std::uint32_t kLvm = 0xf597a6cf;  // What LVM begins with.

// The header of a GUID partition table without partitions, in the last of so many blocks of 512.
std::string gpt_backup(std::uint64_t blocks) {
  const std::uint32_t entries = ~checksum(~0U, std::string(128 * 128, '\0'));
  const auto header = [&](std::uint32_t sum) {
    return "EFI PART" + little_endian(0x10000, 4) + little_endian(92, 4) + little_endian(sum, 4) +
           little_endian(0, 4) + little_endian(blocks - 1, 8) + little_endian(1, 8) +
           little_endian(34, 8) + little_endian(blocks - 34, 8) + std::string(16, 'g') +
           little_endian(blocks - 33, 8) + little_endian(128, 4) + little_endian(128, 4) +
           little_endian(entries, 4);
  };
  return header(~checksum(~0U, header(0)));
}

std::string big_endian(std::uint64_t value, std::size_t bytes) {
  std::string text = little_endian(value, bytes);
  std::ranges::reverse(text);
  return text;
}

// Pairs of a name and a number, as labels of ZFS hold them: XDR (RFC 4506) behind a header.
std::string zfs_pairs(const std::vector<std::pair<std::string, std::uint64_t>>& pairs) {
  constexpr std::uint64_t kUint64 = 8;  // DATA_TYPE_UINT64.
  std::string text = std::string("\1\1\0\0", 4) + big_endian(0, 4) + big_endian(1, 4);
  for (const auto& [name, value] : pairs) {
    std::string padded = name;
    padded.resize((name.size() + 3) / 4 * 4);
    const std::string body = big_endian(name.size(), 4) + padded + big_endian(kUint64, 4) +
                             big_endian(1, 4) + big_endian(value, 8);
    text += big_endian(8 + body.size(), 4) + big_endian(24 + body.size(), 4) + body;
  }
  return text + big_endian(0, 8);
}

TEST_F(LoopDevice, SignaturesAreRefusedWhateverIsSaid) {
  const auto alone = [&](const std::string& expected, const std::function<void()>& write) {
    write();
    EXPECT_TRUE(refuses_for(expected)) << refusal(destroy(kSecondWord));
    put(0, std::string(4 << 20, '\0'));
    EXPECT_EQ(refusal(destroy(kSecondWord)), "") << "after " << expected;
  };
  alone("crypto_LUKS", [&] { put(0, std::string("LUKS\xba\xbe\0\1", 8)); });
  alone("ceph_bluestore", [&] { put(0, "bluestore block device\n"); });
  alone("oracleasm", [&] { put(32, "ORCLDISK"); });
  alone("LVM2_member", [&] {
    std::string rest = little_endian(32, 4) + "LVM2 001" + std::string(32, 'a');
    rest.resize(512 - 20);
    put(512, "LABELONE" + little_endian(1, 8) + little_endian(checksum(kLvm, rest), 4) + rest);
  });
  alone("zfs_member", [&] {
    std::string ring(128 * 1024, '\0');  // Uberblocks of the first label.
    for (std::size_t at = 0; at < ring.size(); at += 1024) {
      ring.replace(at, 8, little_endian(0x00bab10c, 8));
    }
    put(128 * 1024, ring);
    // What libblkid goes by from util-linux 2.41 on.
    put(16 * 1024, zfs_pairs({{"state", 0}, {"txg", 4}, {"pool_guid", 77}, {"guid", 78}}));
  });
  alone("swap", [&] {
    std::string page(4096, '\0');
    page.replace(1024, 8, little_endian(1, 4) + little_endian(2047, 4));
    page.replace(4086, 10, "SWAPSPACE2");
    put(0, page);
  });
  alone("dos partition table", [&] {
    std::string sector(512, '\0');
    sector.replace(
        446, 16,
        std::string("\0\0\0\0\x83\0\0\0", 8) + little_endian(2048, 4) + little_endian(4096, 4));
    sector.replace(510, 2, "\x55\xaa");
    put(0, sector);
  });
  alone("ext4", [&] { EXPECT_EQ(std::system(("mkfs.ext4 -q -F " + path_).c_str()), 0); });
}

// Its protective MBR and its first table are gone; the last block still has the other one.
TEST_F(LoopDevice, TheBackupOfAGptAloneIsRefused) {
  put(kBytes - 512, gpt_backup(kBytes / 512));
  EXPECT_TRUE(refuses_for("it holds gpt partition table")) << refusal(destroy(kSecondWord));
  put(kBytes - 512, std::string(512, '\0'));
  EXPECT_EQ(refusal(destroy(kSecondWord)), "");
}

TEST_F(LoopDevice, OneThatIsMountedIsRefused) {
  ASSERT_EQ(std::system(("mkfs.ext4 -q -F " + path_).c_str()), 0);
  const std::string point = root_.path("mounted");
  fs::create_directory(point);
  ASSERT_EQ(std::system(("mount " + path_ + " " + point).c_str()), 0);
  EXPECT_TRUE(refuses_for("is mounted on " + fs::canonical(point).string()));
  ASSERT_EQ(std::system(("umount " + point).c_str()), 0);
  EXPECT_TRUE(refuses_for("it holds ext4"));
}

}  // namespace
}  // namespace tierscope
