#include "memory/numa_policy.h"

#include <fmt/format.h>
#include <numaif.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "errors.h"
#include "memory/system_memory.h"

namespace tierscope {
namespace {

constexpr std::size_t kMaxNodes = 1024;  // The largest that Linux can be configured for.
constexpr std::size_t kWordBits = sizeof(unsigned long) * CHAR_BIT;
constexpr unsigned long kMaskBits = kMaxNodes + 1;  // The kernel ignores the last one.

std::vector<unsigned long> node_mask(std::span<const int> nodes) {
  std::vector<unsigned long> mask(kMaxNodes / kWordBits);
  for (const int node : nodes) {
    const auto bit = static_cast<std::size_t>(node);
    mask.at(bit / kWordBits) |= 1UL << (bit % kWordBits);
  }
  return mask;
}

// After a failed call: returns where it does not matter that no policy can be set.
void check_error(const char* call) {
  const int error = errno;
  if (error != EPERM && error != ENOSYS) {
    throw Failure(fmt::format("{}: {}", call, std::strerror(error)));
  }
  if (nodes_with_memory().size() == 1) return;
  throw Unavailable(
      Cause::kPermission,
      fmt::format("memory cannot be placed on a node: {} is not permitted ({})", call,
                  std::strerror(error)),
      "allow mbind, set_mempolicy and move_pages in the container's seccomp profile, for example "
      "with `docker run --cap-add SYS_NICE`");
}

}  // namespace

void set_range_policy(void* start, std::size_t bytes, int mode, std::span<const int> nodes) {
  const std::vector<unsigned long> mask = node_mask(nodes);
  if (mbind(start, bytes, mode, mask.data(), kMaskBits, 0) != 0) check_error("mbind");
}

ThreadOnNode::ThreadOnNode(int node) : mask_(kMaxNodes / kWordBits) {
  const std::vector<unsigned long> wanted = node_mask({&node, 1});
  if (get_mempolicy(&mode_, mask_.data(), kMaskBits, nullptr, 0) != 0) {
    check_error("get_mempolicy");
  } else if (set_mempolicy(MPOL_BIND, wanted.data(), kMaskBits) != 0) {
    check_error("set_mempolicy");
  } else {
    changed_ = true;
  }
}

ThreadOnNode::~ThreadOnNode() {
  // It was this thread's policy before, so it cannot be refused now.
  if (changed_) set_mempolicy(mode_, mask_.data(), kMaskBits);
}

}  // namespace tierscope
