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

}  // namespace

BandwidthSpec read_bandwidth(ObjectReader& measurement) {
  static constexpr std::array<std::pair<std::string_view, Order>, 4> kOrders{
      {{"sequential", Order::kSequential},
       {"reverse", Order::kReverse},
       {"strided", Order::kStrided},
       {"random", Order::kRandom}}};
  static constexpr std::array<std::pair<std::string_view, bool>, 2> kSharing{
      {{"partitioned", false}, {"shared", true}}};
  constexpr std::size_t kDefaultAccess = 64;

  BandwidthSpec spec{};
  spec.cpus = measurement.distinct_integers("cpus", 0, kMaxCpu, kMaxThreads);
  spec.placement = read_placement(measurement);
  spec.sampling = read_sampling(measurement);
  ObjectReader pattern = measurement.object("pattern");
  spec.operation = read_operation(pattern);
  spec.order = pattern.has("order") ? pattern.choice("order", kOrders) : Order::kSequential;
  spec.access_size = pattern.has("access_size") ? pattern.bytes("access_size") : kDefaultAccess;
  spec.shared = pattern.has("sharing") && pattern.choice("sharing", kSharing);
  const bool has_stride = pattern.has("stride") && !pattern.any("stride").is_null();
  if (has_stride) spec.stride = pattern.bytes("stride");
  spec.size = pattern.bytes("size");
  spec.pages = read_pages(pattern);
  spec.isa = read_isa(pattern);
  pattern.finish();
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
  if (spec.size / std::max(spec.stride, spec.access_size) < spec.cpus.size()) {
    throw pattern.error("size", "has fewer accesses than there are threads");
  }
  return spec;
}

}  // namespace tierscope
