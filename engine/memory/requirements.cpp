#include "memory/requirements.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "errors.h"
#include "memory/system_memory.h"
#include "sizes.h"

namespace tierscope {
namespace {

constexpr std::size_t kGiB = std::size_t{1} << 30;
constexpr const char* kKernelWeights = "/sys/kernel/mm/mempolicy/weighted_interleave";

bool contains(const std::vector<int>& numbers, int number) {
  return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

void require_nodes(const Placement& placement) {
  const std::vector<int> online = online_nodes();
  const std::vector<int> with_memory = nodes_with_memory();
  const std::vector<int> allowed = allowed_nodes();
  const std::string choose =
      fmt::format("choose among the nodes with memory: {}", fmt::join(with_memory, ","));
  for (const NodeShare& share : placement.nodes) {
    if (!contains(online, share.node)) {
      const char* state = contains(possible_nodes(), share.node) ? "is offline" : "does not exist";
      throw Unavailable(Cause::kNode, fmt::format("node {} {}", share.node, state), choose);
    }
    if (!contains(with_memory, share.node)) {
      throw Unavailable(Cause::kNode, fmt::format("node {} has no memory", share.node), choose);
    }
    if (!contains(allowed, share.node)) {
      throw Unavailable(
          Cause::kNode,
          fmt::format("node {} is outside this process's cpuset, which allows memory of node {}",
                      share.node, fmt::join(allowed, ",")),
          fmt::format("add {} to the cgroup's cpuset.mems", share.node));
    }
  }
}

void require_thp(bool shared) {
  if (const auto forbidding = forbidding_switch(shared, page_bytes(Pages::kThp))) {
    throw Unavailable(
        Cause::kPages,
        fmt::format("transparent huge pages{} are switched off ({} says {})",
                    shared ? " of shared memory" : "", forbidding->file, forbidding->setting),
        fmt::format("echo {} | sudo tee {}", shared ? "advise" : "madvise", forbidding->file));
  }
  if (prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1) {
    throw Unavailable(
        Cause::kPages,
        "transparent huge pages are switched off for this process (prctl PR_SET_THP_DISABLE)",
        "start tierscope outside the service or container that sets it, or use base pages");
  }
}

void require_kernel_weights(const Placement& placement) {
  if (access(kKernelWeights, F_OK) != 0) {
    throw Unavailable(Cause::kKernel,
                      "this kernel has no weighted interleave (Linux 6.9 and later have it)",
                      "use mechanism user, which works on every kernel");
  }
  std::vector<std::string> differences;
  std::vector<std::string> commands;
  for (const NodeShare& share : placement.nodes) {
    const std::string path = fmt::format("{}/node{}", kKernelWeights, share.node);
    const std::string text = read_text(path);
    if (text == std::to_string(share.weight)) continue;
    differences.push_back(fmt::format("node {} has {}, asked {}", share.node,
                                      text.empty() ? "none" : text, share.weight));
    commands.push_back(fmt::format("echo {} | sudo tee {}", share.weight, path));
  }
  if (differences.empty()) return;
  throw Unavailable(Cause::kKernel,
                    fmt::format("the kernel's interleave weights, which are machine-wide, are not "
                                "those asked for: {}",
                                fmt::join(differences, "; ")),
                    fmt::format("{}; or use mechanism user", fmt::join(commands, " && ")));
}

void require_cgroup(const std::string& resource, std::size_t bytes) {
  // Page tables and the like are charged too, and charges are made in batches by each CPU.
  const std::size_t needed = resource == "memory" ? bytes + bytes / 256 + 4 * kMiB : bytes;
  const auto room = cgroup_room(resource);
  if (!room || needed <= room->available) return;
  throw Unavailable(
      Cause::kMemory,
      fmt::format("cgroup {} limit {}, {} left; {} needed ({})", resource, size_text(room->limit),
                  size_text(room->available), size_text(needed), room->file),
      "ask for a smaller size, or raise the limit");
}

std::size_t free_bytes(int node) {
  const NodeMemory memory = node_memory(node);
  const std::size_t margin = std::max(32 * kMiB, memory.total / 64);
  return memory.available > margin ? memory.available - margin : 0;
}

void require_free(const std::string& where, std::size_t free, std::size_t needed) {
  if (needed <= free) return;
  throw Unavailable(Cause::kMemory,
                    fmt::format("{} has {} available beyond its reserve; {} needed", where,
                                size_text(free), size_text(needed)),
                    "ask for a smaller size, or free memory there");
}

struct Pool {
  std::string file;  // Where its size is set.
  std::size_t pages;
  std::size_t free;  // Pages that nobody uses or has reserved.
};

Pool read_page_pool(int node, std::size_t page_bytes) {
  const std::string directory = hugetlb_pool(node, page_bytes);
  if (access(directory.c_str(), F_OK) != 0) {
    throw Unavailable(Cause::kPages,
                      fmt::format("this kernel has no hugetlb pages of {}", size_text(page_bytes)),
                      "use another kind of pages");
  }
  const auto number = [](const std::string& path) {
    return static_cast<std::size_t>(std::strtoull(read_text(path).c_str(), nullptr, 10));
  };
  const std::size_t free = number(directory + "/free_hugepages");
  // Reservations of others are known for the machine only: assume that they fall on this node.
  const std::size_t reserved = number(
      fmt::format("/sys/kernel/mm/hugepages/hugepages-{}kB/resv_hugepages", page_bytes / 1024));
  return {directory + "/nr_hugepages", number(directory + "/nr_hugepages"),
          free > reserved ? free - reserved : 0};
}

void require_pool(const std::string& where, const Pool& pool, std::size_t needed,
                  std::size_t page_bytes) {
  if (needed <= pool.free) return;
  throw Unavailable(
      Cause::kPages,
      fmt::format("{} has {} free hugetlb pages of {}; {} needed", where, pool.free,
                  size_text(page_bytes), needed),
      fmt::format("echo {} | sudo tee {}", pool.pages + needed - pool.free, pool.file));
}

// Whether a node that is full leaves its pages to another one.
bool may_go_elsewhere(const Placement& placement) {
  return placement.policy == Policy::kPreferred || placement.policy == Policy::kFirstTouch;
}

// Nodes that pages may come to: those named, or for preferred, all that are allowed.
std::vector<int> reachable_nodes(const Placement& placement) {
  std::vector<int> nodes;
  if (placement.policy != Policy::kPreferred) {
    for (const NodeShare& share : placement.nodes) nodes.push_back(share.node);
    return nodes;
  }
  const std::vector<int> allowed = allowed_nodes();
  for (const int node : nodes_with_memory()) {
    if (contains(allowed, node)) nodes.push_back(node);
  }
  return nodes;
}

void require_hugetlb(std::size_t count, std::size_t unit, const Placement& placement) {
  if (may_go_elsewhere(placement)) {
    Pool all = read_page_pool(placement.nodes.front().node, unit);
    all.free = 0;
    for (const int node : reachable_nodes(placement)) all.free += read_page_pool(node, unit).free;
    require_pool("the machine", all, count, unit);
  } else {
    const std::vector<PageBounds> bounds = allowed_pages(placement, count);
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      const int node = placement.nodes[i].node;
      require_pool(fmt::format("node {}", node), read_page_pool(node, unit), bounds[i].most, unit);
    }
  }
  require_cgroup(unit >= kGiB ? "hugetlb.1GB" : "hugetlb.2MB", count * unit);
}

void require_ordinary(std::size_t count, std::size_t unit, const Placement& placement) {
  if (may_go_elsewhere(placement)) {
    std::size_t free = 0;
    for (const int node : reachable_nodes(placement)) free += free_bytes(node);
    require_free("the machine", free, count * unit);
  } else {
    const std::vector<PageBounds> bounds = allowed_pages(placement, count);
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      const int node = placement.nodes[i].node;
      require_free(fmt::format("node {}", node), free_bytes(node), bounds[i].most * unit);
    }
  }
  require_cgroup("memory", count * unit);
}

}  // namespace

void require_memory(std::size_t bytes, Pages pages, const Placement& placement, bool shared) {
  if (bytes == 0) throw std::invalid_argument("a region of 0 bytes");
  if (placement.nodes.empty()) throw std::invalid_argument("a placement on no node");
  require_nodes(placement);
  if (pages == Pages::kThp) require_thp(shared);
  if (placement.policy == Policy::kWeighted && placement.mechanism == Mechanism::kKernel) {
    require_kernel_weights(placement);
  }
  const std::size_t unit = page_bytes(pages);
  const std::size_t count = (bytes + unit - 1) / unit;
  if (is_hugetlb(pages)) {
    require_hugetlb(count, unit, placement);
  } else {
    require_ordinary(count, unit, placement);
  }
}

}  // namespace tierscope
