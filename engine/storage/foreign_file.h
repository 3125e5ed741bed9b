// Files that tierscope did not make.
#pragma once

#include <string>

namespace tierscope {

// Opens a regular file that somebody else made; the descriptor belongs to the caller. Flags as for
// open(2), without O_CREAT and O_TRUNC. What may only be read needs no more; to write it takes
// `overwrite`, a path without symbolic links, and a file with one link. Throws Unavailable, which
// says what is in the way and what to do.
int open_foreign(const std::string& path, bool overwrite, int flags);

}  // namespace tierscope
