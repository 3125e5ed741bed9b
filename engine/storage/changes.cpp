#include "storage/changes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <optional>
#include <set>
#include <span>
#include <thread>

#include "errors.h"
#include "interrupt.h"
#include "splitmix64.h"
#include "storage/aligned_buffer.h"
#include "storage/contents.h"

namespace tierscope {
namespace {

constexpr std::uint64_t kPage = kCellBytes;
constexpr std::uint64_t kReadAtOnce = std::uint64_t{1} << 20;
constexpr std::uint64_t kSample = 64;  // Pages.

// Reads around the page cache where the file system can, so that it is left as it is.
class Contents {
 public:
  Contents(const Descriptor& file, const FileEntry& entry)
      : file_(file),
        entry_(entry),
        allowed_{.zeros = !entry.filled, .elsewhere = !entry.filled || entry.cell == 0},
        direct_(reopen(file, O_RDONLY | O_DIRECT)),
        memory_(make_aligned(kReadAtOnce)) {}

  // The offset of the first page of [offset, offset + bytes) that tierscope did not write.
  std::optional<std::uint64_t> foreign(std::uint64_t offset, std::uint64_t bytes) {
    const std::span<const std::byte> data = read(offset, bytes);
    for (std::uint64_t at = 0; at < data.size(); at += kPage) {
      const auto page = data.subspan(at, std::min(kPage, data.size() - at));
      if (!is_own(page, entry_.number, offset + at, allowed_)) return offset + at;
    }
    return std::nullopt;
  }

 private:
  std::span<const std::byte> read(std::uint64_t offset, std::uint64_t bytes) {
    std::uint64_t done = 0;
    while (done < bytes) {
      const ssize_t got = pread(direct_ ? direct_.get() : file_.get(), memory_.get() + done,
                                bytes - done, static_cast<off_t>(offset + done));
      if (got > 0) {
        done += static_cast<std::uint64_t>(got);
      } else if (got == 0) {
        break;  // It was cut meanwhile.
      } else if (errno == EINVAL && direct_) {
        direct_.reset();  // Too fine for direct I/O: a tail.
      } else if (errno != EINTR) {
        throw Failure(fmt::format("{}: reading at offset {} failed: {}", entry_.name, offset + done,
                                  std::strerror(errno)),
                      Cause::kStorage);
      }
    }
    return {memory_.get(), done};
  }

  const Descriptor& file_;
  const FileEntry& entry_;
  Allowed allowed_;
  Descriptor direct_;
  AlignedBuffer memory_;
};

// The first page, the last one, and others; in order.
std::set<std::uint64_t> sampled_pages(std::uint64_t pages, const FileEntry& entry) {
  std::set<std::uint64_t> sampled{0, pages - 1};
  std::uint64_t state = XXH3_64bits(entry.token.data(), entry.token.size()) ^
                        XXH3_64bits(entry.closed.data(), entry.closed.size());
  while (sampled.size() < std::min(kSample, pages)) sampled.insert(splitmix64(state) % pages);
  return sampled;
}

}  // namespace

std::string foreign_contents(const Descriptor& file, const FileEntry& entry,
                             const FileProgress& progress) {
  if (!entry.keep && entry.cell == 0) return "";
  struct stat found{};
  if (fstat(file.get(), &found) != 0) throw Failure(std::strerror(errno), Cause::kStorage);
  const auto size = static_cast<std::uint64_t>(found.st_size);
  if (size == 0) return "";
  const bool changed = entry.closed != change_time(file);
  if (!changed && entry.cell == 0) return "";
  Contents contents(file, entry);
  std::optional<std::uint64_t> foreign;
  if (entry.keep && changed) {
    for (std::uint64_t at = 0; at < size && !foreign; at += kReadAtOnce) {
      if (interrupted()) throw Interrupted();
      foreign = contents.foreign(at, std::min(kReadAtOnce, size - at));
      if (progress) progress("checking", entry.name, at, size);
    }
  } else {
    for (const std::uint64_t page : sampled_pages((size + kPage - 1) / kPage, entry)) {
      if (!foreign) foreign = contents.foreign(page * kPage, std::min(kPage, size - page * kPage));
    }
  }
  if (!foreign) return "";
  return changed
             ? fmt::format(
                   "holds data, at offset {}, that another program wrote since tierscope filled "
                   "it",
                   *foreign)
             : fmt::format(
                   "holds data, at offset {}, that tierscope did not write, although its "
                   "change time has not moved: the drive may have damaged it",
                   *foreign);
}

std::string remedy_for_foreign(const std::string& path) {
  return fmt::format("if nobody needs what it holds: rm '{}'; else name another file or directory",
                     path);
}

// At most as long as a tick of any kernel takes. File systems with coarser clocks are left to the
// sample.
std::string settled_change_time(const Descriptor& file) {
  using namespace std::chrono_literals;
  constexpr int kTries = 20;
  for (int tries = 0; tries < kTries; ++tries) {
    const std::string changed = change_time(file);
    timespec now{};
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    if (changed < fmt::format("{}.{:09}", now.tv_sec, now.tv_nsec)) return changed;
    std::this_thread::sleep_for(1ms);
  }
  return change_time(file);
}

}  // namespace tierscope
