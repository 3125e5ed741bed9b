// The door to cuFile: opening, refusing, hanging, and what its errors mean.
#include "gpu/cufile.h"

#include <cufile.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "gpu/cufile_errors.h"
#include "gpu/cufile_fixture.h"
#include "gpu/watchdog.h"

namespace tierscope {
namespace {

namespace abi = cufile_abi;

static_assert(sizeof(abi::FileDescription) == sizeof(CUfileDescr_t));
static_assert(sizeof(abi::DriverProperties) == sizeof(CUfileDrvProps_t));
static_assert(offsetof(abi::DriverProperties, max_batch) ==
              offsetof(CUfileDrvProps_t, max_batch_io_size));
static_assert(sizeof(abi::BatchOperation) == sizeof(CUfileIOParams_t));
static_assert(offsetof(abi::BatchOperation, cookie) == offsetof(CUfileIOParams_t, cookie));
static_assert(sizeof(abi::BatchEvent) == sizeof(CUfileIOEvents_t));

TEST_F(StorageToGpu, EveryErrorCodeHasALineAndARemedy) {
#define CUFILE_OP(code, name, text)                                                        \
  if ((code) != 0) {                                                                       \
    EXPECT_EQ(describe_cufile(code).find("unknown"), std::string::npos) << #name;          \
    EXPECT_NE(refusal([] { refuse_cufile({(code), 0}, "x"); }).find(std::to_string(code)), \
              std::string::npos);                                                          \
  }
  CUFILEOP_STATUS_ENTRIES
#undef CUFILE_OP
  EXPECT_EQ(describe_cufile(5999), "cuFile error 5999: unknown to this version");
}

TEST_F(StorageToGpu, WithoutCudasDriverCufileIsNotOpened) {
  fake_cuda::set({.driver = 0});
  EXPECT_NE(refusal([] { open_cufile(0); }).find("gpu: no NVIDIA driver (libcuda.so.1) was found"),
            std::string::npos);
  EXPECT_EQ(fake().seen.driver_opens, 0);
}

// What a new process says that opens cuFile.
void say_and_exit() {
  std::fprintf(stderr, "%s\n", refusal([] { open_cufile(0); }).c_str());
  std::exit(0);
}

TEST_F(StorageToGpu, AMissingLibraryIsNamedWithWhatToInstall) {
  EXPECT_EXIT(
      {
        setenv("TIERSCOPE_CUFILE", "/nowhere", 1);
        say_and_exit();
      },
      ::testing::ExitedWithCode(0),
      "tool: libcufile.so.0 was not found in TIERSCOPE_CUFILE=/nowhere; install it with");
}

TEST_F(StorageToGpu, APackagesLibraryServesWhereTheSystemHasNone) {
  EXPECT_EXIT(
      {
        unsetenv("TIERSCOPE_CUFILE");
        setenv("TIERSCOPE_CUFILE_PACKAGE", FAKE_CUFILE, 1);
        open_cufile(0);
        setenv("TIERSCOPE_CUFILE", FAKE_CUFILE, 1);
        std::exit(fake().seen.driver_opens == 1 ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

// Each version of the fake has the functions that the real one has.
TEST_F(StorageToGpu, EveryVersionFrom111OnServesAllBackends) {
  for (const char* version : {"1110", "1120", "1140", "1150"}) {
    EXPECT_EXIT(
        {
          use_version(version);
          for (const BackendKind& kind : backend_kinds()) {
            if (kind.gpu) EXPECT_EQ(Going(file_, {std::string(kind.name)}).read(), contents_);
          }
          const Cufile& library = open_cufile(1);
          std::fprintf(stderr, "%d: counts %d, allowed %d\n", library.version, library.counts,
                       fake().seen.allow_compat);
          std::exit(::testing::Test::HasFailure() ? 1 : 0);
        },
        ::testing::ExitedWithCode(0),
        std::string(version) + ": counts " + (std::string(version) == "1150" ? "1" : "0") +
            ", allowed 1");
  }
}

TEST_F(StorageToGpu, ADriverThatDoesNotOpenSaysWhatToDo) {
  EXPECT_EXIT(
      {
        fake().machine.open_error = 5001;
        setenv("CUFILE_ALLOW_COMPAT_MODE", "false", 1);
        say_and_exit();
      },
      ::testing::ExitedWithCode(0),
      "cuFile's driver cannot be opened: cuFile error 5001: no GPUDirect way is open.*"
      "CUFILE_ALLOW_COMPAT_MODE=true");
  EXPECT_EXIT(
      {
        fake().machine.open_error = 5033;
        say_and_exit();
      },
      ::testing::ExitedWithCode(0), "cuFile error 5033: the driver nvidia-fs cannot be set up");
}

TEST_F(StorageToGpu, AHangEndsTheProcessWithALine) {
  for (const char* call : {"cuFileDriverOpen", "cuFileHandleRegister", "cuFileRead"}) {
    EXPECT_EXIT(
        {
          set_hang_limit(0.2);
          fake().machine.hangs_in = call;
          Going(file_, {.backend = "cufile"}).read();
          std::exit(0);
        },
        ::testing::ExitedWithCode(kHangStatus), std::string(call) + " has not returned for");
  }
  EXPECT_EXIT(
      {
        set_hang_limit(0.2);
        fake().machine.hangs_in = "cuFileBatchIOSubmit";
        Going(file_, {.backend = "cufile-batch"}).read();
        std::exit(0);
      },
      ::testing::ExitedWithCode(kHangStatus), "cuFileBatchIOSubmit has not returned for");
}

TEST_F(StorageToGpu, CompatModeIsSaidExplicitlyAndTheEnvironmentDecides) {
  EXPECT_EXIT(
      {
        open_cufile(0);
        std::fprintf(stderr, "%d %s %d\n", fake().seen.allow_compat,
                     cufile_settings().set_by.c_str(), fake().seen.driver_opens);
        open_cufile(1);
        std::exit(fake().seen.driver_opens == 1 ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "1 tierscope 1");
  EXPECT_EXIT(
      {
        setenv("CUFILE_ALLOW_COMPAT_MODE", "false", 1);
        open_cufile(0);
        std::fprintf(stderr, "%d %s\n", fake().seen.allow_compat, cufile_settings().set_by.c_str());
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "0 CUFILE_ALLOW_COMPAT_MODE");
}

// In the directory that a user happens to be in, cuFile's log would be a surprise; and so would a
// folder that stays although nothing was logged.
TEST_F(StorageToGpu, TheLogGoesToAFolderOfItsOwn) {
  const auto in_folder = [](bool logs) {
    setenv("TMPDIR", ::testing::TempDir().c_str(), 1);
    unsetenv("CUFILE_LOGFILE_PATH");
    open_cufile(0);
    std::ofstream(getenv("CUFILE_LOGFILE_PATH")) << (logs ? "an error\n" : "");
    std::fprintf(stderr, "%s\n", cufile_settings().log.c_str());
    std::exit(cufile_settings().log == getenv("CUFILE_LOGFILE_PATH") ? 0 : 1);
  };
  const auto folders = [] {
    std::vector<std::filesystem::path> found;
    for (const auto& one : std::filesystem::directory_iterator(::testing::TempDir())) {
      if (one.path().filename().string().starts_with("tierscope-cufile-")) {
        found.push_back(one.path());
      }
    }
    return found;
  };
  for (const auto& folder : folders()) std::filesystem::remove_all(folder);
  EXPECT_EXIT(in_folder(false), ::testing::ExitedWithCode(0), "/tierscope-cufile-[^/]+/cufile.log");
  EXPECT_TRUE(folders().empty());
  EXPECT_EXIT(in_folder(true), ::testing::ExitedWithCode(0), "/tierscope-cufile-");
  ASSERT_EQ(folders().size(), 1);
  EXPECT_TRUE(std::filesystem::exists(folders()[0] / "cufile.log"));
  std::filesystem::remove_all(folders()[0]);
}

TEST_F(StorageToGpu, AVolumeThatUdevDoesNotKnowIsExplained) {
  const std::string udev = ::testing::TempDir() + "udev-data";
  std::filesystem::remove_all(udev);
  const auto say = [&](const char* volume, const char* type) {
    return refusal([&] { throw unregistered_file("/data/x", volume, type, udev); });
  };
  const std::string said = say("254:0", "xfs");
  EXPECT_NE(said.find("cuFile refuses /data/x (error 5027): udev's database does not say"),
            std::string::npos);
  EXPECT_NE(said.find("mkdir -p " + udev +
                      "; printf 'I:1\\nE:ID_FS_USAGE=filesystem\\nE:ID_FS_TYPE=xfs\\n' > " + udev +
                      "/b254:0"),
            std::string::npos)
      << said;
  EXPECT_NE(say("0:27", "tmpfs").find("it takes no file on tmpfs"), std::string::npos);
  // The remedy's own effect.
  const std::size_t command = said.find("mkdir -p");
  ASSERT_EQ(std::system(said.substr(command).c_str()), 0);
  EXPECT_NE(say("254:0", "xfs").find("it takes no file on xfs"), std::string::npos);
  std::filesystem::remove_all(udev);
}

}  // namespace
}  // namespace tierscope
