#include "gpu/cufile_files.h"

#include <map>
#include <mutex>

#include "gpu/cufile_errors.h"
#include "gpu/watchdog.h"

namespace tierscope {
namespace {

struct Registered {
  cufile_abi::Handle handle = nullptr;
  int users = 0;
};

struct Files {
  std::mutex mutex;
  std::map<int, Registered> by_descriptor;
};

Files& files() {
  static auto& it = *new Files;  // Never destroyed: threads may outlive main().
  return it;
}

cufile_abi::Handle register_file(const Cufile& library, int descriptor) {
  cufile_abi::FileDescription description{};
  description.type = cufile_abi::kTypeOfDescriptor;
  description.handle.descriptor = descriptor;
  cufile_abi::Handle handle = nullptr;
  const RegistrationTime timed;
  const WatchedCall watched("cuFileHandleRegister");
  const cufile_abi::Error error = library.register_handle(&handle, &description);
  if (error.code != 0) refuse_cufile_file(error, descriptor);
  return handle;
}

}  // namespace

CufileFile::CufileFile(const Cufile& library, int descriptor)
    : library_(library), descriptor_(descriptor) {
  const std::lock_guard lock(files().mutex);
  Registered& file = files().by_descriptor[descriptor];
  if (file.users == 0) file.handle = register_file(library, descriptor);
  ++file.users;
  handle_ = file.handle;
}

CufileFile::~CufileFile() {
  const std::lock_guard lock(files().mutex);
  Registered& file = files().by_descriptor[descriptor_];
  if (--file.users > 0) return;
  library_.deregister_handle(handle_);
  files().by_descriptor.erase(descriptor_);
}

}  // namespace tierscope
