// Chains in plans: what may be left out, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "errors.h"
#include "kinds/chain_spec.h"
#include "protocol/object_reader.h"

namespace tierscope {
namespace {

using nlohmann::json;

// The plan

json chain_of(const json& pattern, const json& more = json::object()) {
  json made = {{"id", "a"},
               {"initiator", "node:0"},
               {"target", "node:0"},
               {"cpus", {0}},
               {"placement", {{"policy", "bind"}, {"nodes", {{{"node", 0}}}}}},
               {"pattern", {{"operations", {{{"access", "read"}, {"size", 64}}}}, {"size", 4096}}}};
  made["pattern"].update(pattern);
  made.update(more);
  return made;
}

const tables::Table& chain_table() {
  return *std::ranges::find(tables::models(), "ChainSpec", &tables::Model::name)->table;
}

std::string refusal(const json& made) {
  try {
    read_chain_spec(ObjectReader(made, "m", chain_table()));
    return "";
  } catch (const PlanError& error) {
    return error.what();
  }
}

json operations(std::initializer_list<json> all) { return {{"operations", json(all)}}; }

TEST(ChainPlan, WhatIsAbsentHasItsDefault) {
  const json made = chain_of(json::object());
  const ChainSpec spec = read_chain_spec(ObjectReader(made, "m", chain_table()));
  EXPECT_TRUE(spec.linked);
  EXPECT_EQ(spec.interleave, 1U);
  EXPECT_EQ(spec.sample_every, 1U);
  EXPECT_FALSE(spec.writes());
  EXPECT_EQ(spec.placements.size(), 1U);
}

TEST(ChainPlan, WhatCannotBeMeasuredIsRefusedByItsKey) {
  const json read{{"access", "read"}, {"size", 64}};
  const json write{{"access", "write"}, {"size", 64}};
  const auto with = [](json made, const json& more) {
    made.update(more);
    return made;
  };
  const std::vector<std::pair<json, std::string>> refused{
      {operations({}), "operations"},
      {operations({with(read, {{"size", 48}})}), "operations[0].size: is not a power of two"},
      {operations({with(read, {{"size", 131072}})}), "operations[0].size"},
      {operations({with(read, {{"offset", 64}})}), "operations[0].offset"},
      {operations({read, with(write, {{"offset", 32}})}), "operations[1].offset"},
      {operations({read, with(write, {{"region", 1}})}), "operations[1].region"},
      {operations({with(write, {{"offset", 64}})}), "operations"},
      {operations({write}), "linked"},
      {operations({{{"access", "compare-and-swap"}, {"size", 16}}}), "operations[0].size"},
      {operations({with(read, {{"size", 8}, {"cache", "non-temporal"}})}), "operations[0].size"},
      {operations({read, with(write, {{"offset", 8192}})}), "size: is less than"},
      {operations({with(read, {{"region", 1}})}), "placement_second"},
      {{{"interleave", 33}}, "interleave"},
      {{{"sample_every", 0}}, "sample_every"}};
  for (const auto& [pattern, says] : refused) {
    EXPECT_NE(refusal(chain_of(pattern)).find(says), std::string::npos)
        << says << "; " << refusal(chain_of(pattern));
  }
  const json second = {{"placement_second", {{"policy", "bind"}, {"nodes", {{{"node", 0}}}}}}};
  EXPECT_NE(refusal(chain_of(json::object(), second)), "");
  EXPECT_EQ(refusal(chain_of(operations({with(read, {{"region", 1}})}), second)), "");
}

}  // namespace
}  // namespace tierscope
