#include "protocol/plan_parts.h"

#include "protocol/constants.h"

namespace tierscope {

namespace {

Persistent read_persistent(const ObjectReader& reader) {
  static constexpr std::array<std::pair<std::string_view, Backing>, 5> kBackings{
      {{"file", Backing::kFile},
       {"pool", Backing::kPool},
       {"pool-objects", Backing::kPoolObjects},
       {"device", Backing::kDevice},
       {"shared-file", Backing::kSharedFile}}};
  return {.backing = reader.choice("backing", kBackings),
          .path = reader.text("path"),
          .offset = reader.bytes("offset"),
          .destroy = reader.text("destroy"),
          .backed_by = reader.text("backed_by"),
          .bound = reader.boolean("bound")};
}

// Whether the nodes are just those of the ranges, and alike in each.
bool fill_ranges(const Placement& placement) {
  std::size_t first = 0;
  for (const int count : placement.ranges) {
    const std::size_t last = first + static_cast<std::size_t>(count);
    if (last > placement.nodes.size()) return false;
    for (std::size_t i = first; i < last; ++i) {
      if (placement.nodes[i].weight != placement.nodes[first].weight) return false;
    }
    first = last;
  }
  return first == placement.nodes.size();
}

}  // namespace

Placement read_placement(const ObjectReader& measurement, std::string_view key) {
  return read_placement(measurement.object(key));
}

Placement read_placement(const ObjectReader& reader) {
  static constexpr std::array<std::pair<std::string_view, Policy>, 6> kPolicies{
      {{"bind", Policy::kBind},
       {"preferred", Policy::kPreferred},
       {"interleave", Policy::kInterleave},
       {"weighted", Policy::kWeighted},
       {"partition", Policy::kPartition},
       {"first-touch", Policy::kFirstTouch}}};
  static constexpr std::array<std::pair<std::string_view, Mechanism>, 2> kMechanisms{
      {{"user", Mechanism::kUser}, {"kernel", Mechanism::kKernel}}};

  Placement placement{.policy = reader.choice("policy", kPolicies),
                      .nodes = {},
                      .mechanism = reader.choice("mechanism", kMechanisms)};
  for (const ObjectReader& share : reader.objects("nodes")) {
    placement.nodes.push_back(
        {.node = share.integer<int>("node"), .weight = share.integer<int>("weight")});
  }
  if (reader.has("ranges")) {
    placement.ranges = reader.integers("ranges");
    reader.check(tables::kPlacementRanges, fill_ranges(placement));
  }
  if (reader.has("persistent")) placement.persistent = read_persistent(reader.object("persistent"));
  return placement;
}

CpuSets read_threads(const ObjectReader& measurement) {
  const std::vector<int> cpus = measurement.integers("cpus");
  if (!measurement.has("cpu_sets")) return one_each(cpus);
  CpuSets sets = measurement.integer_sets("cpu_sets");
  measurement.check(tables::kThreadsCpus, cpus == all_cpus(sets));
  return sets;
}

Pages read_pages(const ObjectReader& pattern) { return pattern.choice("pages", kPagesNames); }

SamplingRule read_sampling(const ObjectReader& measurement) {
  const ObjectReader reader = measurement.object("sampling");
  return {.precision = reader.number("precision"),
          .budget_s = reader.number("budget_s"),
          .sample_s = reader.number("sample_s")};
}

}  // namespace tierscope
