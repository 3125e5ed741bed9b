#include "protocol/plan_parts.h"

#include <fmt/format.h>

#include <set>

namespace tierscope {

Placement read_placement(ObjectReader& measurement) {
  static constexpr std::array<std::pair<std::string_view, Policy>, 5> kPolicies{
      {{"bind", Policy::kBind},
       {"preferred", Policy::kPreferred},
       {"interleave", Policy::kInterleave},
       {"weighted", Policy::kWeighted},
       {"partition", Policy::kPartition}}};
  static constexpr std::array<std::pair<std::string_view, Mechanism>, 2> kMechanisms{
      {{"user", Mechanism::kUser}, {"kernel", Mechanism::kKernel}}};

  ObjectReader reader = measurement.object("placement");
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
  reader.finish();
  return placement;
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
