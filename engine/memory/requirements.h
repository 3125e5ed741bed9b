// Whether a region is available here, checked before any of its memory is touched.
#pragma once

#include <cstddef>

#include "memory/placement.h"

namespace tierscope {

// Throws Unavailable, with the reason, the numbers and the remedy, where a region of so many bytes
// of these pages in this placement is not available:
// - a node is offline, does not exist, has no memory or is outside this process's cpuset;
// - transparent huge pages (of shared memory, if it is shared between processes) are switched off,
//   or there is no such hugetlb pool;
// - the kernel cannot interleave by weight, or its (machine-wide) weights are others;
// - a node, a node's hugetlb pool or the cgroup has too little left. On each node, 1/64 of its
//   memory and at least 32 MiB stay free, which also covers the region's page tables.
// For several regions of one measurement, give the sum of their bytes.
// Throws std::invalid_argument where bytes is 0 or placement names no node.
void require_memory(std::size_t bytes, Pages pages, const Placement& placement,
                    bool shared = false);

}  // namespace tierscope
