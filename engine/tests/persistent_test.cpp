#include "memory/persistent.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "errors.h"
#include "harness/leases.h"
#include "kinds/object_walk.h"
#include "memory/device_range.h"
#include "memory/pool.h"
#include "memory/region.h"
#include "memory/survival.h"
#include "memory/system_memory.h"
#include "sizes.h"

namespace tierscope {
namespace {

namespace fs = std::filesystem;

Placement in(const std::string& path, Backing backing, bool bound = false) {
  return {.policy = Policy::kBind,
          .nodes = {{.node = nodes_with_memory().front()}},
          .persistent = Persistent{.backing = backing, .path = path, .bound = bound}};
}

fs::path new_directory(const std::string& name) {
  const fs::path made = fs::path(testing::TempDir()) / name;
  fs::remove_all(made);
  fs::create_directories(made);
  return made;
}

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

TEST(Persistent, AFileHasNoNameAndItsMemoryIsZero) {
  const fs::path directory = new_directory("persistent-file");
  const std::array cpus{0};
  Team team(cpus);
  const Region region(3 * kMiB, Pages::kBase, in(directory, Backing::kFile), team);
  EXPECT_TRUE(fs::is_empty(directory));
  const std::byte* const begin = region.data();
  EXPECT_EQ(std::count(begin, begin + region.size(), std::byte{0}), 3 * static_cast<int>(kMiB));
  const auto evidence = region.persistent()->evidence(false);
  EXPECT_EQ(evidence["mapping"], "shared");
  EXPECT_EQ(evidence["survives_power_loss"], "no");
  EXPECT_FALSE(evidence["emulated"]);
}

TEST(Persistent, EmulatedPagesAreOnTheirNode) {
  const std::array cpus{0};
  Team team(cpus);
  for (const Backing backing : {Backing::kFile, Backing::kPool}) {
    const Placement placement = in("/dev/shm", backing, true);
    const Region region(2 * kMiB, Pages::kBase, placement, team);
    const RegionReport report = region.report();
    EXPECT_EQ(report.absent_pages, 0U);
    EXPECT_EQ(report.pages.at(placement.nodes.front().node), 2 * kMiB / base_page_bytes());
    EXPECT_TRUE(region.persistent()->evidence(false)["emulated"]);
    EXPECT_EQ(region.persistent()->durable_by(), Durable::kFlush);
  }
}

TEST(Persistent, ADirectoryThatIsNoneOrIsFullIsRefused) {
  const std::array cpus{0};
  Team team(cpus);
  const auto region = [&](const std::string& path, std::size_t bytes) {
    const Region made(bytes, Pages::kBase, in(path, Backing::kFile), team);
  };
  EXPECT_THROW(region("/nowhere/at/all", kMiB), Unavailable);
  EXPECT_THROW(region("/proc", kMiB), Unavailable);
  EXPECT_THROW(region("/dev/shm", std::size_t{1} << 45), Unavailable);
}

TEST(Persistent, OnlyAMappingThatTheKernelListsIsSynchronous) {
  const fs::path smaps = new_directory("smaps") / "smaps";
  write(smaps,
        "1000-3000 rw-s 00000000 103:01 12 /mnt/a\nRss: 8 kB\nVmFlags: rd wr sh mr mw me ms sf\n"
        "3000-4000 rw-s 00000000 103:01 13 /mnt/b\nRss: 4 kB\nVmFlags: rd wr sh mr mw me ms\n");
  const auto at = [](std::uintptr_t address) { return reinterpret_cast<std::byte*>(address); };
  EXPECT_TRUE(is_synchronous(at(0x1000), smaps));
  EXPECT_TRUE(is_synchronous(at(0x2fff), smaps));
  EXPECT_FALSE(is_synchronous(at(0x3000), smaps));
  EXPECT_FALSE(is_synchronous(at(0x4000), smaps));
}

TEST(Persistent, FactsOfADeviceComeFromItsNamespaceAndRegion) {
  const fs::path root = new_directory("nd");
  const fs::path region = root / "sys/devices/ndbus0/region0";
  write(region / "persistence_domain", "memory_controller\n");
  write(region / "numa_node", "0\n");
  write(region / "namespace0.0/mode", "memory\n");
  write(region / "namespace0.0/target_node", "2\n");
  write(region / "namespace0.0/block/pmem0/badblocks", "8 4\n100 2\n");
  fs::create_directories(root / "sys/dev/block");
  fs::create_symlink(region / "namespace0.0/block/pmem0", root / "sys/dev/block/259:0");
  const PersistentFacts facts = facts_of_device(true, makedev(259, 0), root);
  EXPECT_EQ(facts.device, "pmem0");
  EXPECT_EQ(facts.namespace_mode, "fsdax");
  EXPECT_EQ(facts.persistence_domain, "memory_controller");
  EXPECT_EQ(facts.bad_blocks, 6U);
  EXPECT_EQ(facts.node, 2);
}

TEST(Persistent, WhatSurvivesFollowsFromDomainAndFlushes) {
  PersistentFacts dax{.file_system = "ext4", .dax = true};
  const auto answer = [&dax](bool synchronous, bool durable, const char* by = "") {
    return survival_of(dax, {.synchronous = synchronous, .made_durable = durable}, by).answer;
  };
  EXPECT_EQ(answer(true, true), "unknown");
  EXPECT_EQ(answer(true, true, "battery"), "yes");
  EXPECT_EQ(answer(true, false, "battery"), "no");
  dax.persistence_domain = "memory_controller";
  EXPECT_EQ(answer(true, true), "yes");
  EXPECT_EQ(answer(true, false), "no");
  dax.persistence_domain = "cpu_cache";
  EXPECT_EQ(answer(true, false), "yes");
  EXPECT_EQ(answer(false, false), "no");
  EXPECT_EQ(answer(false, true), "unknown");
  dax.file_system = "tmpfs";
  EXPECT_EQ(answer(false, true, "battery"), "no");
}

TEST(Pool, PiecesFillZonesAndHoldAllOfEachArray) {
  for (const std::size_t mib : {1, 63, 100, 1000, 3000}) {
    for (const std::size_t count : {1, 2, 3}) {
      const PoolWanted wanted{
          .bytes = mib * kMiB, .count = count, .unit_bytes = 4096, .max_object = 1024 * kMiB};
      const auto arrays = cut_into_pieces(wanted);
      ASSERT_EQ(arrays.size(), count);
      for (const auto& pieces : arrays) {
        EXPECT_EQ(std::accumulate(pieces.begin(), pieces.end(), std::size_t{0}), wanted.bytes);
        for (const std::size_t piece : pieces) {
          EXPECT_EQ(piece % wanted.unit_bytes, 0U);
          EXPECT_LT(piece, wanted.max_object);
          EXPECT_GT(piece, 0U);
        }
      }
    }
  }
}

// Two arrays of a pool whose objects are small, so that each has several.
struct SmallObjects {
  std::shared_ptr<Pool> pool = std::make_shared<Pool>(
      PoolWanted{.bytes = 20 * kMiB, .count = 3, .unit_bytes = 4096, .max_object = 8 * kMiB},
      in("/dev/shm", Backing::kPoolObjects));
};

TEST(Pool, AnArrayOfSeveralObjectsIsOneRangeOfMemory) {
  const SmallObjects small;
  const std::array cpus{0};
  Team team(cpus);
  const Region region(20 * kMiB, Pages::kBase, in("/dev/shm", Backing::kPoolObjects), team,
                      small.pool);
  const PoolArray& array = *region.persistent()->array();
  ASSERT_GT(array.size(), 2U);
  std::size_t before = 0;
  for (const PoolPiece& piece : array) {
    region.data()[before] = std::byte{17};
    EXPECT_EQ(piece.data[0], std::byte{17});
    piece.data[piece.bytes - 1] = std::byte{18};
    EXPECT_EQ(region.data()[before + piece.bytes - 1], std::byte{18});
    before += piece.bytes;
  }
  EXPECT_EQ(before, 20 * kMiB);
}

TEST(Pool, LoopsOverObjectsDoWhatStreamsDo) {
  const SmallObjects small;
  const std::array cpus{0};
  Team team(cpus);
  std::vector<std::unique_ptr<Region>> regions;
  ObjectArrays objects;
  for (int i = 0; i < 3; ++i) {
    regions.push_back(std::make_unique<Region>(
        20 * kMiB, Pages::kBase, in("/dev/shm", Backing::kPoolObjects), team, small.pool));
    objects.push_back(regions.back()->persistent()->array());
  }
  const auto at = [&](std::size_t array) {
    return reinterpret_cast<double*>(regions[array]->data());
  };
  constexpr std::size_t kElements = 20 * kMiB / sizeof(double);
  for (std::size_t i = 0; i < kElements; ++i) {
    at(1)[i] = static_cast<double>(i);
    at(2)[i] = 0.5 * static_cast<double>(i % 1000);
  }
  const std::array<std::pair<Operation, double (*)(double, double)>, 4> formulas{
      {{Operation::kCopy, [](double b, double) { return b; }},
       {Operation::kScale, [](double b, double) { return 3 * b; }},
       {Operation::kAdd, [](double b, double c) { return b + c; }},
       {Operation::kTriad, [](double b, double c) { return b + 3 * c; }}}};
  for (const auto& [operation, formula] : formulas) {
    std::fill(at(0), at(0) + kElements, -1.0);
    constexpr std::size_t kFirst = 4096;  // The share does not begin with the arrays.
    const Walk walk{.a = at(0), .scalar = 3, .bytes = 20 * kMiB - kFirst, .access_size = 64};
    Position position;
    walk_objects(operation, objects, kFirst, walk, position, walk.accesses() - 1);
    EXPECT_EQ(at(0)[kElements - 1], -1.0);
    walk_objects(operation, objects, kFirst, walk, position, 2);  // The last access and the first.
    EXPECT_EQ(position.offset, 64U);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < kElements; ++i) {
      const double wanted = i < kFirst / sizeof(double) ? -1.0 : formula(at(1)[i], at(2)[i]);
      if (at(0)[i] != wanted) ++wrong;
    }
    EXPECT_EQ(wrong, 0U);
  }
}

TEST(Pool, ArraysOfALeaseShareAPoolAndComeBackTogether) {
  Leases leases;
  const std::array cpus{0};
  const RegionKey key{2 * kMiB, Pages::kBase, in("/dev/shm", Backing::kPool)};
  const auto pools = [&leases, &cpus, &key](std::size_t count, bool fresh = false) {
    leases.begin_repetition(fresh);
    std::vector<std::uint64_t> found;
    const std::vector<RegionKey> keys(count, key);
    for (const Lease& lease : leases.regions(keys, leases.team(cpus))) {
      found.push_back(lease.region->persistent()->array()->front().id.pool);
    }
    return found;
  };
  const auto three = pools(3);
  EXPECT_EQ(three, std::vector<std::uint64_t>(3, three.front()));
  const auto two = pools(2);
  EXPECT_EQ(two, std::vector<std::uint64_t>(2, two.front()));
  EXPECT_NE(two.front(), three.front());
  EXPECT_EQ(pools(3), three);
  EXPECT_NE(pools(3, true), three);
}

TEST(DeviceRange, WhatIsNoDeviceOfDaxIsRefused) {
  const auto range = [](const std::string& path) {
    const DeviceRange made({.backing = Backing::kDevice, .path = path, .destroy = "null"}, 4096);
  };
  EXPECT_THROW(range("/dev/null"), Unavailable);
  EXPECT_THROW(range("/dev/no-such-device"), Unavailable);
  const fs::path file = new_directory("range") / "file";
  write(file, "kept");
  EXPECT_THROW(range(file), Unavailable);
  std::ifstream kept(file);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(kept), {}), "kept");
}

// A device of DAX by sysfs alone: /dev/null has the number of one.
TEST(DeviceRange, OnlyADeviceThatIsNamedIsOverwritten) {
  const fs::path root = new_directory("dax");
  struct stat found{};
  ASSERT_EQ(stat("/dev/null", &found), 0);
  const fs::path device = root / "sys/devices/region0/dax0.0";
  write(device / "size", "1048576\n");
  fs::create_directories(root / "sys/bus/dax");
  fs::create_directory_symlink(root / "sys/bus/dax", device / "subsystem");
  fs::create_directories(root / "sys/dev/char");
  fs::create_directory_symlink(
      device,
      root / "sys/dev/char" / fmt::format("{}:{}", major(found.st_rdev), minor(found.st_rdev)));
  const auto refused = [&root](const std::string& destroy) {
    try {
      const DeviceRange made({.backing = Backing::kDevice, .path = "/dev/null", .destroy = destroy},
                             4096, {.sys = root / "sys", .proc = root / "proc"});
    } catch (const Unavailable& error) {
      return error.cause();
    }
    return Cause::kOther;
  };
  EXPECT_EQ(refused(""), Cause::kOwnership);
  EXPECT_EQ(refused("dax0.1"), Cause::kOwnership);
  EXPECT_EQ(refused("dax0.0"), Cause::kStorage);  // It cannot be mapped.
}

}  // namespace
}  // namespace tierscope
