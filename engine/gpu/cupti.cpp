#include "gpu/cupti.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

namespace tierscope {
namespace {

// What we read of records is laid out alike in these.
constexpr std::array<const char*, 2> kNames{"libcupti.so.13", "libcupti.so.12"};

void* open_library() {
  std::vector<std::string> folders{""};
  if (const char* folder = std::getenv("TIERSCOPE_CUPTI")) {
    folders.insert(folders.begin(), fmt::format("{}/", folder));
  }
  for (const char* folder :
       {"extras/CUPTI/lib64", "lib64", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"}) {
    folders.push_back(fmt::format("/usr/local/cuda/{}/", folder));
  }
  for (const std::string& folder : folders) {
    for (const char* name : kNames) {
      if (void* library = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    }
  }
  return nullptr;
}

template <typename Function>
void resolve(void* library, const char* name, Function& function, std::string& missing) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) missing = fmt::format("this libcupti.so has no {}", name);
}

Cupti load_cupti() {
  Cupti found;
  void* library = open_library();
  if (library == nullptr) {
    found.missing = fmt::format("neither {} nor {} was found", kNames[0], kNames[1]);
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
