// What the backends of cuFile have in common.
#pragma once

#include <memory>
#include <vector>

#include "gpu/cufile.h"
#include "gpu/cufile_files.h"
#include "gpu/device.h"
#include "storage/backend.h"

namespace tierscope {

// cuFile, its files, and the GPU that is the thread's current one meanwhile.
class CufileUse {
 public:
  explicit CufileUse(const ThreadIo& io);

  const Cufile& library() const { return library_; }
  cufile_abi::Handle handle(const IoRequest& operation) const {
    return files_[static_cast<std::size_t>(operation.file)]->handle();
  }
  std::byte* base(const IoRequest& operation) const { return buffers_[operation.slot]; }

  // What an operation returned, as backends report it: bytes or -errno. Throws Failure for errors
  // that are cuFile's own.
  static std::int64_t result(ssize_t returned, int error_number, const IoRequest& operation);

 private:
  const Cufile& library_;
  OnGpu on_gpu_;
  std::span<std::byte* const> buffers_;
  std::vector<std::unique_ptr<CufileFile>> files_;
};

}  // namespace tierscope
