#include "kinds/bandwidth_spec.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "access/library.h"
#include "protocol/plan_parts.h"

namespace tierscope {
namespace {

Operation read_operation(ObjectReader& pattern) {
  std::vector<std::pair<std::string_view, Operation>> names;
  for (const OperationTraits& traits : kOperations)
    names.emplace_back(traits.name, traits.operation);
  return pattern.choice("operation", names);
}

bool has_object_walk(const BandwidthSpec& spec) {
  const bool ordinary = spec.operation == Operation::kCopy || spec.operation == Operation::kScale ||
                        spec.operation == Operation::kAdd || spec.operation == Operation::kTriad;
  return ordinary && !spec.apart && spec.order == Order::kSequential && !spec.shared &&
         spec.isa == "auto";
}

// Where the operation's arrays are; those without a placement of their own are where a is.
void read_placements(ObjectReader& measurement, BandwidthSpec& spec) {
  static constexpr std::array kOthers{"placement_b", "placement_c"};
  const auto arrays = static_cast<std::size_t>(spec.traits().arrays);
  spec.placements.assign(arrays,
                         read_placement(measurement, TakesPersistent::kObjects, "placement", true));
  for (std::size_t i = 0; i < kOthers.size(); ++i) {
    const char* const key = kOthers.at(i);
    if (!measurement.has(key) || measurement.any(key).is_null()) continue;
    if (i + 1 >= arrays) throw measurement.error(key, "places an array that the operation has not");
    spec.placements[i + 1] = read_placement(measurement, TakesPersistent::kObjects, key, true);
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

BandwidthSpec read_bandwidth(ObjectReader& measurement) {
  static constexpr std::array<std::pair<std::string_view, Order>, 5> kOrders{
      {{"sequential", Order::kSequential},
       {"reverse", Order::kReverse},
       {"strided", Order::kStrided},
       {"random", Order::kRandom},
       {"zipf", Order::kZipf}}};
  static constexpr std::array<std::pair<std::string_view, bool>, 2> kSharing{
      {{"partitioned", false}, {"shared", true}}};
  constexpr std::size_t kDefaultAccess = 64;

  BandwidthSpec spec{};
  spec.threads = read_threads(measurement);
  spec.cpus = all_cpus(spec.threads);
  spec.sampling = read_sampling(measurement);
  ObjectReader pattern = measurement.object("pattern");
  spec.operation = read_operation(pattern);
  spec.order = pattern.has("order") ? pattern.choice("order", kOrders) : Order::kSequential;
  spec.access_size = pattern.has("access_size") ? pattern.bytes("access_size") : kDefaultAccess;
  spec.shared = pattern.has("sharing") && pattern.choice("sharing", kSharing);
  const bool has_stride = pattern.has("stride") && !pattern.any("stride").is_null();
  if (has_stride) spec.stride = pattern.bytes("stride");
  spec.zipf_alpha = read_zipf_alpha(pattern);
  spec.size = pattern.bytes("size");
  spec.pages = read_pages(pattern);
  spec.isa = read_isa(pattern);
  pattern.finish();
  read_placements(measurement, spec);
  if ((spec.order == Order::kStrided) != has_stride) {
    throw pattern.error("stride", "goes with order strided, and only with it");
  }
  if (is_library(spec.operation) && spec.order != Order::kSequential) {
    throw pattern.error("order", "is not sequential, the only one of memset and memcpy");
  }
  if (is_library(spec.operation) && spec.isa != "auto") {
    throw pattern.error("isa", "is not auto: the C library chooses that of memset and memcpy");
  }
  if (has_stride && spec.stride < spec.access_size) {
    throw pattern.error("stride", "is smaller than access_size");
  }
  if (spec.shared && spec.operation == Operation::kRmw) {
    throw pattern.error("sharing",
                        "is shared, but two threads that update an element at once lose an update "
                        "of rmw, so that it could not be verified");
  }
  if (spec.by_objects() && !has_object_walk(spec)) {
    throw pattern.error("operation",
                        "has no loop over objects: backing pool-objects goes with copy, scale, add "
                        "and triad, in sequential order, partitioned, isa auto");
  }
  const bool touched = std::ranges::any_of(spec.placements, [](const Placement& placement) {
    return placement.policy == Policy::kFirstTouch;
  });
  if (touched && has_cpu_sets(measurement)) {
    throw measurement.error("cpu_sets",
                            "goes with memory that the plan places: which node a thread of a set "
                            "touches from is up to the scheduler");
  }
  if (spec.size / std::max(spec.stride, spec.access_size) < spec.threads.size()) {
    throw pattern.error("size", "has fewer accesses than there are threads");
  }
  return spec;
}

}  // namespace tierscope
