// What the machine has: page sizes, nodes with memory, free memory of a node, cgroup limits.
// Files of sysfs, procfs and cgroupfs are read anew at each call; a call costs some 10 us.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memory/placement.h"

namespace tierscope {

// The text of a file of the kernel's, without trailing newlines; empty where there is no such file.
std::string read_text(const std::string& path);

// "0-2,5" -> {0, 1, 2, 5}, as the kernel writes sets of CPUs and nodes. Pure.
std::vector<int> parse_number_list(std::string_view text);

// A number of bytes for messages: "256 GiB", "255.8 GiB", "640 bytes". Pure.
std::string size_text(std::size_t bytes);

// Whether /sys shows this machine; containers may hide it, and then what is not in it is unknown.
bool sys_is_visible();

// The kernel's ordinary page in bytes.
std::size_t base_page_bytes();

inline constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, Linux 5.14

// The page that a kind of pages is placed by, in bytes: of transparent huge pages the one that a
// whole page-table entry maps (2 MiB on x86, 512 MiB on Arm with 64 KiB pages). Throws Unavailable
// where the kernel has no transparent huge pages.
std::size_t page_bytes(Pages pages);

constexpr const char* kThpDirectory = "/sys/kernel/mm/transparent_hugepage";

// The kernel's switch that keeps transparent huge pages from memory which asks for them by madvise.
struct ThpSwitch {
  std::string file;
  std::string setting;  // "never", "deny"; "nothing" where there is no such file.
};

// Of private memory, or of shared (anonymous shared mappings and other shmem): none where the pages
// of page_bytes(Pages::kThp) are allowed.
std::optional<ThpSwitch> forbidding_switch(bool shared, std::size_t page_bytes,
                                           const std::string& directory = kThpDirectory);

// Nodes that have memory, ascending; {0} where the kernel knows no NUMA. Without /sys, those that
// this process may take memory from.
std::vector<int> nodes_with_memory();

// Nodes that are online, with or without memory.
std::vector<int> online_nodes();

// Nodes that the kernel is prepared for, online or not.
std::vector<int> possible_nodes();

// Nodes that this process may take memory from (cgroup cpuset).
std::vector<int> allowed_nodes();

// The directory of a node's hugetlb pool; the machine's where the kernel knows no NUMA.
// page_bytes is the pool's page size; the directory need not exist.
std::string hugetlb_pool(int node, std::size_t page_bytes);

// Bytes that the last-level caches of some CPUs hold together, each cache counted once, as the
// kernel names them; 0 where it names none. A virtual machine's may be larger than its share.
std::size_t last_level_cache_bytes(std::span<const int> cpus,
                                   const std::string& root = "/sys/devices/system/cpu");

struct NodeMemory {
  std::size_t total;      // Bytes.
  std::size_t available;  // Free bytes, and cached ones that the kernel can give up at once.
};

// Throws Failure where the kernel tells nothing about the node.
// Where one node has all the memory, this is the kernel's own MemAvailable. Per node the kernel
// states no such estimate: there it is free memory, inactive file pages, half of the active ones
// and half of the reclaimable slab.
NodeMemory node_memory(int node);

// A field of /proc/meminfo or of a node's meminfo ("MemFree", "Inactive(file)"), in bytes. Pure.
std::optional<std::size_t> meminfo_bytes(std::string_view text, std::string_view field);

struct CgroupRoom {
  std::string file;  // The file that holds the limit.
  std::size_t limit;
  std::size_t available;  // Bytes left under it, file cache that the kernel can give up included.
};

// The tightest of the limits on this process's cgroup and its ancestors; none where there is none.
// resource is "memory", or a hugetlb page size as cgroups name it ("hugetlb.2MB").
std::optional<CgroupRoom> cgroup_room(const std::string& resource);

// Directories of the cgroups that hold a process to their limits, its own first, from the texts of
// /proc/PID/cgroup and /proc/PID/mountinfo; cgroup v1, v2 and both at once. Pure.
std::vector<std::string> cgroup_directories(std::string_view cgroup, std::string_view mountinfo,
                                            std::string_view controller);

}  // namespace tierscope
