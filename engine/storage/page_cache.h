// Where a file's data is: in the page cache, and on the device.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "storage/descriptor.h"

namespace tierscope {

// Bytes of a file, from the first one on.
struct FileSpan {
  std::uint64_t first;
  std::uint64_t bytes;
};

// Bytes of a span that the page cache holds; whole pages. By cachestat(2) (Linux 6.5), else
// mincore(2). Absent where the kernel does not tell this user.
std::optional<std::uint64_t> cached_bytes(int file, const FileSpan& span);

// Asks the kernel to give up what it caches of a file: writes dirty pages first, where the file is
// open for writing, then POSIX_FADV_DONTNEED. Returns cached_bytes() of the first `size` bytes
// afterwards, which should be 0: more where others use the pages, and always in tmpfs, whose files
// live in the page cache.
std::optional<std::uint64_t> forget_cached(int file, std::uint64_t size);

// Bytes that the page cache can hold now without taking memory from programs: 90% of MemAvailable,
// or of what the cgroup's limit leaves, whichever is less.
std::uint64_t cacheable_bytes();

// Brings a span into the page cache by reading it, unless it is there. Stops once a signal came,
// and after 30 s: what the page cache holds then is for cached_bytes() to say.
void read_through(int file, const FileSpan& span);

// What a file's bytes are on the device. Holes and unwritten extents are read as zeros, without the
// drive.
struct Extents {
  std::uint64_t size;       // Bytes of the file.
  std::uint64_t holes;      // Of those, bytes without blocks.
  std::uint64_t unwritten;  // Bytes of blocks that were reserved but never written.
  std::uint64_t encoded;    // Bytes that are compressed, encrypted, or kept within metadata.
  std::uint64_t count;      // Of extents.

  bool fully_written() const { return holes == 0 && unwritten == 0; }
};

// By the ioctl FS_IOC_FIEMAP; what is dirty is written first. Absent where the file system does not
// tell, as tmpfs and NFS.
std::optional<Extents> extents_of(int file);

}  // namespace tierscope
