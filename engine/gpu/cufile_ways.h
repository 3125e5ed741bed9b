// Which way operations of cuFile took, as it counts them itself.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "gpu/cufile.h"

namespace tierscope {

// Operations by the way that they took, since the process began. Of the synchronous and stream
// interfaces (statistics of level 3): p2p (PCI P2PDMA), nvfs (nvidia-fs), posix (through host
// memory). Of batches, which level 3 leaves out (submission counters of level 1): p2p, nvfs, aio,
// io_uring and mixed, the last three through host memory. `unaligned`: of all, those that did not
// begin and end at a page.
struct CufileWays {
  std::map<std::string, std::uint64_t> operations;
  std::uint64_t unaligned = 0;

  std::uint64_t total() const;
  CufileWays since(const CufileWays& before) const;
};

// Now; nothing where this cuFile has no statistics. Throws Failure.
CufileWays cufile_ways(const Cufile& library, bool batches);

// Why operations did not all go the way that is required (p2p, nvfs, gpudirect or odirect), in one
// line; empty where they did. `direct`: the files were opened with O_DIRECT. `unproven`: why
// nothing proves `ways`, empty where something does.
std::string wrong_way(const CufileWays& ways, std::string_view required, bool direct,
                      const std::string& unproven);

}  // namespace tierscope
