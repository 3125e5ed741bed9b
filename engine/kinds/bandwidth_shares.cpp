#include "kinds/bandwidth_shares.h"

#include <algorithm>

#include "access/array_data.h"
#include "memory/placement.h"
#include "memory/rounds.h"

namespace tierscope {
namespace {

Walk walk_of(const BandwidthSpec& spec, const std::vector<Lease>& arrays, const ByteRange& range) {
  const auto at = [&](std::size_t array) {
    return array < arrays.size()
               ? reinterpret_cast<double*>(arrays[array].region->data() + range.first)
               : nullptr;
  };
  return {.a = at(0),
          .b = at(1),
          .c = at(2),
          .scalar = kWrittenScalar,
          .bytes = range.last - range.first,
          .access_size = spec.access_size,
          .stride = spec.stride};
}

}  // namespace

void divide(const BandwidthSpec& spec, const std::vector<Lease>& arrays,
            std::deque<BandwidthShare>& shares) {
  const std::size_t grain =
      spec.shared ? kFillPeriod : share_grain(spec.pages, spec.placements, spec.access_size);
  std::vector<ByteRange> cut = cut_into_shares(spec.size, grain, shares.size());
  if (spec.shared) cut.back().last = spec.size;  // The rest is walked, too.
  const ByteRange all{0, spec.size / spec.access_size * spec.access_size};
  for (std::size_t thread = 0; thread < shares.size(); ++thread) {
    BandwidthShare& share = shares[thread];
    share.own = walk_of(spec, arrays, cut[thread]);
    share.walk = spec.shared ? walk_of(spec, arrays, all) : share.own;
    share.first = spec.shared ? 0 : cut[thread].first;
    const bool spread =
        spec.shared || std::ranges::any_of(spec.placements, [](const Placement& placement) {
          return round_pages(placement) > 1;
        });
    share.start = spread ? spread_start(share.walk, spec.order, thread, shares.size()) : 0;
    share.own_first = cut[thread].first / sizeof(double);
    if (spec.order == Order::kZipf) {
      share.walk.zipf = &share.zipf.emplace(share.walk.accesses(), spec.zipf_alpha);
    }
  }
}

// Threads that share arrays begin evenly spread over them; the way to where the next one began is
// what each has for itself.
std::uint64_t reached_bytes(const BandwidthSpec& spec, const std::deque<BandwidthShare>& shares,
                            std::span<const Worker> workers) {
  const bool in_order = spec.order == Order::kSequential || spec.order == Order::kReverse;
  std::uint64_t sum = 0;
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const Walk& walk = shares[i].walk;
    const std::uint64_t one =
        shares[i].zipf ? shares[i].zipf_reached : walked_bytes(spec.order, walk, workers[i].done);
    const std::uint64_t way = walk.accesses() / shares.size() * walk.access_size;
    sum += spec.shared ? std::min(one, way) : one;
    most = std::max(most, one);
  }
  if (!spec.shared) return sum;
  return in_order ? std::max(sum, most) : most;
}

std::vector<WalkedShare> walked_shares(const BandwidthSpec& spec,
                                       const std::deque<BandwidthShare>& shares,
                                       std::span<const Worker> workers) {
  const OperationTraits& traits = spec.traits();
  std::vector<WalkedShare> found;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    found.push_back({.walk = shares[i].walk,
                     .order = spec.order,
                     .first = shares[i].first,
                     .start = shares[i].start,
                     .accesses = workers[i].done,
                     .counted = static_cast<double>(traits.program_bytes) / traits.arrays,
                     .seed = shares[i].seed});
  }
  return found;
}

}  // namespace tierscope
