#include "storage/backend.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "errors.h"
#include "storage/gpu_io.h"

namespace tierscope {

void Backend::sync(int file, bool data_only) {
  const int fd = io_.files[static_cast<std::size_t>(file)];
  const int failed = data_only ? fdatasync(fd) : fsync(fd);
  if (failed != 0) {
    throw Failure(fmt::format("{} failed: {}", data_only ? "fdatasync" : "fsync", strerror(errno)),
                  Cause::kStorage);
  }
}

void SynchronousBackend::submit(std::span<const IoRequest> operations) {
  for (const IoRequest& operation : operations) {
    ended_.push_back({.slot = operation.slot, .result = carry_out(operation)});
  }
}

std::size_t SynchronousBackend::reap(std::span<Completion> done, std::size_t, double) {
  const std::size_t count = std::min(done.size(), ended_.size());
  std::copy_n(ended_.begin(), count, done.begin());
  ended_.erase(ended_.begin(), ended_.begin() + static_cast<std::ptrdiff_t>(count));
  return count;
}

std::span<const BackendKind> backend_kinds() {
  static constexpr std::array<BackendKind, 22> kKinds{{
      {.name = "posix", .synchronous = true, .gpu = false, .make = make_posix},
      {.name = "sync", .synchronous = true, .gpu = false, .make = make_sync},
      {.name = "pvsync", .synchronous = true, .gpu = false, .make = make_pvsync},
      {.name = "pvsync2", .synchronous = true, .gpu = false, .make = make_pvsync2},
      {.name = "splice", .synchronous = true, .gpu = false, .make = make_splice},
      {.name = "posixaio", .synchronous = false, .gpu = false, .make = make_posixaio},
      {.name = "null", .synchronous = true, .gpu = false, .make = make_null, .moves = false},
      {.name = "ftruncate",
       .synchronous = true,
       .gpu = false,
       .make = make_ftruncate,
       .moves = false,
       .cuts = true},
      {.name = "fallocate",
       .synchronous = true,
       .gpu = false,
       .make = make_fallocate,
       .moves = false,
       .cuts = true},
      {.name = "fallocate-keep",
       .synchronous = true,
       .gpu = false,
       .make = make_fallocate_keep,
       .moves = false,
       .cuts = true},
      {.name = "punch-hole",
       .synchronous = true,
       .gpu = false,
       .make = make_punch_hole,
       .moves = false,
       .cuts = true},
      {.name = "libaio", .synchronous = false, .gpu = false, .make = make_libaio},
      {.name = "io_uring", .synchronous = false, .gpu = false, .make = make_io_uring},
      {.name = "mmap", .synchronous = true, .gpu = false, .make = make_mmap, .maps = true},
      {.name = "pmem", .synchronous = true, .gpu = false, .make = make_pmem, .maps = true},
      {.name = "cufile", .synchronous = true, .gpu = true, .make = make_cufile},
      {.name = "cufile-stream", .synchronous = false, .gpu = true, .make = make_cufile_stream},
      {.name = "cufile-batch", .synchronous = false, .gpu = true, .make = make_cufile_batch},
      {.name = "cufile-batch-stream",
       .synchronous = false,
       .gpu = true,
       .make = make_cufile_batch_stream},
      {.name = "staged", .synchronous = true, .gpu = true, .make = make_staged},
      {.name = "staged-async", .synchronous = false, .gpu = true, .make = make_staged_async},
      {.name = "staged-managed", .synchronous = true, .gpu = true, .make = make_staged_managed},
  }};
  return kKinds;
}

}  // namespace tierscope
