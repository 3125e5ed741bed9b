// What a path is, before anything is measured there.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace tierscope {

// The facts of a path, by system calls that write and create nothing:
//
//   kind            "file", "directory", "block" (device), "missing" or "other"
//   path, real      as given; without symbolic links. Of a missing path everything else, `real`
//   too,
//                   is of the nearest directory above it that exists
//   device          "major:minor" of what the data is on (device_of), of a block device its own;
//                   "0:N" where it is on no block device
//   size            bytes; absent of a directory
//   total_bytes, free_bytes   of the file system; free is what this user may take
//   mount           id, point, type, source, options; absent of a block device
//   page_bytes      the kernel's
//   dio_memory_align, dio_offset_align   STATX_DIOALIGN, where the kernel says; 0: no direct I/O
//   direct          whether an open with O_DIRECT succeeds; of files and block devices
//   open_error      why not even that could be tried
//   dax             STATX_ATTR_DAX, where the kernel says; of a directory, whether it is mounted so
//
// It may hang for as long as the file system does: run it in a process that can be given up.
// Throws std::runtime_error with one line where the path cannot be looked at.
nlohmann::ordered_json path_facts(const std::string& path);

}  // namespace tierscope
