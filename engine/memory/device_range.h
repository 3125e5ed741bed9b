// A range of a character device of DAX, which may be overwritten only when everything says that
// nobody's data is lost.
#pragma once

#include <cstddef>
#include <string>

#include "memory/placement.h"
#include "storage/descriptor.h"

namespace tierscope {

// Where devices and what is known of them are; others are for trees of tests.
struct DaxPlaces {
  std::string sys = "/sys";
  std::string proc = "/proc";
};

// Part of a device for as long as this lives; other ranges of this process lie beside it.
class DeviceRange {
 public:
  // The first place from persistent.offset on that has room for `bytes` and begins where the device
  // may be mapped. Throws Unavailable where the path is not a device of DAX, persistent.destroy
  // does not name it (its name or its namespace's UUID), another process has it open, it begins
  // with a pool of PMDK's, or the rest of it is too small.
  DeviceRange(const Persistent& persistent, std::size_t bytes, const DaxPlaces& places = {});
  ~DeviceRange();
  DeviceRange(const DeviceRange&) = delete;
  DeviceRange& operator=(const DeviceRange&) = delete;

  const Descriptor& device() const { return device_; }
  std::size_t offset() const { return offset_; }
  std::size_t bytes() const { return bytes_; }          // Rounded up to whole alignments.
  std::size_t alignment() const { return alignment_; }  // Of addresses and offsets.

 private:
  std::string path_;
  Descriptor device_;
  std::size_t alignment_ = 0;
  std::size_t offset_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace tierscope
