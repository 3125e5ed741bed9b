// The kind checkpoint with a state on a GPU, on a fake CUDA and a fake cuFile.
#include "gpu/cufile_fixture.h"
#include "gpu/gpu_kinds.h"
#include "scratch_directory.h"

namespace tierscope {
namespace {

using nlohmann::json;

class CheckpointOfGpu : public StorageToGpu {
 protected:
  json plan(const std::string& backend) const {
    return {{"sampling", {{"budget_s", 0.1}}},
            {"cpus", {0}},
            {"state", {{"memory", "device"}, {"gpu", 1}}},
            {"directory", folder_.path()},
            {"pattern",
             {{"size", (256 << 10) + 4096},
              {"block_size", 64 << 10},
              {"backend", backend},
              {"direct", false}}}};
  }
  static Repetition repeated(const json& plan) {
    return Repeated("checkpoint", plan).repetition(false, 3);
  }

  ScratchDirectory folder_;
};

TEST_F(CheckpointOfGpu, EveryBackendSavesAndRestarts) {
  for (const char* backend : {"staged", "staged-async", "cufile"}) {
    SCOPED_TRACE(backend);
    json one = plan(backend);
    if (std::string_view(backend) == "staged-async") one["pattern"]["depth"] = 4;
    const Repetition repetition = repeated(one);
    ASSERT_EQ(repetition.series.size(), 2);
    EXPECT_EQ(repetition.evidence["checkpoint"]["medium"], "file");
    EXPECT_GE(repetition.evidence["checkpoint"]["restarts"], 2);
    EXPECT_EQ(repetition.evidence["verified"], "all 266240 bytes of the state after each restart");
    EXPECT_EQ(repetition.evidence["gpus"][0]["gpu"], 1);
    const json& asked = repetition.evidence["storage_io"];
    EXPECT_EQ(asked["bytes_read"].get<std::uint64_t>(),
              266240 * repetition.evidence["checkpoint"]["restarts"].get<std::uint64_t>());
    EXPECT_EQ(asked.contains("ways"), std::string_view(backend) == "cufile");
  }
}

TEST_F(CheckpointOfGpu, MemoryOfANodeIsATargetToo) {
  json one = plan("staged");
  one.erase("directory");
  one["placement"] = {{"policy", "bind"}, {"nodes", {{{"node", 0}}}}};
  const Repetition repetition = repeated(one);
  EXPECT_EQ(repetition.evidence["checkpoint"]["medium"], "memory");
}

TEST_F(CheckpointOfGpu, AStateThatDoesNotComeBackIsFound) {
  fake_cuda::set({.copies = [copies = 0]() mutable { return ++copies % 2 == 0; }});
  EXPECT_EQ(refusal([&] { repeated(plan("staged")); }).substr(0, 12), "verification");
}

TEST_F(CheckpointOfGpu, NothingStaysAllocated) {
  const int before = fake_cuda::pieces_of_memory();
  repeated(plan("staged-async"));
  EXPECT_EQ(fake_cuda::pieces_of_memory(), before);
}

TEST_F(CheckpointOfGpu, KillsAreRefused) {
  json one = plan("staged");
  one["pattern"]["kills"] = 1;
  EXPECT_THROW(repeated(one), std::runtime_error);
}

}  // namespace
}  // namespace tierscope
