// What is on a block device: known signatures, other data, and whether others share it.
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/nvme_ioctl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "errors.h"
#include "storage/aligned_buffer.h"
#include "storage/contents.h"
#include "storage/device_uses.h"

namespace tierscope {
namespace {

// The functions of libblkid that are needed. It is opened at run time: only who overwrites a device
// needs it, and it is on every machine that mounts disks.
struct Blkid {
  using Probe = struct blkid_struct_probe*;
  Probe (*new_probe)();
  void (*free_probe)(Probe);
  int (*set_device)(Probe, int file, std::int64_t offset, std::int64_t size);
  int (*enable_superblocks)(Probe, int);
  int (*superblocks_flags)(Probe, int);
  int (*enable_partitions)(Probe, int);
  int (*partitions_flags)(Probe, int);
  int (*safe_probe)(Probe);
  int (*lookup)(Probe, const char* name, const char** value, std::size_t* bytes);

  // Of superblocks: BLKID_SUBLKS_TYPE, and BLKID_SUBLKS_BADCSUM: one that is damaged counts, too.
  static constexpr int kType = 1 << 5;
  static constexpr int kDamaged = 1 << 10;
  // BLKID_PARTS_FORCE_GPT: a GUID partition table counts without its protective MBR, so that the
  // backup in the last block does alone.
  static constexpr int kGptAlone = 1 << 1;

  Blkid() {
    void* const library = dlopen("libblkid.so.1", RTLD_NOW | RTLD_LOCAL);
    const auto load = [&](auto& function, const char* name) {
      void* const found = library ? dlsym(library, name) : nullptr;
      if (!found) {
        throw Unavailable(Cause::kTool,
                          "libblkid, which tells what a device holds, cannot be loaded",
                          "apt-get install libblkid1");
      }
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
    };
    load(new_probe, "blkid_new_probe");
    load(free_probe, "blkid_free_probe");
    load(set_device, "blkid_probe_set_device");
    load(enable_superblocks, "blkid_probe_enable_superblocks");
    load(superblocks_flags, "blkid_probe_set_superblocks_flags");
    load(enable_partitions, "blkid_probe_enable_partitions");
    load(partitions_flags, "blkid_probe_set_partitions_flags");
    load(safe_probe, "blkid_do_safeprobe");
    load(lookup, "blkid_probe_lookup_value");
  }
};

[[noreturn]] void cannot_probe(const char* why) {
  throw Unavailable(Cause::kOwnership, fmt::format("what the device holds cannot be told: {}", why),
                    "look at it with `blkid -p` and `wipefs`");
}

constexpr std::size_t kBlock = 4096;

bool holds_data(int device, std::uint64_t offset, std::byte* buffer, std::size_t bytes) {
  ssize_t got = -1;
  do {
    got = pread(device, buffer, bytes, static_cast<off_t>(offset));
  } while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(bytes)) {
    throw Failure(fmt::format("reading the device at offset {} failed: {}", offset,
                              got < 0 ? std::strerror(errno) : "it ends there"),
                  Cause::kStorage);
  }
  if (is_cell({buffer, bytes})) return false;
  return std::any_of(buffer, buffer + bytes, [](std::byte value) { return value != std::byte{0}; });
}

}  // namespace

std::string signature_on(int device) {
  const Blkid blkid;
  const std::unique_ptr<std::remove_pointer_t<Blkid::Probe>, void (*)(Blkid::Probe)> probe(
      blkid.new_probe(), blkid.free_probe);
  if (!probe || blkid.set_device(probe.get(), device, 0, 0) != 0)
    cannot_probe(std::strerror(errno));
  blkid.enable_superblocks(probe.get(), 1);
  blkid.superblocks_flags(probe.get(), Blkid::kType | Blkid::kDamaged);
  blkid.enable_partitions(probe.get(), 1);
  blkid.partitions_flags(probe.get(), Blkid::kGptAlone);
  const int result = blkid.safe_probe(probe.get());
  if (result == 1) return "";
  if (result == -2) return "several signatures at once";
  if (result != 0) cannot_probe("libblkid failed");
  const char* type = nullptr;
  if (blkid.lookup(probe.get(), "TYPE", &type, nullptr) == 0) return type;
  if (blkid.lookup(probe.get(), "PTTYPE", &type, nullptr) == 0) {
    return fmt::format("{} partition table", type);
  }
  return "a signature";
}

std::optional<std::uint64_t> sampled_data(int device, std::uint64_t size) {
  constexpr std::uint64_t kEnd = 1 << 20;
  constexpr std::uint64_t kSamples = 1024;
  const AlignedBuffer buffer = make_aligned(kBlock);
  std::vector<std::uint64_t> offsets;
  for (std::uint64_t at = 0; at < std::min(kEnd, size); at += kBlock) offsets.push_back(at);
  for (std::uint64_t i = 0; i < kSamples; ++i) {
    offsets.push_back(size / kSamples / kBlock * kBlock * i);
  }
  const std::uint64_t tail = size - std::min(kEnd, size);
  for (std::uint64_t at = tail / kBlock * kBlock; at < size; at += kBlock) offsets.push_back(at);
  for (const std::uint64_t at : offsets) {
    const std::size_t bytes = std::min<std::uint64_t>(kBlock, size - at);
    if (bytes > 0 && holds_data(device, at, buffer.get(), bytes)) return at;
  }
  return std::nullopt;
}

std::optional<bool> is_shared_namespace(int device) {
  const int space = ioctl(device, NVME_IOCTL_ID);
  if (space <= 0) return std::nullopt;
  constexpr std::uint8_t kIdentify = 0x06;
  constexpr std::size_t kNmic = 30;  // Byte of the Identify Namespace data structure.
  alignas(kBlock) static thread_local std::array<std::uint8_t, kBlock> data;
  nvme_admin_cmd command{};
  command.opcode = kIdentify;
  command.nsid = static_cast<std::uint32_t>(space);
  command.addr = reinterpret_cast<std::uintptr_t>(data.data());
  command.data_len = kBlock;
  if (ioctl(device, NVME_IOCTL_ADMIN_CMD, &command) != 0) return std::nullopt;
  return (data[kNmic] & 1) != 0;
}

}  // namespace tierscope
