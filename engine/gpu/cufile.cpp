#include "gpu/cufile.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <mutex>
#include <vector>

#include "errors.h"
#include "gpu/cufile_errors.h"
#include "gpu/device.h"
#include "gpu/watchdog.h"
#include "sampling/clock.h"

namespace tierscope {
namespace {

constexpr const char* kLibrary = "libcufile.so.0";
constexpr const char* kLogVariable = "CUFILE_LOGFILE_PATH";
constexpr const char* kCompatVariable = "CUFILE_ALLOW_COMPAT_MODE";
constexpr const char* kOldest = "1.11";  // Has all functions that `need` names below.

// Where cuFile's log goes: into the current directory, unless its environment says otherwise. A
// folder of our own is made for it; finish() removes it where nothing was logged.
class Log {
 public:
  Log() {
    if (const char* given = std::getenv(kLogVariable)) {
      path_ = given;
      return;
    }
    std::string folder = std::filesystem::temp_directory_path() / "tierscope-cufile-XXXXXX";
    if (mkdtemp(folder.data()) == nullptr) {
      throw Unavailable(Cause::kPermission,
                        fmt::format("no folder for cuFile's log can be made: {}", folder),
                        fmt::format("set {} to a file that can be written", kLogVariable));
    }
    folder_ = folder;
    path_ = folder + "/cufile.log";
    setenv(kLogVariable, path_.c_str(), 1);
  }
  void finish() const {
    std::error_code ignored;
    if (folder_.empty()) return;
    if (std::filesystem::file_size(path_, ignored) == 0) std::filesystem::remove(path_, ignored);
    std::filesystem::remove(folder_, ignored);  // Unless there is something in it.
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::string folder_;
};

void* open_library() {
  std::vector<std::string> places;
  if (const char* given = std::getenv("TIERSCOPE_CUFILE")) {
    places.push_back(fmt::format("{}/{}", given, kLibrary));
    places.emplace_back(given);
  } else {
    places.emplace_back(kLibrary);
    for (const char* folder : {"lib64", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"}) {
      places.push_back(fmt::format("/usr/local/cuda/{}/{}", folder, kLibrary));
    }
    if (const char* package = std::getenv("TIERSCOPE_CUFILE_PACKAGE")) {
      places.push_back(fmt::format("{}/{}", package, kLibrary));
    }
  }
  for (const std::string& place : places) {
    if (void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

template <typename Function>
bool resolve(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

Cufile load_cufile() {
  Cufile found;
  void* library = open_library();
  if (library == nullptr) {
    const char* given = std::getenv("TIERSCOPE_CUFILE");
    found.missing = given == nullptr
                        ? fmt::format("{} was not found", kLibrary)
                        : fmt::format("{} was not found in TIERSCOPE_CUFILE={}", kLibrary, given);
    return found;
  }
  const auto need = [&](const char* name, auto& function) {
    if (!resolve(library, name, function)) {
      found.missing = fmt::format("this {} has no {}: it is too old, {} or newer is needed",
                                  kLibrary, name, kOldest);
    }
  };
  need("cuFileGetVersion", found.get_version);
  need("cuFileDriverOpen", found.open_driver);
  need("cuFileDriverGetProperties", found.get_properties);
  need("cuFileHandleRegister", found.register_handle);
  need("cuFileHandleDeregister", found.deregister_handle);
  need("cuFileBufRegister", found.register_buffer);
  need("cuFileBufDeregister", found.deregister_buffer);
  need("cuFileRead", found.read);
  need("cuFileWrite", found.write);
  need("cuFileReadAsync", found.read_async);
  need("cuFileWriteAsync", found.write_async);
  need("cuFileStreamRegister", found.register_stream);
  need("cuFileStreamDeregister", found.deregister_stream);
  need("cuFileBatchIOSetUp", found.set_up_batch);
  need("cuFileBatchIOSubmit", found.submit_batch);
  need("cuFileBatchIOGetStatus", found.batch_status);
  resolve(library, "cuFileGetParameterPosixPoolSlabArray", found.get_pool);
  found.counts = resolve(library, "cuFileSetStatsLevel", found.set_statistics_level) &&
                 resolve(library, "cuFileStatsStart", found.start_statistics) &&
                 resolve(library, "cuFileGetStatsL1", found.get_statistics1) &&
                 resolve(library, "cuFileGetStatsL3", found.get_statistics3);
  if (found.missing.empty()) found.get_version(&found.version);
  return found;
}

// The documents differ in its default, so that it is always said; by the variable, which all
// versions read, and which counts before cufile.json.
CufileSettings choose_settings(const std::string& log) {
  CufileSettings settings;
  settings.log = log;
  const char* given = std::getenv(kCompatVariable);
  settings.set_by = given == nullptr ? "tierscope" : kCompatVariable;
  const std::string_view value = given == nullptr ? "true" : given;
  settings.allow_compat_mode = value != "false" && value != "0";
  setenv(kCompatVariable, settings.allow_compat_mode ? "true" : "false", 1);
  return settings;
}

CufileSettings start(const Cufile& library, CufileSettings settings) {
  if (library.counts) library.set_statistics_level(3);
  const double before = now_seconds();
  const cufile_abi::Error error = [&] {
    const WatchedCall watched("cuFileDriverOpen");
    return library.open_driver();
  }();
  settings.driver_open_s = now_seconds() - before;
  if (error.code != 0) refuse_cufile(error, "cuFile's driver cannot be opened");
  if (library.counts) library.start_statistics();
  // Read once: calls of several threads at once end the process (double free or segmentation fault
  // in cuFileDriverGetProperties, 1.15).
  cufile_abi::DriverProperties properties{};
  library.get_properties(&properties);
  settings.batch_entries = properties.max_batch == 0 ? 128 : properties.max_batch;
  return settings;
}

// Ends the process before libcufile does, which closes its driver at its own end, when CUDA's may
// be gone: a segmentation fault or a double free for others (NVIDIA/cudf#17121,
// rapidsai/kvikio#497).
void leave(int status, void* log) {
  static_cast<const Log*>(log)->finish();
  std::cout.flush();
  std::fflush(nullptr);
  _exit(status);
}

std::atomic<double> registration_s{0};

// Null until cuFile's driver was started.
std::unique_ptr<CufileSettings>& started() {
  static std::unique_ptr<CufileSettings> settings;
  return settings;
}

}  // namespace

std::string Cufile::release() const {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

const Cufile& open_cufile(int gpu) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  require_gpu(gpu);
  static Log log;  // Before the library, which reads its environment.
  static const CufileSettings chosen = choose_settings(log.path());
  static const Cufile library = load_cufile();
  if (!library.missing.empty()) {
    log.finish();
    throw Unavailable(Cause::kTool, library.missing,
                      "install it with the CUDA toolkit or by `pip install nvidia-cufile`, or set "
                      "TIERSCOPE_CUFILE to its folder");
  }
  if (!started()) {
    on_exit(leave, &log);
    const OnGpu on(gpu);
    started() = std::make_unique<CufileSettings>(start(library, chosen));
    on_exit(leave, &log);  // Before whatever the driver has put there, too.
  }
  return library;
}

const CufileSettings& cufile_settings() { return *started(); }

RegistrationTime::RegistrationTime() : begin_(now_seconds()) {}
RegistrationTime::~RegistrationTime() { registration_s += now_seconds() - begin_; }
double RegistrationTime::take() { return registration_s.exchange(0); }

}  // namespace tierscope
