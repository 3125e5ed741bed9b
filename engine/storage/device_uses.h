// Why a block device must not be overwritten, as far as the kernel and the device itself tell.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tierscope {

// Where the system tells of devices; tests have trees of their own.
struct DevicePlaces {
  std::string sys = "/sys";
  std::string proc = "/proc";
  std::string by_id = "/dev/disk/by-id";
};

// Who uses the device with this number, one phrase each that fits behind "it": "is a partition",
// "has the partition sda1", "is used by md0", "is mounted on /data", "holds swap space", "is
// read-only", "is zoned". Empty where nobody does. Throws Unavailable where sysfs does not know the
// device, so that nothing could be said of it.
std::vector<std::string> uses_of(dev_t device, const DevicePlaces& places = {});

// Names by which the user may mean the device: those in /dev/disk/by-id, and its serial number.
// Kernel names such as sda or nvme0n1 are not among them: they change at boot.
std::vector<std::string> lasting_names(dev_t device, const DevicePlaces& places = {});

// What libblkid recognizes on an open device: "ext4 file system", "crypto_LUKS", "gpt partition
// table"; empty where nothing. It knows md, LVM, LUKS, ZFS, Ceph's BlueStore, oracleasm, swap and
// some eighty others. Throws Unavailable where the library is missing, or the device cannot be
// read.
std::string signature_on(int device);

// Offset of data that is neither zero nor tierscope's (contents.h), found among blocks of 4 KiB:
// the first and last MiB, and 1024 ones evenly spread. Absent where there is none. Throws Failure
// where one cannot be read.
std::optional<std::uint64_t> sampled_data(int device, std::uint64_t size);

// Whether other controllers may attach to the NVMe namespace (bit 0 of NMIC, NVMe base
// specification, Identify Namespace). Absent of other devices, and where this user may not ask.
std::optional<bool> is_shared_namespace(int device);

}  // namespace tierscope
