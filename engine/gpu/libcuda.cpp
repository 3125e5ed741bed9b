// CUDA's driver of this machine; tests put another one in its place.
#include <dlfcn.h>

#include "gpu/driver.h"

namespace tierscope {

const Driver& loaded_driver() {
  static const Driver driver = [] {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return library == nullptr
               ? Driver{}
               : find_functions([library](const char* name) { return dlsym(library, name); });
  }();
  return driver;
}

}  // namespace tierscope
