// Whether another program wrote into a file that tierscope made and kept.
//
// A file that was rewritten in place, by `cp` for one, is still the file that the manifest proves.
// Every byte that tierscope writes is in a cell (storage/cell.h), so contents can be judged.
#pragma once

#include <string>

#include "storage/descriptor.h"
#include "storage/fill.h"
#include "storage/manifest.h"

namespace tierscope {

// What there is that tierscope did not write, in words that fit behind "it"; empty where nothing
// is. All of the file is read where its change time is not the entry's `closed`; else, and of a
// file that is not kept, whose name nobody else would think of, 64 pages of 4 KiB. A file that is
// not kept, and was written in blocks that have no cells, is not judged. Throws Interrupted, and
// Failure where the file cannot be read.
std::string foreign_contents(const Descriptor& file, const FileEntry& entry,
                             const FileProgress& progress = {});

// What to do about a file that holds such data.
std::string remedy_for_foreign(const std::string& path);

// The change time of a file that is to be closed. Whatever is written afterwards gets another one:
// waits for the next tick of the clock that file systems use.
std::string settled_change_time(const Descriptor& file);

}  // namespace tierscope
