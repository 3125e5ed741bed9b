// The kernel's memory policies, for node numbers up to 1023.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "memory/placement.h"

namespace tierscope {

// One of the kernel's modes (MPOL_BIND, ...), with those that numaif.h may not know yet.
constexpr int kWeightedInterleave = 6;  // MPOL_WEIGHTED_INTERLEAVE, Linux 6.9

// Sets the policy that later faults in [start, start + bytes) follow; moves no page.
// An explicit policy also keeps the kernel's NUMA balancing from moving pages of this range.
// Where the system call is forbidden (a container's seccomp filter) or missing, this does nothing
// if only one node has memory, since all pages are there anyway; else it throws Unavailable.
// Any other error throws Failure.
void set_range_policy(void* start, std::size_t bytes, int mode, std::span<const int> nodes);

// While it lives, pages that the calling thread faults in come from one node only, save where
// the range has a policy of its own. Errors as above.
class ThreadOnNode {
 public:
  explicit ThreadOnNode(int node);
  ~ThreadOnNode();
  ThreadOnNode(const ThreadOnNode&) = delete;
  ThreadOnNode& operator=(const ThreadOnNode&) = delete;

 private:
  bool changed_ = false;
  int mode_ = 0;
  std::vector<unsigned long> mask_;
};

}  // namespace tierscope
