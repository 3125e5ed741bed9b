#include "gpu/cupti.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace tierscope {
namespace {

// Records are laid out by CUPTI's major version, so only the one of our headers will do.
std::string library_name() { return fmt::format("libcupti.so.{}", CUDA_VERSION / 1000); }

void* open_library() {
  std::vector<std::string> places{library_name()};
  if (const char* folder = std::getenv("TIERSCOPE_CUPTI")) {
    places.insert(places.begin(), fmt::format("{}/{}", folder, library_name()));
  }
  for (const char* folder :
       {"extras/CUPTI/lib64", "lib64", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"}) {
    places.push_back(fmt::format("/usr/local/cuda/{}/{}", folder, library_name()));
  }
  for (const std::string& place : places) {
    if (void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

template <typename Function>
void resolve(void* library, const char* name, Function& function, std::string& missing) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) missing = fmt::format("this {} has no {}", library_name(), name);
}

Cupti load_cupti() {
  Cupti found;
  void* library = open_library();
  if (library == nullptr) {
    found.missing = library_name() + " was not found";
    return found;
  }
  resolve(library, "cuptiActivityRegisterCallbacks", found.register_callbacks, found.missing);
  resolve(library, "cuptiActivityEnable", found.enable, found.missing);
  resolve(library, "cuptiActivityDisable", found.disable, found.missing);
  resolve(library, "cuptiActivityFlushAll", found.flush, found.missing);
  resolve(library, "cuptiActivityGetNextRecord", found.next_record, found.missing);
  resolve(library, "cuptiGetCallbackName", found.callback_name, found.missing);
  return found;
}

}  // namespace

const Cupti& cupti() {
  static const Cupti library = load_cupti();
  return library;
}

}  // namespace tierscope
