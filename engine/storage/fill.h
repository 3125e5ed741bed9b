// Room for files, and files written whole.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "storage/descriptor.h"

namespace tierscope {

// Free space of a file system, bytes.
struct Space {
  std::uint64_t total;
  std::uint64_t free;  // That this user may take.
};

// Throws Unavailable.
Space space_of(const Descriptor& directory, const std::string& path);

// Whether `added` bytes fit beside the `held` ones that tierscope has there already: a twentieth of
// the file system stays free, and unless `large`, all of tierscope's files take at most a tenth of
// what is free without them. Throws Unavailable with the numbers.
void check_space(const Space& space, const std::string& path, std::uint64_t held,
                 std::uint64_t added, bool large);

// What is done to a whole file ("filling", "checking"), its name, bytes so far and in all.
using FileProgress = std::function<void(std::string_view what, const std::string& name,
                                        std::uint64_t done, std::uint64_t total)>;

struct Filling {
  std::uint32_t number;  // Of the file, for its contents.
  std::uint32_t cell;
  int compressible;    // Percent.
  std::uint64_t from;  // Bytes from here on are written, ...
  std::uint64_t to;    // ... up to here.
};

// Generation of the contents that fill() writes; see contents.h.
inline constexpr std::uint64_t kFillGeneration = 1;

// Reserves the space, writes all of it and has the drive keep it (fsync). Goes around the page
// cache where the file system can (O_DIRECT). Throws Unavailable where space runs out, Failure for
// an error of the drive, Interrupted.
void fill(const Descriptor& file, const std::string& path, const Filling& filling,
          const FileProgress& progress);

}  // namespace tierscope
