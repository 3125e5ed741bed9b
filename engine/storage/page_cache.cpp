#include "storage/page_cache.h"

#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "interrupt.h"
#include "memory/system_memory.h"
#include "sampling/clock.h"

namespace tierscope {
namespace {

// Of linux/mman.h, which distributions have had since Linux 6.5.
constexpr long kCachestat = 451;
struct CacheState {
  std::uint64_t cached;
  std::uint64_t dirty;
  std::uint64_t under_writeback;
  std::uint64_t evicted;
  std::uint64_t recently_evicted;
};

constexpr double kLongestReadS = 30;

std::optional<std::uint64_t> resident_pages(int file, std::uint64_t from, std::uint64_t bytes) {
  void* const mapped = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, static_cast<off_t>(from));
  if (mapped == MAP_FAILED) return std::nullopt;
  const std::uint64_t page = base_page_bytes();
  std::vector<unsigned char> pages((bytes + page - 1) / page);
  const bool known = mincore(mapped, bytes, pages.data()) == 0;
  munmap(mapped, bytes);
  if (!known) return std::nullopt;
  return static_cast<std::uint64_t>(
      std::count_if(pages.begin(), pages.end(), [](unsigned char state) { return state & 1; }));
}

std::optional<std::uint64_t> resident_pages(int file, const FileSpan& span) {
  constexpr std::uint64_t kStep = std::uint64_t{1} << 30;
  const std::uint64_t last = span.first + span.bytes;
  std::uint64_t pages = 0;
  for (std::uint64_t from = span.first / base_page_bytes() * base_page_bytes(); from < last;
       from += kStep) {
    const auto part = resident_pages(file, from, std::min(kStep, last - from));
    if (!part) return std::nullopt;
    pages += *part;
  }
  return pages;
}

}  // namespace

std::optional<std::uint64_t> cached_bytes(int file, const FileSpan& span) {
  if (span.bytes == 0) return 0;
  CacheState state{};
  // struct cachestat_range has the fields of FileSpan.
  if (syscall(kCachestat, file, &span, &state, 0) == 0) return state.cached * base_page_bytes();
  const auto pages = resident_pages(file, span);
  if (!pages) return std::nullopt;
  return *pages * base_page_bytes();
}

std::optional<std::uint64_t> forget_cached(int file, std::uint64_t size) {
  fdatasync(file);  // Fails, and does no harm, where there is nothing to write back to.
  posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  return cached_bytes(file, {.first = 0, .bytes = size});
}

std::optional<Extents> extents_of(int file) {
  struct stat status{};
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  constexpr std::size_t kBatch = 256;
  std::vector<std::uint64_t> memory((sizeof(fiemap) + kBatch * sizeof(fiemap_extent)) /
                                    sizeof(std::uint64_t));
  auto* const query = reinterpret_cast<fiemap*>(memory.data());
  Extents found{.size = static_cast<std::uint64_t>(status.st_size)};
  std::uint64_t mapped = 0;
  bool last = found.size == 0;
  for (std::uint64_t from = 0; !last;) {
    query->fm_start = from;
    query->fm_length = found.size - from;
    query->fm_flags = FIEMAP_FLAG_SYNC;
    query->fm_extent_count = kBatch;
    if (ioctl(file, FS_IOC_FIEMAP, query) != 0) return std::nullopt;
    last = query->fm_mapped_extents == 0;
    for (std::size_t i = 0; i < query->fm_mapped_extents; ++i) {
      const fiemap_extent& extent = query->fm_extents[i];
      const std::uint64_t begin = extent.fe_logical;
      from = std::min<std::uint64_t>(begin + extent.fe_length, found.size);
      const std::uint64_t bytes = from - std::min(begin, from);
      mapped += bytes;
      ++found.count;
      if ((extent.fe_flags & FIEMAP_EXTENT_UNWRITTEN) != 0) found.unwritten += bytes;
      if ((extent.fe_flags & (FIEMAP_EXTENT_ENCODED | FIEMAP_EXTENT_NOT_ALIGNED)) != 0) {
        found.encoded += bytes;
      }
      last = last || from == found.size || (extent.fe_flags & FIEMAP_EXTENT_LAST) != 0;
    }
  }
  found.holes = found.size - std::min(mapped, found.size);
  return found;
}

std::uint64_t cacheable_bytes() {
  const auto free = meminfo_bytes(read_text("/proc/meminfo"), "MemAvailable");
  const auto cgroup = cgroup_room("memory");
  const std::uint64_t least = std::min(free.value_or(0), cgroup ? cgroup->available : ~0UL);
  return least / 10 * 9;
}

void read_through(int file, const FileSpan& span) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  if (cached_bytes(file, span).value_or(0) >= span.bytes) return;
  std::vector<std::byte> piece(kPiece);
  const double end_s = now_seconds() + kLongestReadS;
  for (std::uint64_t done = 0; done < span.bytes && !interrupted() && now_seconds() < end_s;) {
    const ssize_t got =
        pread(file, piece.data(), std::min<std::uint64_t>(kPiece, span.bytes - done),
              static_cast<off_t>(span.first + done));
    if (got <= 0) return;
    done += static_cast<std::uint64_t>(got);
  }
}

}  // namespace tierscope
