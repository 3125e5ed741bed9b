// System calls that make one operation each, with the caller waiting for it.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "errors.h"
#include "storage/backend.h"
#include "storage/descriptor.h"

namespace tierscope {
namespace {

using Buffer = std::byte*;

// Their results are those of the system calls: bytes, or -1 with errno.
struct Positioned {
  static ssize_t move(int fd, const IoRequest& operation, Buffer buffer) {
    const auto offset = static_cast<off_t>(operation.offset);
    return operation.write ? pwrite(fd, buffer, operation.bytes, offset)
                           : pread(fd, buffer, operation.bytes, offset);
  }
};

struct Seeking {
  static ssize_t move(int fd, const IoRequest& operation, Buffer buffer) {
    if (lseek(fd, static_cast<off_t>(operation.offset), SEEK_SET) < 0) return -1;
    return operation.write ? write(fd, buffer, operation.bytes) : read(fd, buffer, operation.bytes);
  }
};

struct Vectored {
  static ssize_t move(int fd, const IoRequest& operation, Buffer buffer) {
    const iovec vector{buffer, operation.bytes};
    const auto offset = static_cast<off_t>(operation.offset);
    return operation.write ? pwritev(fd, &vector, 1, offset) : preadv(fd, &vector, 1, offset);
  }
};

struct VectoredWithFlags {
  static ssize_t move(int fd, const IoRequest& operation, Buffer buffer) {
    const iovec vector{buffer, operation.bytes};
    const auto offset = static_cast<off_t>(operation.offset);
    return operation.write ? pwritev2(fd, &vector, 1, offset, 0)
                           : preadv2(fd, &vector, 1, offset, 0);
  }
};

template <typename Call>
class SystemCall : public SynchronousBackend {
 public:
  using SynchronousBackend::SynchronousBackend;

 private:
  std::int64_t carry_out(const IoRequest& operation) override {
    const int fd = io_.files[static_cast<std::size_t>(operation.file)];
    while (true) {
      const ssize_t moved = Call::move(fd, operation, io_.buffers[operation.slot]);
      if (moved >= 0) return moved;
      if (errno != EINTR) return -errno;
    }
  }
};

// Through a pipe: reads are spliced into it and copied out of it, writes take the buffer's pages.
class Splice : public SynchronousBackend {
 public:
  explicit Splice(const ThreadIo& io) : SynchronousBackend(io) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw Unavailable(Cause::kStorage, "no pipe can be had");
    out_ = Descriptor(ends[0]);
    in_ = Descriptor(ends[1]);
  }

 private:
  std::int64_t carry_out(const IoRequest& operation) override {
    const int fd = io_.files[static_cast<std::size_t>(operation.file)];
    auto offset = static_cast<loff_t>(operation.offset);
    std::byte* buffer = io_.buffers[operation.slot];
    std::size_t left = operation.bytes;
    while (left > 0) {
      const std::int64_t moved = operation.write ? write_part(fd, &offset, buffer, left)
                                                 : read_part(fd, &offset, buffer, left);
      if (moved < 0) return moved;
      if (moved == 0) break;
      buffer += moved;
      left -= static_cast<std::size_t>(moved);
    }
    return static_cast<std::int64_t>(operation.bytes - left);
  }

  std::int64_t read_part(int fd, loff_t* offset, Buffer buffer, std::size_t bytes) const {
    const ssize_t moved = retried([&] {
      return splice(fd, offset, in_.get(), nullptr, std::min(bytes, kPipeBytes), SPLICE_F_MOVE);
    });
    for (ssize_t taken = 0; taken < moved;) {
      const iovec vector{buffer + taken, static_cast<std::size_t>(moved - taken)};
      const ssize_t got = retried([&] { return vmsplice(out_.get(), &vector, 1, 0); });
      if (got <= 0) return got;
      taken += got;
    }
    return moved;
  }

  std::int64_t write_part(int fd, loff_t* offset, Buffer buffer, std::size_t bytes) const {
    const iovec vector{buffer, std::min(bytes, kPipeBytes)};
    const ssize_t moved = retried([&] { return vmsplice(in_.get(), &vector, 1, 0); });
    for (ssize_t written = 0; written < moved;) {
      const ssize_t got = retried([&] {
        return splice(out_.get(), nullptr, fd, offset, static_cast<std::size_t>(moved - written),
                      SPLICE_F_MOVE);
      });
      if (got <= 0) return got;
      written += got;
    }
    return moved;
  }

  template <typename Function>
  static ssize_t retried(const Function& call) {
    while (true) {
      const ssize_t result = call();
      if (result >= 0) return result;
      if (errno != EINTR) return -errno;
    }
  }

  static constexpr std::size_t kPipeBytes = 64U << 10;
  Descriptor out_;
  Descriptor in_;
};

// Does nothing, so that what is measured is the cost of everything else.
class Null : public SynchronousBackend {
 public:
  using SynchronousBackend::SynchronousBackend;
  void sync(int /*file*/, bool /*data_only*/) override {}

 private:
  std::int64_t carry_out(const IoRequest& operation) override { return operation.bytes; }
};

// Ends the file where the operation begins: it grows by a hole, or shrinks. It is as long as before
// in the end.
class Truncate : public SynchronousBackend {
 public:
  explicit Truncate(const ThreadIo& io) : SynchronousBackend(io) {
    for (const int fd : io_.files) {
      struct stat found{};
      if (fstat(fd, &found) != 0 || !S_ISREG(found.st_mode)) {
        throw Unavailable(Cause::kStorage, "only files can be truncated", "name a file");
      }
      sizes_.push_back(found.st_size);
    }
  }
  ~Truncate() override {
    for (std::size_t file = 0; file < sizes_.size(); ++file) {
      [[maybe_unused]] const int failed = ftruncate(io_.files[file], sizes_[file]);
    }
  }

 private:
  std::int64_t carry_out(const IoRequest& operation) override {
    const int fd = io_.files[static_cast<std::size_t>(operation.file)];
    while (ftruncate(fd, static_cast<off_t>(operation.offset)) != 0) {
      if (errno != EINTR) return -errno;
    }
    return operation.bytes;
  }

  std::vector<off_t> sizes_;
};

// Reserves or frees the blocks below a range of a file; what it holds there becomes zeros where
// they are freed. Modes as of fallocate(2).
template <int kMode>
class Allocate : public SynchronousBackend {
 public:
  using SynchronousBackend::SynchronousBackend;

 private:
  std::int64_t carry_out(const IoRequest& operation) override {
    const int fd = io_.files[static_cast<std::size_t>(operation.file)];
    while (fallocate(fd, kMode, static_cast<off_t>(operation.offset), operation.bytes) != 0) {
      if (errno != EINTR) return -errno;
    }
    return operation.bytes;
  }
};

template <typename Made>
std::unique_ptr<Backend> made(const ThreadIo& io) {
  return std::make_unique<Made>(io);
}

}  // namespace

std::unique_ptr<Backend> make_posix(const ThreadIo& io) { return made<SystemCall<Positioned>>(io); }
std::unique_ptr<Backend> make_sync(const ThreadIo& io) { return made<SystemCall<Seeking>>(io); }
std::unique_ptr<Backend> make_pvsync(const ThreadIo& io) { return made<SystemCall<Vectored>>(io); }
std::unique_ptr<Backend> make_pvsync2(const ThreadIo& io) {
  return made<SystemCall<VectoredWithFlags>>(io);
}
std::unique_ptr<Backend> make_splice(const ThreadIo& io) { return made<Splice>(io); }
std::unique_ptr<Backend> make_ftruncate(const ThreadIo& io) { return made<Truncate>(io); }
std::unique_ptr<Backend> make_fallocate(const ThreadIo& io) { return made<Allocate<0>>(io); }
std::unique_ptr<Backend> make_fallocate_keep(const ThreadIo& io) {
  return made<Allocate<FALLOC_FL_KEEP_SIZE>>(io);
}
std::unique_ptr<Backend> make_punch_hole(const ThreadIo& io) {
  return made<Allocate<FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE>>(io);
}
std::unique_ptr<Backend> make_null(const ThreadIo& io) { return made<Null>(io); }

}  // namespace tierscope
