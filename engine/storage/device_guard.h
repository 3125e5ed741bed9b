// Block devices: read by anybody who may, overwritten only when everything says that nobody's data
// is lost.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "storage/descriptor.h"
#include "storage/device_uses.h"

namespace tierscope {

// What has to be said where a device holds data without a known signature.
inline constexpr const char* kSecondWord = "destroy-unknown-data";

struct DeviceWanted {
  std::string path;
  // The device's name in /dev/disk/by-id or its serial number: its data may be destroyed. Empty: it
  // is only read.
  std::string destroy;
  std::string second_word;  // kSecondWord, or nothing.
};

// A block device for as long as this lives. One that may be written is claimed (O_EXCL): nobody can
// mount it or put it into a volume meanwhile, as the kernel refuses. Several objects of one process
// share the claim, and what was checked when it was made. Not for several threads at once.
class Device {
 public:
  // Throws Unavailable with the reasons why it may not be used, and what to do. A device to be
  // destroyed is refused unless `destroy` names it, no other process has claimed it, nobody uses it
  // (uses_of), it holds no signature, its samples are zeros or the second word was said, and, of
  // NVMe, its namespace is not shared.
  explicit Device(const DeviceWanted& wanted, const DevicePlaces& places = {});

  // A new descriptor, which belongs to the caller; throws Unavailable. Writing flags need
  // `destroy`.
  int open(int flags) const;

  std::uint64_t size() const { return size_; }

  // Discards all blocks (BLKDISCARD: TRIM, NVMe's deallocate), so that the drive takes them for
  // empty; returns their bytes. Needs `destroy`. Throws Unavailable where the device takes no
  // discard, Interrupted once a signal came.
  std::uint64_t purge() const;

 private:
  void check_name(const DeviceWanted& wanted, dev_t device, const DevicePlaces& places) const;
  void check_unused(dev_t device, const DevicePlaces& places) const;
  void check_contents(const DeviceWanted& wanted, int file) const;

  std::string path_;
  Descriptor seen_;  // O_PATH: this very device, whatever its name leads to later.
  std::shared_ptr<const Descriptor> claim_;  // Of one that may be written.
  std::uint64_t size_ = 0;
};

}  // namespace tierscope
