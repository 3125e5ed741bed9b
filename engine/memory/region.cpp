#include "memory/region.h"

#include <fmt/format.h>
#include <numaif.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "errors.h"
#include "interrupt.h"
#include "memory/numa_policy.h"
#include "memory/read_back.h"
#include "memory/requirements.h"
#include "memory/system_memory.h"

namespace tierscope {
namespace {

constexpr std::size_t kBytesPerThread = std::size_t{1} << 20;  // Less is not worth a second thread.
constexpr std::size_t kBytesPerCheck = std::size_t{64} << 20;  // Populated between signal checks.

// Writes to each base page; for kernels that cannot populate by themselves.
void touch(std::byte* start, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += base_page_bytes()) {
    *static_cast<volatile std::byte*>(start + at) = std::byte{0};
  }
}

// The kernel's populating is twice as fast as touching and answers with an error, not with SIGBUS,
// when a hugetlb pool that had enough pages a moment ago has run short.
void fault_in(std::byte* start, std::size_t bytes) {
  while (madvise(start, bytes, kPopulateWrite) != 0) {
    if (errno == EINTR || errno == EAGAIN) continue;
    if (errno == EINVAL) return touch(start, bytes);
    throw Unavailable(
        Cause::kMemory,
        fmt::format("memory ran out while {} were being populated: {}", size_text(bytes),
                    std::strerror(errno)),
        "another process took it at the same moment: try again, or ask for a smaller size");
  }
  // Emulators of other processors accept this and do nothing.
  unsigned char resident = 0;
  const std::size_t page = base_page_bytes();
  if (mincore(start + bytes - page, page, &resident) == 0 && (resident & 1) == 0) {
    touch(start, bytes);
  }
}

// A tmpfs that is mounted with "bind:1-2" has its pages there.
void verify_mount_policy(const std::string& policy, const RegionReport& report) {
  if (!policy.starts_with("bind")) return;
  const std::vector<int> nodes = parse_number_list(policy.substr(policy.rfind(':') + 1));
  for (const auto& [node, count] : report.pages) {
    if (std::ranges::find(nodes, node) != nodes.end()) continue;
    throw Failure(fmt::format("{} pages are on node {}, although the tmpfs is mounted with mpol={}",
                              count, node, policy),
                  Cause::kPlacement);
  }
}

}  // namespace

Region::Region(std::size_t bytes, Pages pages, const Placement& placement, Team& team,
               std::shared_ptr<Pool> pool)
    : bytes_(bytes), pages_(pages), placement_(placement) {
  if (!placement.persistent || (placement.persistent->bound && !pool)) {
    require_memory(bytes, pages, placement, placement.persistent.has_value());
  }
  page_bytes_ = page_bytes(pages);
  page_count_ = (bytes + page_bytes_ - 1) / page_bytes_;
  if (placement.persistent) {
    persistent_.emplace(page_count_ * page_bytes_, pages, page_bytes_, placement, std::move(pool));
    populate(team);
    return;
  }
  memory_ = map_pages(page_count_ * page_bytes_, pages, page_bytes_);
  if (!spread_by_user()) place();
  populate(team);
  if (spread_by_user()) place();
}

bool Region::spread_by_user() const {
  return placement_.mechanism == Mechanism::kUser &&
         (placement_.policy == Policy::kInterleave || placement_.policy == Policy::kWeighted);
}

// Every region ends with an explicit policy: without one, NUMA balancing would move its pages to
// the node of whoever reads them. It comes before populating where it does the placing; where the
// engine spreads pages itself, after, since it would go before the threads' own.
void Region::place() {
  std::vector<int> nodes;
  for (const NodeShare& share : placement_.nodes) nodes.push_back(share.node);
  const auto set = [this](PageRange range, int mode, std::span<const int> on) {
    if (range.first == range.last) return;
    set_range_policy(data() + range.first * page_bytes_, (range.last - range.first) * page_bytes_,
                     mode, on);
  };
  const PageRange all{0, page_count_};
  if (placement_.policy == Policy::kFirstTouch) {
    set(all, MPOL_LOCAL, {});  // Whatever policy the process was started under.
  } else if (placement_.policy == Policy::kPreferred) {
    set(all, MPOL_PREFERRED, nodes);
  } else if (placement_.policy == Policy::kPartition) {
    for (const NodesRange& range : partition_ranges(placement_, page_count_)) {
      set(range.pages, range.nodes > 1 ? MPOL_INTERLEAVE : MPOL_BIND,
          std::span(nodes).subspan(range.first_node, range.nodes));
    }
  } else if (placement_.policy == Policy::kBind || spread_by_user()) {
    set(all, MPOL_BIND, nodes);
  } else {
    set(all, placement_.policy == Policy::kInterleave ? MPOL_INTERLEAVE : kWeightedInterleave,
        nodes);
  }
}

void Region::populate(Team& team) {
  const std::size_t useful = std::max<std::size_t>(1, page_count_ * page_bytes_ / kBytesPerThread);
  const auto threads = static_cast<std::size_t>(team.size());
  const bool each = placement_.policy == Policy::kFirstTouch;
  const std::size_t slices = std::min({each ? threads : useful, page_count_, threads});
  team.run([&](int thread) {
    const auto slice = static_cast<std::size_t>(thread);
    if (slice >= slices) return;
    populate_slice({page_count_ * slice / slices, page_count_ * (slice + 1) / slices});
  });
}

void Region::populate_slice(PageRange slice) {
  if (!spread_by_user()) return populate_range(slice);
  for (std::size_t share = 0; share < placement_.nodes.size(); ++share) {
    const ThreadOnNode policy(placement_.nodes[share].node);
    for_each_run(placement_, share, slice, [this](PageRange run) { populate_range(run); });
  }
}

void Region::populate_range(PageRange range) {
  const std::size_t step = std::max<std::size_t>(1, kBytesPerCheck / page_bytes_);
  for (std::size_t first = range.first; first < range.last; first += step) {
    if (interrupted()) throw Interrupted();
    const std::size_t last = std::min(first + step, range.last);
    fault_in(data() + first * page_bytes_, (last - first) * page_bytes_);
  }
}

RegionReport Region::report() const {
  if (persistent_ && !persistent_->has_page_nodes()) return {};
  const std::size_t bytes = page_count_ * page_bytes_;
  const std::size_t huge = pages_ == Pages::kThp ? huge_bytes(data(), bytes) : 0;
  const bool parts = pages_ == Pages::kThp && huge != bytes;
  RegionReport report = count_pages(data(), bytes, parts ? base_page_bytes() : page_bytes_);
  report.huge_bytes = huge;
  if (!persistent_ || placement_.is_bound()) {
    verify_placement(placement_, page_bytes_, report);
  } else {
    verify_mount_policy(persistent_->facts().mount_policy, report);
  }
  return report;
}

}  // namespace tierscope
