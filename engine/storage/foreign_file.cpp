#include "storage/foreign_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "errors.h"
#include "storage/descriptor.h"

namespace tierscope {
namespace {

std::string remedy_for(const struct stat& found) {
  if (S_ISDIR(found.st_mode)) return "name a file, or let tierscope make its own below a directory";
  if (S_ISBLK(found.st_mode)) return "name it as a device: dev:PATH";
  if (S_ISREG(found.st_mode)) return "write to a file of its own, not to one with several names";
  return "name a regular file";
}

struct stat look_again(const Descriptor& file) {
  struct stat found{};
  if (fstat(file.get(), &found) != 0) throw Failure(std::strerror(errno), Cause::kStorage);
  return found;
}

// Without opening it: a pipe would wait, a device could act.
Descriptor look_at(const std::string& path, bool writes) {
  Descriptor real(open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!real) {
    const int error = errno;
    throw Unavailable(Cause::kStorage,
                      fmt::format("{} cannot be opened: {}", path, std::strerror(error)),
                      error == ENOENT ? "name a file that exists" : "");
  }
  if (!writes) return real;
  Descriptor seen = open_without_links(path, O_PATH);
  if (seen && !S_ISLNK(look_again(seen).st_mode)) return seen;
  throw Unavailable(Cause::kOwnership,
                    fmt::format("{} is, or lies behind, a symbolic link, and is not written", path),
                    fmt::format("name the file itself: {}", path_of(real)));
}

}  // namespace

int open_foreign(const std::string& path, bool overwrite, int flags) {
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  if (writes && !overwrite) {
    throw Unavailable(Cause::kOwnership,
                      fmt::format("{} is not tierscope's, and is not written", path),
                      fmt::format("to lose what it holds: --overwrite {}", path));
  }
  const Descriptor seen = look_at(path, writes);
  const struct stat found = look_again(seen);
  const std::string wrong = not_plain(found);
  const bool links_matter = writes || !S_ISREG(found.st_mode);
  if (!wrong.empty() && links_matter) {
    throw Unavailable(
        Cause::kOwnership,
        fmt::format("{} is {}, and is not {}", path, wrong, writes ? "written" : "read"),
        remedy_for(found));
  }
  Descriptor file = reopen(seen, flags & ~(O_CREAT | O_EXCL | O_TRUNC));
  if (file) return file.release();
  if (errno == EINVAL && (flags & O_DIRECT) != 0) throw no_direct_io(path);
  throw Unavailable(errno == EACCES || errno == EPERM ? Cause::kPermission : Cause::kStorage,
                    fmt::format("{} cannot be opened for {}: {}", path,
                                writes ? "writing" : "reading", std::strerror(errno)));
}

}  // namespace tierscope
