#include "protocol/plan_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace tierscope {

namespace {

Persistent read_persistent(ObjectReader& placement) {
  static constexpr std::array<std::pair<std::string_view, Backing>, 4> kBackings{
      {{"file", Backing::kFile},
       {"pool", Backing::kPool},
       {"pool-objects", Backing::kPoolObjects},
       {"device", Backing::kDevice}}};

  constexpr std::int64_t kMaxOffset = std::int64_t{1} << 50;
  ObjectReader reader = placement.object("persistent");
  Persistent persistent{.backing = reader.choice("backing", kBackings),
                        .path = reader.text("path")};
  if (!persistent.path.starts_with('/')) throw reader.error("path", "is not absolute");
  if (reader.has("offset")) {
    persistent.offset = static_cast<std::size_t>(reader.integer("offset", 0, kMaxOffset));
  }
  if (reader.has("destroy")) persistent.destroy = reader.text("destroy");
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kBackedBy{
      {{"", ""}, {"battery", "battery"}}};
  if (reader.has("backed_by")) persistent.backed_by = reader.choice("backed_by", kBackedBy);
  if (reader.has("bound")) persistent.bound = reader.boolean("bound");
  const bool device = persistent.backing == Backing::kDevice;
  if (!device && (persistent.offset > 0 || !persistent.destroy.empty())) {
    throw reader.error("backing", "is not device, with which offset and destroy go");
  }
  if (device && persistent.bound) throw reader.error("bound", "does not go with backing device");
  reader.finish();
  return persistent;
}

void check_persistent(ObjectReader& reader, Policy policy, Backing backing, TakesPersistent takes) {
  if (takes == TakesPersistent::kNo) {
    throw reader.error("persistent", "is not taken here: this memory is that of nodes");
  }
  if (policy != Policy::kBind) throw reader.error("persistent", "goes with policy bind");
  if (backing == Backing::kPoolObjects && takes != TakesPersistent::kObjects) {
    throw reader.error("persistent.backing",
                       "pool-objects goes with bandwidth's copy, scale, add and triad only");
  }
}

}  // namespace

Placement read_placement(ObjectReader& measurement, TakesPersistent takes, const char* key,
                         bool first_touch) {
  static constexpr std::array<std::pair<std::string_view, Policy>, 6> kPolicies{
      {{"bind", Policy::kBind},
       {"preferred", Policy::kPreferred},
       {"interleave", Policy::kInterleave},
       {"weighted", Policy::kWeighted},
       {"partition", Policy::kPartition},
       {"first-touch", Policy::kFirstTouch}}};
  static constexpr std::array<std::pair<std::string_view, Mechanism>, 2> kMechanisms{
      {{"user", Mechanism::kUser}, {"kernel", Mechanism::kKernel}}};

  ObjectReader reader = measurement.object(key);
  Placement placement{.policy = reader.choice("policy", kPolicies),
                      .nodes = {},
                      .mechanism = reader.has("mechanism") ? reader.choice("mechanism", kMechanisms)
                                                           : Mechanism::kUser};
  std::set<int> seen;
  for (const auto& value : reader.array("nodes", kMaxNode + 1)) {
    ObjectReader share(value, fmt::format("{}.nodes[{}]", reader.where(), placement.nodes.size()));
    const auto node = static_cast<int>(share.integer("node", 0, kMaxNode));
    const int weight = share.has("weight") ? static_cast<int>(share.integer("weight", 1, 255)) : 1;
    share.finish();
    if (!seen.insert(node).second) throw reader.error("nodes", fmt::format("names {} twice", node));
    placement.nodes.push_back({.node = node, .weight = weight});
  }
  const bool one_node = placement.policy == Policy::kBind || placement.policy == Policy::kPreferred;
  if (one_node && placement.nodes.size() != 1) {
    throw reader.error("nodes", "policies bind and preferred take exactly one node");
  }
  if (placement.policy == Policy::kPartition && placement.mechanism == Mechanism::kKernel) {
    throw reader.error("mechanism", "policy partition is done in user space only");
  }
  if (reader.has("persistent") && !reader.any("persistent").is_null()) {
    const Persistent persistent = read_persistent(reader);
    check_persistent(reader, placement.policy, persistent.backing, takes);
    placement.persistent = persistent;
  }
  if (placement.policy == Policy::kFirstTouch) {
    if (!first_touch)
      throw reader.error("policy", "first-touch is for the arrays of bandwidth only");
    if (placement.mechanism == Mechanism::kKernel) {
      throw reader.error("mechanism", "policy first-touch takes no mechanism");
    }
  }
  reader.finish();
  return placement;
}

bool has_cpu_sets(ObjectReader& measurement) {
  return measurement.has("cpu_sets") && !measurement.any("cpu_sets").is_null();
}

double read_zipf_alpha(ObjectReader& pattern) {
  constexpr double kDefault = 0.9;
  constexpr double kMax = 10;
  return pattern.has("zipf_alpha") ? pattern.positive("zipf_alpha", kMax) : kDefault;
}

CpuSets read_threads(ObjectReader& measurement) {
  const std::vector<int> cpus = measurement.distinct_integers("cpus", 0, kMaxCpu, kMaxThreads);
  if (!has_cpu_sets(measurement)) return one_each(cpus);
  CpuSets sets = measurement.distinct_integer_sets("cpu_sets", 0, kMaxCpu, kMaxThreads);
  if (cpus != all_cpus(sets)) {
    throw measurement.error("cpus", "are not all CPUs of cpu_sets, ascending");
  }
  return sets;
}

void read_prefetchers(ObjectReader& measurement) {
  static constexpr std::array<std::pair<std::string_view, int>, 3> kStates{
      {{"as-found", 0}, {"on", 0}, {"off", 0}}};
  if (measurement.has("prefetchers")) measurement.choice("prefetchers", kStates);
}

Pages read_pages(ObjectReader& pattern) {
  return pattern.has("pages") ? pattern.choice("pages", kPagesNames) : Pages::kThp;
}

std::string read_isa(ObjectReader& pattern) {
  static constexpr std::array<std::pair<std::string_view, int>, 6> kIsas{
      {{"auto", 0}, {"sse4", 0}, {"avx2", 0}, {"avx512", 0}, {"neon", 0}, {"sve", 0}}};
  if (!pattern.has("isa")) return "auto";
  pattern.choice("isa", kIsas);
  return pattern.text("isa");
}

SamplingRule read_sampling(ObjectReader& measurement) {
  constexpr double kDay = 86400;
  SamplingRule rule{.precision = 0.01, .budget_s = 2.0, .sample_s = 0.01};
  if (!measurement.has("sampling")) return rule;
  ObjectReader reader = measurement.object("sampling");
  if (reader.has("precision")) rule.precision = reader.positive("precision", 0.5);
  if (reader.has("budget_s")) rule.budget_s = reader.positive("budget_s", kDay);
  if (reader.has("sample_s")) rule.sample_s = reader.positive("sample_s", 60);
  reader.finish();
  return rule;
}

}  // namespace tierscope
