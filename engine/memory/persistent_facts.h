// What the kernel tells of memory that keeps its data, and what it does not.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "storage/descriptor.h"

namespace tierscope {

// Where a file's or a device's data is. What nobody tells is empty.
struct PersistentFacts {
  std::string file_system;                  // "ext4", "tmpfs"; empty of a device.
  std::string mount_policy;                 // Of tmpfs that is mounted so: "bind:2".
  std::string device;                       // "pmem0", "dax0.0", "nvme0n1".
  std::string namespace_mode;               // In ndctl's words: "fsdax", "devdax", "raw", "sector".
  std::string persistence_domain;           // Of the region: "cpu_cache", "memory_controller".
  std::optional<std::uint64_t> bad_blocks;  // 512-byte blocks of the device with errors.
  std::optional<int> node;                  // target_node, else numa_node.
  bool dax = false;                         // Loads and stores reach the device itself.
};

// Of an open file or directory. `root` stands before paths of /sys, for trees of tests.
PersistentFacts facts_of(const Descriptor& file, const std::string& root = "");

// Of a block or character device by its number.
PersistentFacts facts_of_device(bool block, dev_t device, const std::string& root = "");

}  // namespace tierscope
