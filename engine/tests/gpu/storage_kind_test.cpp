// The kind io with a GPU, from plan to evidence, on a fake CUDA and a fake cuFile.
#include <filesystem>

#include "gpu/cufile_fixture.h"
#include "gpu/gpu_kinds.h"
#include "scratch_directory.h"

namespace tierscope {
namespace {

using fake_cufile::Way;
using nlohmann::json;

class IoOfGpu : public StorageToGpu {
 protected:
  json plan(const std::string& backend, const std::string& memory = "device") const {
    return {{"sampling", {{"budget_s", 0.1}, {"sample_s", 0.02}}},
            {"jobs",
             {{{"cpus", {0}},
               {"buffers", {{"memory", memory}, {"gpu", 1}}},
               {"files", {{"directory", folder_.path()}, {"size", kFileBytes}}}}}},
            {"pattern",
             {{"operation", "read"},
              {"block_size", 16 << 10},
              {"backend", backend},
              {"direct", false}}}};
  }
  static Repetition repeated(const json& plan) { return Repeated("io", plan).repetition(false, 3); }

  ScratchDirectory folder_;
};

TEST_F(IoOfGpu, EveryBackendIsVerified) {
  for (const BackendKind& kind : backend_kinds()) {
    if (!kind.gpu) continue;
    SCOPED_TRACE(std::string(kind.name));
    json one = plan(std::string(kind.name), kind.name == "staged-managed" ? "managed" : "device");
    one["pattern"]["verify"] = true;
    if (!kind.synchronous) one["pattern"]["depth"] = 4;
    EXPECT_EQ(repeated(one).evidence.value("verified", ""), "every block read, by the GPU");
    one["pattern"]["operation"] = "write";
    const std::string verified = repeated(one).evidence.value("verified", "");
    EXPECT_NE(verified.find("blocks written were read back"), std::string::npos) << verified;
  }
}

// The GPU's own copy of the data is what is checked.
TEST_F(IoOfGpu, DataThatDoesNotArriveIsFound) {
  json one = plan("staged");
  one["pattern"]["verify"] = true;
  fake_cuda::set({.copies = [copies = 0]() mutable { return ++copies % 2 == 0; }});
  EXPECT_EQ(refusal([&] { repeated(one); }).substr(0, 12), "verification");
}

TEST_F(IoOfGpu, TheWayIsInTheEvidenceAndRequired) {
  fake().machine.way = Way::kNvfs;
  json one = plan("cufile");
  one["pattern"]["require"] = "gpudirect";
  const Repetition repetition = repeated(one);
  const auto ways = repetition.evidence["storage_io"]["ways"];
  EXPECT_GE(ways["nvfs"].get<std::uint64_t>(),
            repetition.evidence["storage_io"]["reads"].get<std::uint64_t>());
  EXPECT_EQ(ways["posix"], 0);
  EXPECT_EQ(repetition.evidence["cufile"]["version"], "1.15");
  EXPECT_EQ(repetition.evidence["gpus"][0]["gpu"], 1);
  fake().machine.way = Way::kPosix;
  EXPECT_EQ(refusal([&] { repeated(one); }).find("path: --require gpudirect: 0 of"), 0);
}

TEST_F(IoOfGpu, MixesHaveRegisteredBuffersOfTheirOwn) {
  json one = plan("cufile-batch");
  one["pattern"].update({{"operation", "mix"},
                         {"read_percent", 50},
                         {"order", "random"},
                         {"depth", 8},
                         {"registered", true}});
  EXPECT_TRUE(repeated(one).evidence.contains("verified"));
  EXPECT_EQ(fake().seen.buffers, 0);
}

TEST_F(IoOfGpu, NoFileIsMadeForAGpuThatIsNotThere) {
  fake_cuda::set({.driver = 0});
  EXPECT_EQ(refusal([&] { repeated(plan("staged")); }).substr(0, 4), "gpu:");
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(IoOfGpu, ManagedWaysNeedManagedMemory) {
  EXPECT_THROW(repeated(plan("staged-managed")), std::runtime_error);
}

}  // namespace
}  // namespace tierscope
