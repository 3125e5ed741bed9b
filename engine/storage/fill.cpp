#include "storage/fill.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include "errors.h"
#include "interrupt.h"
#include "memory/system_memory.h"
#include "storage/aligned_buffer.h"
#include "storage/contents.h"

namespace tierscope {
namespace {

constexpr std::uint64_t kChunk = std::uint64_t{4} << 20;
constexpr std::uint64_t kMinReserve = 20;    // A twentieth of the file system stays free.
constexpr std::uint64_t kDefaultShare = 10;  // A tenth of what is free may be taken.

Unavailable no_space(const std::string& path) {
  return {Cause::kStorage, fmt::format("{}: space ran out while it was written", path),
          "free some space there, ask for smaller files, or name another directory"};
}

// Space is asked for before it is written, so that a full disk is known at once.
void reserve(const Descriptor& file, const std::string& path, const Filling& filling) {
  const auto from = static_cast<off_t>(filling.from);
  const auto bytes = static_cast<off_t>(filling.to - filling.from);
  if (bytes == 0) return;
  while (fallocate(file.get(), 0, from, bytes) != 0) {
    if (errno == ENOSPC || errno == EDQUOT) throw no_space(path);
    if (errno == EINTR && !interrupted()) continue;
    if (errno == EINTR) throw Interrupted();
    return;  // The file system cannot reserve, or the drive has a fault that writing will name.
  }
}

// Direct where that works, else through the page cache.
class Writer {
 public:
  Writer(const Descriptor& file, const std::string& path)
      : file_(file), path_(path), direct_(reopen(file, O_WRONLY | O_DIRECT)) {}

  void write(std::span<const std::byte> data, std::uint64_t offset) {
    while (!data.empty()) {
      const ssize_t written = pwrite(direct_ ? direct_.get() : file_.get(), data.data(),
                                     data.size(), static_cast<off_t>(offset));
      if (written > 0) {
        data = data.subspan(static_cast<std::size_t>(written));
        offset += static_cast<std::uint64_t>(written);
      } else if (written < 0 && errno == EINVAL && direct_) {
        direct_.reset();  // Too fine for direct I/O: a tail.
      } else if (written < 0 && errno != EINTR) {
        fail(offset);
      }
    }
  }

 private:
  [[noreturn]] void fail(std::uint64_t offset) const {
    if (errno == ENOSPC || errno == EDQUOT) throw no_space(path_);
    throw Failure(
        fmt::format("{}: writing at offset {} failed: {}", path_, offset, std::strerror(errno)),
        Cause::kStorage);
  }

  const Descriptor& file_;
  const std::string& path_;
  Descriptor direct_;
};

}  // namespace

Space space_of(const Descriptor& directory, const std::string& path) {
  struct statvfs found{};
  if (fstatvfs(directory.get(), &found) != 0) {
    throw Unavailable(Cause::kStorage,
                      fmt::format("{}: its free space is unknown: {}", path, std::strerror(errno)),
                      "name another directory");
  }
  return {std::uint64_t{found.f_blocks} * found.f_frsize,
          std::uint64_t{found.f_bavail} * found.f_frsize};
}

void check_space(const Space& space, const std::string& path, std::uint64_t held,
                 std::uint64_t added, bool large) {
  if (added == 0) return;
  const std::uint64_t reserve = space.total / kMinReserve;
  const std::uint64_t most = space.free > reserve ? space.free - reserve : 0;
  const std::string numbers =
      fmt::format("{} has {} free of {}, and {} more would be taken", path, size_text(space.free),
                  size_text(space.total), size_text(added));
  if (added > most) {
    throw Unavailable(
        Cause::kStorage,
        fmt::format("{}: less than 5% of the file system ({}) would stay free", numbers,
                    size_text(reserve)),
        fmt::format("ask for {} at most, or name another directory", size_text(most)));
  }
  const std::uint64_t share = (space.free + held) / kDefaultShare;
  if (!large && held + added > share) {
    throw Unavailable(
        Cause::kStorage,
        fmt::format("{}: tierscope's files would be more than 10% of the free space", numbers),
        fmt::format("ask for {} in all, or name another directory", size_text(share)));
  }
}

void fill(const Descriptor& file, const std::string& path, const Filling& filling,
          const FileProgress& progress) {
  reserve(file, path, filling);
  const AlignedBuffer memory = make_aligned(kChunk);
  const std::span<std::byte> buffer(memory.get(), kChunk);
  prepare(buffer, filling.number, filling.compressible, filling.cell);
  Writer writer(file, path);
  // Begins where a cell does.
  std::uint64_t at = filling.from / kCellBytes * kCellBytes;
  while (at < filling.to) {
    if (interrupted()) throw Interrupted();
    stamp(buffer, filling.number, at, kFillGeneration);
    const std::uint64_t bytes = std::min(kChunk, filling.to - at);
    writer.write(buffer.first(bytes), at);
    at += bytes;
    if (progress) progress("filling", path, at, filling.to);
  }
  if (fsync(file.get()) != 0) {
    throw Failure(fmt::format("{}: fsync failed: {}", path, std::strerror(errno)), Cause::kStorage);
  }
  posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
}

}  // namespace tierscope
