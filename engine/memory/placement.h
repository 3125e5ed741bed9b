// Where the pages of a memory region are to go, and whether they went there. Pure: no system call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tierscope {

// base: the kernel's ordinary page; thp: transparent huge pages; 2m, 512m, 1g: hugetlb pages.
enum class Pages { kBase, kThp, kHuge2M, kHuge512M, kHuge1G };

inline bool is_hugetlb(Pages pages) { return pages != Pages::kBase && pages != Pages::kThp; }

enum class Policy {
  kBind,        // All pages on one node.
  kPreferred,   // One node while it has room, then wherever the kernel goes.
  kInterleave,  // Pages round robin over the nodes.
  kWeighted,    // `weight` pages on each node in turn.
  kPartition,   // One contiguous range for each node or each of `ranges`, sized by weight.
  kFirstTouch,  // Each page on the node of the thread that populates it, which is to be of these.
};

// Who spreads interleaved pages: the engine, page by page, or the kernel's own policy.
// Bind, preferred and partition come out the same either way.
enum class Mechanism { kUser, kKernel };

struct NodeShare {
  int node;        // 0..1023
  int weight = 1;  // 1..255; without meaning for bind, preferred, interleave and first touch

  bool operator==(const NodeShare&) const = default;
};

// What holds the data of a persistent target.
enum class Backing {
  kFile,         // A mapped file of our own.
  kPool,         // Objects of a libpmemobj pool, whose addresses are taken once.
  kPoolObjects,  // The same, whose object ids are translated for each element.
  kDevice,       // A character device of DAX.
  kSharedFile,   // A file that exists, which other processes map too.
};

// Memory that a file or a device holds, in place of anonymous memory.
struct Persistent {
  Backing backing;
  std::string path;         // A directory to make files in, a device, or the shared file.
  std::size_t offset = 0;   // Of a device: nothing before it is touched.
  std::string destroy{};    // Of a device: its name, which says that its data may be destroyed.
  std::string backed_by{};  // What the user says that keeps it: "battery".
  bool bound = false;       // Emulated: pages of tmpfs have to be on the placement's nodes.

  bool operator==(const Persistent&) const = default;
};

struct Placement {
  Policy policy;
  std::vector<NodeShare> nodes;  // Bind and preferred: one. No node twice.
  Mechanism mechanism = Mechanism::kUser;
  // Partition: how many of the nodes share each range, whose pages the kernel interleaves over
  // them; empty: each has its own.
  std::vector<int> ranges{};
  // With it, nodes say where the memory is as far as that is known, and bind nothing unless bound.
  std::optional<Persistent> persistent{};

  // Pages of persistent memory have to be on the nodes.
  bool is_bound() const { return persistent && persistent->bound; }
  bool operator==(const Placement&) const = default;
};

// Pages [first, last) of a region, counted from its start.
struct PageRange {
  std::size_t first;
  std::size_t last;

  bool operator==(const PageRange&) const = default;
};

// Fewest and most pages that a node may hold for the placement to count as done.
struct PageBounds {
  std::size_t least;
  std::size_t most;

  bool operator==(const PageBounds&) const = default;
};

// Pages of one round of a placement that takes nodes in turn: one a node (interleave), or as many
// as the weights' sum (weighted). 1 for the other policies, which have no rounds.
std::size_t round_pages(const Placement& placement);

// What was read back of a region's pages.
struct RegionReport {
  std::map<int, std::size_t> pages{};  // By node; nodes without a page are absent.
  std::size_t absent_pages = 0;        // Not in memory: swapped out, or lost to a hardware error.
  std::size_t page_bytes = 0;          // Size of the pages that are counted here.
  std::size_t huge_bytes = 0;          // Backed by transparent huge pages; 0 for other kinds.
  const char* source = "";             // How the nodes were found out.
  std::vector<std::int16_t> nodes{};   // Of each page, in their order; negative: absent.
};

// Pages, and which of placement.nodes they are on.
struct NodesRange {
  PageRange pages;
  std::size_t first_node;
  std::size_t nodes;

  bool operator==(const NodesRange&) const = default;
};

// Partition: its ranges, in the order of placement.nodes; together they are [0, pages). A border
// lies where the weights say, rounded to the page below.
std::vector<NodesRange> partition_ranges(const Placement& placement, std::size_t pages);

// Interleave and weighted, by user: calls visit with each run of pages of placement.nodes[share]
// that lies in slice, ascending. Rounds start at page 0 and take the nodes in their given order.
void for_each_run(const Placement& placement, std::size_t share, PageRange slice,
                  const std::function<void(PageRange)>& visit);

// Bounds for each of placement.nodes in a region of so many pages. They are exact but for preferred
// (anything goes) and the kernel's interleaving, which may begin its round at any page.
std::vector<PageBounds> allowed_pages(const Placement& placement, std::size_t pages);

// Throws Failure, with the numbers, where the report is not what the placement asked for.
// unit_bytes is the page size that was placed; the report counts in that size or in one that
// divides it (huge pages of which the kernel gave only a part).
void verify_placement(const Placement& placement, std::size_t unit_bytes,
                      const RegionReport& report);

}  // namespace tierscope
