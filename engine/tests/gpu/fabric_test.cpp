// What is said of a fabric that is not set up: one line, of the first thing that is missing.
#include "gpu/fabric.h"

#include <gtest/gtest.h>
#include <nvml.h>

namespace tierscope {
namespace {

FabricFacts set_up() {
  return {.state = NVML_GPU_FABRIC_STATE_COMPLETED,
          .cluster = "0a1b",
          .clique = 7,
          .channels_exist = true,
          .channel_opens = true};
}

std::string said_of(const FabricFacts& facts) {
  return explain_fabric(2, facts, "making a fabric handle: CUDA error 800");
}

TEST(Fabric, AGpuThatIsNotRegisteredIsSaidFirst) {
  FabricFacts facts;
  facts.state = NVML_GPU_FABRIC_STATE_NOT_SUPPORTED;
  EXPECT_EQ(said_of(facts), "GPU 2 is on no NVLink fabric");
  facts.state = NVML_GPU_FABRIC_STATE_IN_PROGRESS;
  EXPECT_TRUE(
      said_of(facts).starts_with("GPU 2 has not joined the NVLink fabric yet (in progress)"));
  facts.state = NVML_GPU_FABRIC_STATE_NOT_STARTED;
  EXPECT_NE(said_of(facts).find("start nvidia-fabricmanager"), std::string::npos);
  facts = set_up();
  facts.status = NVML_ERROR_TIMEOUT;
  EXPECT_NE(said_of(facts).find("could not join the NVLink fabric (NVML error 10)"),
            std::string::npos);
}

TEST(Fabric, AMissingChannelIsToldFromOneThatMayNotBeUsed) {
  FabricFacts facts = set_up();
  facts.channel_opens = false;
  EXPECT_TRUE(said_of(facts).starts_with("no IMEX channel may be used by this user"));
  facts.channels_exist = false;
  EXPECT_NE(said_of(facts).find("NVreg_CreateImexChannel0=1"), std::string::npos);
  facts.state.reset();  // An older driver does not tell.
  EXPECT_TRUE(said_of(facts).starts_with("there is no IMEX channel"));
}

TEST(Fabric, WhereAllSeemsToBeThereTheServiceIsNamedBesideTheError) {
  const std::string said = said_of(set_up());
  EXPECT_TRUE(said.starts_with("making a fabric handle: CUDA error 800; "));
  EXPECT_NE(said.find("nvidia-imex.service"), std::string::npos);
}

TEST(Fabric, CliquesHaveNamesWhereThereIsACluster) {
  EXPECT_EQ(set_up().clique_name(), "clique 7 of cluster 0a1b");
  EXPECT_EQ(FabricFacts{}.clique_name(), "");
}

}  // namespace
}  // namespace tierscope
