#include "kinds/bandwidth_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>
#include <utility>

#include "access/library.h"
#include "protocol/constants.h"
#include "protocol/plan_parts.h"
#include "sizes.h"

namespace tierscope {
namespace {

Operation read_operation(const ObjectReader& pattern) {
  std::vector<std::pair<std::string_view, Operation>> names;
  for (const OperationTraits& traits : kOperations)
    names.emplace_back(traits.name, traits.operation);
  return pattern.choice("operation", names);
}

// A line's bytes may be moved by narrow instructions.
void read_access_size(const ObjectReader& pattern, BandwidthSpec& spec) {
  constexpr std::size_t kWidest = 32;
  const std::size_t asked = pattern.bytes("access_size");
  const bool narrow = asked <= kWidest;
  pattern.check(tables::kBandwidthPatternAccessSize,
                narrow ? std::has_single_bit(asked) : asked % kCacheLine == 0);
  spec.narrow = narrow ? asked : 0;
  spec.access_size = narrow ? kCacheLine : asked;
}

// Where the operation's arrays are; those without a placement of their own are where a is.
void read_placements(const ObjectReader& measurement, BandwidthSpec& spec) {
  static constexpr std::array kOthers{"placement_b", "placement_c"};
  const auto arrays = static_cast<std::size_t>(spec.traits().arrays);
  spec.placements.assign(arrays, read_placement(measurement, "placement"));
  for (std::size_t i = 0; i < kOthers.size(); ++i) {
    if (!measurement.has(kOthers.at(i))) continue;
    spec.placements[i + 1] = read_placement(measurement, kOthers.at(i));
    spec.apart = true;
  }
}

}  // namespace

std::vector<RegionKey> array_keys(const BandwidthSpec& spec) {
  std::vector<RegionKey> keys;
  for (const Placement& placement : spec.placements) {
    const bool touched = placement.policy == Policy::kFirstTouch;
    keys.push_back({.bytes = spec.size,
                    .pages = spec.pages,
                    .placement = placement,
                    .touched_by = touched ? spec.threads : CpuSets{}});
  }
  return keys;
}

BandwidthSpec read_bandwidth(const ObjectReader& measurement) {
  static constexpr std::array<std::pair<std::string_view, Order>, 5> kOrders{
      {{"sequential", Order::kSequential},
       {"reverse", Order::kReverse},
       {"strided", Order::kStrided},
       {"random", Order::kRandom},
       {"zipf", Order::kZipf}}};
  static constexpr std::array<std::pair<std::string_view, bool>, 2> kSharing{
      {{"partitioned", false}, {"shared", true}}};

  BandwidthSpec spec{};
  spec.threads = read_threads(measurement);
  spec.cpus = all_cpus(spec.threads);
  spec.sampling = read_sampling(measurement);
  const ObjectReader pattern = measurement.object("pattern");
  spec.operation = read_operation(pattern);
  spec.order = pattern.choice("order", kOrders);
  read_access_size(pattern, spec);
  spec.shared = pattern.choice("sharing", kSharing);
  if (pattern.has("stride")) spec.stride = pattern.bytes("stride");
  spec.zipf_alpha = pattern.number("zipf_alpha");
  spec.size = pattern.bytes("size");
  spec.pages = read_pages(pattern);
  spec.isa = pattern.text("isa");
  read_placements(measurement, spec);
  measurement.check(
      tables::kBandwidthSpecPatternSize,
      spec.size / (spec.stride > 0 ? spec.stride : spec.access_size) >= spec.threads.size());
  return spec;
}

}  // namespace tierscope
