#include "kinds/node_traffic.h"

#include <algorithm>

#include "access/zipf_order.h"

namespace tierscope {
namespace {

constexpr std::uint64_t kMaxRepeated = 1U << 18;

// `times` over the share's bytes [begin, end).
void add_range(const WalkedShare& share, const RegionReport& report, std::uint64_t begin,
               std::uint64_t end, double times, NodeTraffic& traffic) {
  const std::size_t last = share.first + end;
  for (std::size_t at = share.first + begin; at < last;) {
    const std::size_t page = at / report.page_bytes;
    const std::size_t next = std::min((page + 1) * report.page_bytes, last);
    traffic[report.nodes.at(page)] += static_cast<double>(next - at) * times * share.counted;
    at = next;
  }
}

// The walk's passes over its share, the last of which may be unfinished.
void add_passes(const WalkedShare& share, const RegionReport& report, NodeTraffic& traffic) {
  const std::uint64_t bytes = share.walk.accesses() * share.walk.access_size;
  const std::uint64_t passes = share.accesses / share.walk.accesses();
  const std::uint64_t rest = share.accesses % share.walk.accesses() * share.walk.access_size;
  const bool reverse = share.order == Order::kReverse;
  const std::uint64_t begin = reverse ? (share.start + bytes - rest) % bytes : share.start;
  const std::uint64_t wrapped = begin + rest > bytes ? begin + rest - bytes : 0;
  add_range(share, report, 0, bytes, static_cast<double>(passes), traffic);
  add_range(share, report, begin, begin + rest - wrapped, 1, traffic);
  add_range(share, report, 0, wrapped, 1, traffic);
}

// The first accesses at the offsets that `next` gives stand for all.
template <typename Next>
void add_repeated(const WalkedShare& share, const RegionReport& report, const Next& next,
                  NodeTraffic& traffic) {
  const std::uint64_t repeated = std::min(share.accesses, kMaxRepeated);
  const double scale = static_cast<double>(share.accesses) / static_cast<double>(repeated);
  const double bytes = static_cast<double>(share.walk.access_size) * share.counted * scale;
  for (std::uint64_t i = 0; i < repeated; ++i) {
    traffic[report.nodes.at((share.first + next()) / report.page_bytes)] += bytes;
  }
}

}  // namespace

std::uint64_t spread_start(const Walk& walk, Order order, std::size_t thread, std::size_t threads) {
  if (order != Order::kSequential && order != Order::kReverse) return 0;
  return walk.accesses() * thread / threads * walk.access_size;
}

void add_traffic(const WalkedShare& share, const RegionReport& report, NodeTraffic& traffic) {
  if (share.accesses == 0) return;
  const Walk& walk = share.walk;
  if (share.order == Order::kSequential || share.order == Order::kReverse) {
    add_passes(share, report, traffic);
  } else if (share.order == Order::kZipf) {
    std::uint64_t state = share.seed;
    const auto next = [&] { return walk.zipf->next(state) * walk.access_size; };
    add_repeated(share, report, next, traffic);
  } else if (share.order == Order::kStrided && walk.stride > report.page_bytes) {
    std::uint64_t offset = 0;
    std::uint64_t phase = 0;
    const auto next = [&] {
      const std::uint64_t found = offset;
      offset += walk.stride;
      if (offset + walk.access_size > walk.bytes) {
        phase += walk.access_size;
        if (phase + walk.access_size > std::min(walk.stride, walk.bytes)) phase = 0;
        offset = phase;
      }
      return found;
    };
    add_repeated(share, report, next, traffic);
  } else {
    const auto blocks = static_cast<double>(walk.accesses());
    add_range(share, report, 0, walk.bytes, static_cast<double>(share.accesses) / blocks, traffic);
  }
}

}  // namespace tierscope
