// pread and pwrite: one system call, one operation.
#include <unistd.h>

#include <cerrno>

#include "storage/backend.h"

namespace tierscope {
namespace {

class Posix : public SynchronousBackend {
 public:
  using SynchronousBackend::SynchronousBackend;

 private:
  std::int64_t carry_out(const IoRequest& operation) override {
    const int fd = io_.files[static_cast<std::size_t>(operation.file)];
    std::byte* const buffer = io_.buffers[operation.slot];
    const auto offset = static_cast<off_t>(operation.offset);
    while (true) {
      const ssize_t moved = operation.write ? pwrite(fd, buffer, operation.bytes, offset)
                                            : pread(fd, buffer, operation.bytes, offset);
      if (moved >= 0) return moved;
      if (errno != EINTR) return -errno;
    }
  }
};

}  // namespace

std::unique_ptr<Backend> make_posix(const ThreadIo& io) { return std::make_unique<Posix>(io); }

}  // namespace tierscope
