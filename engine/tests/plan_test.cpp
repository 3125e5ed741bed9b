#include "harness/plan.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "protocol/json_text.h"
#include "protocol/object_reader.h"

namespace tierscope {
namespace {

using nlohmann::json;

json bandwidth_plan() {
  return json::parse(R"({"version": 2, "measurements": [{
    "id": "read", "kind": "bandwidth", "initiator": "node:0", "target": "node:0", "cpus": [0],
    "placement": {"policy": "bind", "nodes": [{"node": 0}]},
    "pattern": {"operation": "read", "size": 4096}}]})");
}

// What the parser says of a plan; empty where it takes it.
std::string complaint(const std::string& text) {
  try {
    parse_plan(parse_json(text, "plan"));
    return "";
  } catch (const PlanError& error) {
    return error.what();
  }
}

std::string complaint_after(const std::string& pointer, const json& value) {
  json plan = bandwidth_plan();
  plan[json::json_pointer(pointer)] = value;
  return complaint(plan.dump());
}

TEST(ParsePlan, TakesTheSmallestPlan) {
  const std::vector<Measurement> plan = parse_plan(bandwidth_plan());
  ASSERT_EQ(plan.size(), 1U);
  EXPECT_EQ(plan.front().id, "read");
}

TEST(ParsePlan, SaysWhereAndWhat) {
  EXPECT_EQ(complaint_after("/measurements/0/pattern/size", 70),
            "measurements[0].pattern.size: 70 is not a multiple of 64");
  EXPECT_EQ(complaint_after("/measurements/0/pattern/speed", 1),
            "measurements[0].pattern.speed: is not a known key");
  EXPECT_EQ(complaint_after("/measurements/0/placement/policy", "near"),
            "measurements[0].placement.policy: 'near' is none of bind, preferred, interleave, "
            "weighted, partition, first-touch");
  EXPECT_EQ(complaint_after("/measurements/0/cpus", json::array({0, 0})),
            "measurements[0].cpus: names 0 twice");
  EXPECT_EQ(complaint_after("/measurements/0/cpus", json::array()),
            "measurements[0].cpus: has 0 elements; 1 to 4096 are allowed");
  EXPECT_EQ(complaint_after("/version", 1), "version: 1 is not at least 2 and at most 2");
  EXPECT_EQ(complaint_after("/measurements/0/sampling", json{{"precision", 0}}),
            "measurements[0].sampling.precision: 0 is not above 0 and at most 0.5");
  EXPECT_EQ(complaint_after("/measurements/0/pattern/stride", 128),
            "measurements[0].pattern.stride: goes with order strided");
}

TEST(ParsePlan, RefusesTheSameIdTwice) {
  json plan = bandwidth_plan();
  plan["measurements"].push_back(plan["measurements"][0]);
  EXPECT_EQ(complaint(plan.dump()), "measurements: names read twice");
}

TEST(ParsePlan, RefusesIdsThatEarlierPlansHave) {
  const auto in_use = [](const std::string& id) { return id == "read"; };
  EXPECT_THROW(parse_plan(bandwidth_plan(), in_use), PlanError);
}

TEST(ParsePlan, KnowsTheSecondsThatAMeasurementIsGiven) {
  json plan = bandwidth_plan();
  EXPECT_EQ(parse_plan(plan).front().budget_s, 2.0);
  plan["measurements"][0]["sampling"]["budget_s"] = 7;
  EXPECT_EQ(parse_plan(plan).front().budget_s, 7.0);
}

TEST(ParsePlan, RefusesTheSameKeyTwice) {
  EXPECT_EQ(complaint(R"({"version": 2, "version": 2, "measurements": []})"),
            "plan: has the key 'version' twice");
}

TEST(ParsePlan, RefusesWhatIsNoJson) {
  EXPECT_NE(complaint(""), "");
  EXPECT_NE(complaint("{"), "");
  EXPECT_NE(complaint(std::string("\xff\xfe\0", 3)), "");
  EXPECT_NE(complaint(std::string(100'000, '[')), "");
}

TEST(ParsePlan, RefusesNumbersThatFitNoInteger) {
  EXPECT_NE(complaint(R"({"version": 28446744073709551615, "measurements": []})"), "");
  EXPECT_NE(complaint_after("/measurements/0/pattern/size", 1e300), "");
  EXPECT_NE(complaint_after("/measurements/0/pattern/size", 4096.0), "");
}

}  // namespace
}  // namespace tierscope
