// The kind kv-cache with its pool on a GPU, on a fake CUDA and a fake cuFile.
#include <set>

#include "gpu/cufile_fixture.h"
#include "gpu/gpu_kinds.h"
#include "scratch_directory.h"

namespace tierscope {
namespace {

using nlohmann::json;

class KvCacheOfGpu : public StorageToGpu {
 protected:
  static json plan(const std::string& operation, const std::string& method) {
    return {{"cpus", {0}},
            {"sampling", {{"budget_s", 0.02}}},
            {"pool", {{"memory", "device"}, {"gpu", 1}}},
            {"placement", {{"policy", "bind"}, {"nodes", json::array({{{"node", 0}}})}}},
            {"pattern",
             {{"operation", operation},
              {"method", method},
              {"piece", 1040},
              {"pieces", 9},
              {"objects", 4}}}};
  }
  json in_file(const std::string& operation, const std::string& backend) const {
    json one = plan(operation, "kernel");
    one["directory"] = folder_.path();
    one["pattern"]["backend"] = backend;
    one["pattern"]["direct"] = false;
    if (backend == "io_uring") one["pattern"]["depth"] = 3;
    return one;
  }
  static Repetition repeated(const json& plan) {
    return Repeated("kv-cache", plan).repetition(false, 3);
  }

  ScratchDirectory folder_;
};

TEST_F(KvCacheOfGpu, EveryMethodBringsAllPiecesToTheirPlaces) {
  for (const char* operation : {"fetch", "store"}) {
    for (const char* method : {"copy-engine", "batch", "kernel"}) {
      SCOPED_TRACE(std::string(operation) + " " + method);
      const Repetition repetition = repeated(plan(operation, method));
      EXPECT_EQ(repetition.evidence["verified"].get<std::string>().substr(0, 10), "36 pieces ");
      EXPECT_EQ(repetition.evidence["gpus"][0]["gpu"], 1);
      EXPECT_EQ(repetition.evidence.contains("grid_blocks"), std::string_view(method) == "kernel");
    }
  }
}

TEST_F(KvCacheOfGpu, FilesGoThroughTheHostOrPastIt) {
  for (const char* operation : {"fetch", "store"}) {
    for (const char* backend : {"io_uring", "cufile"}) {
      SCOPED_TRACE(std::string(operation) + " " + backend);
      const Repetition repetition = repeated(in_file(operation, backend));
      const int transfers = repetition.evidence["kv_cache"]["transfers"];
      EXPECT_GE(transfers, 2);
      const json& asked = repetition.evidence["storage_io"];
      const int objects = in_file(operation, backend)["pattern"]["objects"];
      EXPECT_EQ(asked[std::string_view(operation) == "fetch" ? "reads" : "writes"],
                transfers * objects);
      EXPECT_EQ(asked.contains("ways"), std::string_view(backend) == "cufile");
    }
  }
}

TEST_F(KvCacheOfGpu, ADriverWithoutBatchesIsNamed) {
  fake_cuda::set({.driver = 12060});
  EXPECT_EQ(refusal([] { repeated(plan("fetch", "batch")); }),
            "gpu-feature: the NVIDIA driver, for CUDA 12.6, has no cuMemcpyBatchAsync: that came "
            "with CUDA 12.8; install NVIDIA driver 570 or newer, or use another method");
  EXPECT_NO_THROW(repeated(plan("fetch", "copy-engine")));
}

TEST_F(KvCacheOfGpu, APieceThatDoesNotComeIsFound) {
  for (const char* method : {"copy-engine", "kernel"}) {
    SCOPED_TRACE(method);
    fake_cuda::set({.copies = [copies = 0]() mutable { return ++copies % 5 != 0; }});
    EXPECT_EQ(refusal([&] { repeated(plan("fetch", method)); }).substr(0, 12), "verification");
  }
}

TEST_F(KvCacheOfGpu, AKernelTakesAsManyMultiprocessorsAsItIsGiven) {
  std::set<int> grids;
  fake_cuda::set({.launched = [&grids](int blocks) { grids.insert(blocks); }});
  json one = plan("fetch", "kernel");
  one["pattern"]["multiprocessors"] = 2;
  EXPECT_EQ(repeated(one).evidence["grid_blocks"], 2);
  EXPECT_EQ(grids, std::set<int>{2});
}

}  // namespace
}  // namespace tierscope
