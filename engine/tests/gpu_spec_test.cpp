// What plans may and may not say of GPUs; nothing here needs one.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "harness/plan.h"
#include "protocol/object_reader.h"

namespace tierscope {
namespace {

using nlohmann::json;

json host(const std::string& memory = "pinned") {
  return {{"where", "host"},
          {"memory", memory},
          {"placement", {{"policy", "bind"}, {"nodes", json::array({{{"node", 0}}})}}}};
}

json gpu(int index) { return {{"where", "gpu"}, {"gpu", index}}; }

json transfer(const json& source, const json& destination, const std::string& engine = "ce") {
  return {{"name", "a"},     {"source", source}, {"destination", destination},
          {"gpu", 0},        {"engine", engine}, {"streams", 1},
          {"reported", true}};
}

json copy() {
  return {{"id", "a"},
          {"kind", "gpu-copy"},
          {"initiator", "gpu:0"},
          {"target", "node:0"},
          {"cpus", {0}},
          {"pattern", {{"size", 4}}},
          {"transfers", json::array({transfer(host(), gpu(0))})}};
}

json memory() {
  return {{"id", "a"},
          {"kind", "gpu-memory"},
          {"initiator", "gpu:0"},
          {"target", "gpu:0"},
          {"cpus", {0}},
          {"gpu", 0},
          {"pattern", {{"operation", "random"}, {"size", 4096}, {"access_size", 64}}}};
}

json latency() {
  return {{"id", "a"},
          {"kind", "gpu-latency"},
          {"initiator", "gpu:0"},
          {"target", "gpu:0"},
          {"cpus", {0}},
          {"gpu", 0},
          {"memory", gpu(0)},
          {"pattern", {{"size", 4096}, {"stride", 128}}}};
}

void parse(const json& measurement) {
  parse_plan({{"version", 2}, {"measurements", json::array({measurement})}});
}

void refuse(const json& measurement, const std::string& where) {
  try {
    parse(measurement);
    FAIL() << "accepted: " << measurement;
  } catch (const PlanError& error) {
    EXPECT_NE(std::string(error.what()).find(where), std::string::npos) << error.what();
  }
}

TEST(GpuSpec, TakesEachKind) {
  parse(copy());
  parse(memory());
  parse(latency());
}

TEST(GpuSpec, RefusesUnknownKeysAtEveryDepth) {
  json plan = copy();
  plan["transfers"][0]["source"]["placement"]["colour"] = "red";
  refuse(plan, "colour");
  plan = copy();
  plan["transfers"][0]["colour"] = "red";
  refuse(plan, "colour");
}

TEST(GpuSpec, RefusesACopyFromHostToHost) {
  json plan = copy();
  plan["transfers"][0]["destination"] = host();
  refuse(plan, "destination");
}

TEST(GpuSpec, TakesCallLatencyOfOneTransferAndStreamOnly) {
  json plan = copy();
  plan["call_latency"] = true;
  parse(plan);
  plan["transfers"][0]["streams"] = 2;
  refuse(plan, "call_latency");
  plan["transfers"] = json::array({transfer(host(), gpu(0)), transfer(gpu(0), host())});
  refuse(plan, "call_latency");
  plan["transfers"] = json::array({transfer(host("managed"), gpu(0), "sm")});
  refuse(plan, "call_latency");
}

TEST(GpuSpec, RefusesPageableMemoryConcurrentWithOthers) {
  json plan = copy();
  plan["transfers"] = json::array({transfer(host("pageable"), gpu(0)), transfer(gpu(0), host())});
  refuse(plan, "transfers");
  plan["transfers"] = json::array({transfer(host("pageable"), gpu(0))});
  plan["transfers"][0]["streams"] = 2;
  refuse(plan, "transfers");
}

TEST(GpuSpec, RefusesManagedMemoryAsADestinationOnDemand) {
  json plan = copy();
  plan["transfers"] = json::array({transfer(gpu(0), host("managed"), "sm")});
  refuse(plan, "destination");
}

TEST(GpuSpec, RefusesPinnedMemoryOverSeveralNodesOrInHugePages) {
  json plan = copy();
  plan["transfers"][0]["source"]["pages"] = "2m";
  refuse(plan, "pages");
  plan = copy();
  plan["transfers"][0]["source"]["placement"] = {
      {"policy", "interleave"}, {"nodes", json::array({{{"node", 0}}, {{"node", 1}}})}};
  refuse(plan, "placement");
}

TEST(GpuSpec, RefusesSamplesThatDoNotFit) {
  json plan = copy();
  plan["pattern"] = {{"size", 4096}, {"row_bytes", 1024}};
  refuse(plan, "pitch");
  plan["pattern"] = {{"size", 4096}, {"row_bytes", 1024}, {"pitch", 512}};
  refuse(plan, "pitch");
  plan["pattern"] = {{"size", 4097}, {"row_bytes", 1024}, {"pitch", 2048}};
  refuse(plan, "size");
  plan["pattern"] = {{"size", 4096}, {"row_bytes", 1024}, {"pitch", 2048}};
  parse(plan);
  plan["transfers"][0]["engine"] = "sm";
  refuse(plan, "transfers");
}

TEST(GpuSpec, RefusesRandomAccessesThatAreNoPowerOfTwo) {
  json plan = memory();
  plan["pattern"]["access_size"] = 48;
  refuse(plan, "access_size");
}

TEST(GpuSpec, RefusesAChaseOfFewerThanTwoSlots) {
  json plan = latency();
  plan["pattern"] = {{"size", 128}, {"stride", 128}};
  refuse(plan, "size");
  plan = latency();
  plan["memory"] = host("managed");
  refuse(plan, "memory");
}

TEST(GpuSpec, TakesAChaseInOrderOnEveryMultiprocessor) {
  json plan = latency();
  plan["pattern"]["order"] = "linear";
  plan["every_sm"] = true;
  parse(plan);
  plan["engine"] = "tma";
  refuse(plan, "every_sm");
  plan = latency();
  plan["pattern"]["order"] = "sideways";
  refuse(plan, "order");
}

}  // namespace
}  // namespace tierscope
