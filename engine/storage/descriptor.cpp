#include "storage/descriptor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <system_error>

#include "errors.h"
#include "storage/mounts.h"

namespace tierscope {
namespace {

std::string link_of(const Descriptor& file) { return fmt::format("/proc/self/fd/{}", file.get()); }

std::string handle_of(const Descriptor& file) {
  struct {
    file_handle head;
    unsigned char bytes[MAX_HANDLE_SZ];
  } handle{};
  handle.head.handle_bytes = MAX_HANDLE_SZ;
  int mount = 0;
  if (name_to_handle_at(file.get(), "", &handle.head, &mount, AT_EMPTY_PATH) != 0) return "";
  std::string text = fmt::format("{}.", handle.head.handle_type);
  for (unsigned i = 0; i < handle.head.handle_bytes; ++i) {
    text += fmt::format("{:02x}", handle.bytes[i]);
  }
  return text;
}

struct stat status_of(const Descriptor& file) {
  struct stat found{};
  if (fstat(file.get(), &found) != 0) {
    throw std::system_error(errno, std::generic_category(), "fstat");
  }
  return found;
}

// Renames without replacing anything. Where the file system cannot promise that, it does what it
// can: looks first.
bool move_name(int from, const std::string& name, int to, const std::string& new_name) {
  if (renameat2(from, name.c_str(), to, new_name.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL) return false;
  if (faccessat(to, new_name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
    errno = EEXIST;
    return false;
  }
  return renameat(from, name.c_str(), to, new_name.c_str()) == 0;
}

Descriptor openat2(int directory, const std::string& path, int flags, mode_t mode,
                   std::uint64_t resolve) {
  open_how how{};
  how.flags = static_cast<__u64>(flags | O_CLOEXEC | O_NOFOLLOW);
  how.mode = mode;
  how.resolve = resolve | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const long opened = syscall(SYS_openat2, directory, path.c_str(), &how, sizeof how);
  if (opened < 0 && errno == ENOSYS) {
    throw Unavailable(Cause::kKernel,
                      "the system call openat2, which keeps files of others safe, is missing",
                      "use Linux 5.6 or later, and a container that does not filter openat2");
  }
  return Descriptor(static_cast<int>(opened));
}

constexpr const char* kMoved = "file";

// Looks at what was moved into the private directory, removes it if it is `file`, and moves it back
// where it is not or stays. `flags` are those of unlinkat(2). `open` is closed first: a client of
// NFS renames an open file instead of removing it, and the directory would not be empty.
std::string remove_moved(const Descriptor& directory, const std::string& name,
                         const Descriptor& room, const std::string& room_name,
                         const struct stat& file, Descriptor open, int flags) {
  struct stat moved{};
  const bool seen = fstatat(room.get(), kMoved, &moved, AT_SYMLINK_NOFOLLOW) == 0;
  std::string problem = "its name leads to another file";
  if (seen && moved.st_dev == file.st_dev && moved.st_ino == file.st_ino &&
      moved.st_nlink == file.st_nlink) {
    open.reset();
    if (unlinkat(room.get(), kMoved, flags) == 0) return "";
    problem = std::strerror(errno);
  }
  if (move_name(room.get(), kMoved, directory.get(), name)) return problem;
  return fmt::format("{}; what had its name is {}/{} now ({})", problem, room_name, kMoved,
                     std::strerror(errno));
}

std::string remove_held(const Descriptor& directory, const std::string& name,
                        const struct stat& held, Descriptor open, int flags) {
  const std::string room_name = ".tierscope-" + random_token();
  if (mkdirat(directory.get(), room_name.c_str(), 0700) != 0) return std::strerror(errno);
  const Descriptor room = open_below(directory, room_name, O_RDONLY | O_DIRECTORY);
  std::string problem;
  if (!room || !move_name(directory.get(), name, room.get(), kMoved)) {
    problem = std::strerror(errno);
  } else {
    problem = remove_moved(directory, name, room, room_name, held, std::move(open), flags);
  }
  unlinkat(directory.get(), room_name.c_str(), AT_REMOVEDIR);  // Only an empty one goes.
  return problem;
}

struct statx statx_of(const Descriptor& file) {
  struct statx found{};
  if (statx(file.get(), "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &found) != 0) {
    throw std::system_error(errno, std::generic_category(), "statx");
  }
  return found;
}

std::string text_of(const statx_timestamp& time) {
  return fmt::format("{}.{:09}", time.tv_sec, time.tv_nsec);
}

}  // namespace

void Descriptor::reset(int number) {
  if (number_ >= 0) close(number_);
  number_ = number;
}

Descriptor open_below(const Descriptor& directory, const std::string& name, int flags,
                      mode_t mode) {
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos ||
      name.find('\0') != std::string::npos) {
    errno = EINVAL;
    return {};
  }
  return openat2(directory.get(), name, flags, mode, RESOLVE_BENEATH | RESOLVE_NO_XDEV);
}

Descriptor open_without_links(const std::string& path, int flags) {
  return openat2(AT_FDCWD, path, flags, 0, 0);
}

PlainFile open_plain(const Descriptor& directory, const std::string& name, int flags) {
  const Descriptor seen = open_below(directory, name, O_PATH);
  if (!seen) {
    if (errno == ENOENT) return {.problem = "is missing", .missing = true};
    if (errno == ELOOP) return {.problem = "is a symbolic link"};
    if (errno == EXDEV) return {.problem = "has another file system mounted on it"};
    return {.problem = fmt::format("cannot be opened: {}", std::strerror(errno))};
  }
  if (std::string wrong = not_plain(status_of(seen)); !wrong.empty()) {
    return {.problem = "is " + wrong};
  }
  Descriptor file = reopen(seen, flags);
  if (!file) return {.problem = fmt::format("cannot be opened: {}", std::strerror(errno))};
  return {.file = std::move(file)};
}

namespace {

// The kernel's own file systems, where a file means something else or takes no space of a drive;
// /dev may be a tmpfs, as in containers.
void refuse_pseudo(const Descriptor& directory, const std::string& path) {
  static constexpr std::array<std::string_view, 19> kPseudo{
      "autofs", "binfmt_misc", "bpf",        "cgroup",  "cgroup2", "configfs", "debugfs",
      "devpts", "devtmpfs",    "efivarfs",   "fusectl", "mqueue",  "nsfs",     "proc",
      "pstore", "rpc_pipefs",  "securityfs", "sysfs",   "tracefs"};
  const std::optional<Mount> mount = mount_of(directory.get());
  if (!mount) return;
  const bool pseudo = std::ranges::find(kPseudo, mount->type) != kPseudo.end();
  if (!pseudo && mount->point != "/dev") return;
  throw Unavailable(Cause::kStorage,
                    fmt::format("{} is on a {} at {}, which holds no data of a drive: no file is "
                                "made there",
                                path, mount->type, mount->point),
                    "name a directory of a file system such as ext4, xfs, NFS or tmpfs");
}

}  // namespace

Descriptor open_directory(const std::string& path) {
  Descriptor directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory) {
    refuse_pseudo(directory, path);
    return directory;
  }
  const std::string remedy = errno == ENOTDIR  ? "name a directory"
                             : errno == ENOENT ? fmt::format("mkdir -p {}", path)
                                               : "name a directory that this user may write to";
  throw Unavailable(Cause::kStorage,
                    fmt::format("directory {} cannot be opened: {}", path, std::strerror(errno)),
                    remedy);
}

Descriptor reopen(const Descriptor& file, int flags) {
  const std::string path = link_of(file);
  flags = (flags | O_CLOEXEC) & ~O_NOFOLLOW;
  const int opened = open(path.c_str(), flags);
  const bool not_owner = opened < 0 && errno == EPERM && (flags & O_NOATIME) != 0;
  return Descriptor(not_owner ? open(path.c_str(), flags & ~O_NOATIME) : opened);
}

Descriptor make_nameless(const Descriptor& directory, int flags, mode_t mode) {
  return Descriptor(openat(directory.get(), ".", O_TMPFILE | flags | O_CLOEXEC, mode));
}

bool give_name(const Descriptor& file, const Descriptor& directory, const std::string& name) {
  return linkat(AT_FDCWD, link_of(file).c_str(), directory.get(), name.c_str(),
                AT_SYMLINK_FOLLOW) == 0;
}

std::string path_of(const Descriptor& file) {
  std::array<char, 4096> target{};
  const ssize_t length = readlink(link_of(file).c_str(), target.data(), target.size());
  return length <= 0 ? "" : std::string(target.data(), static_cast<std::size_t>(length));
}

Identity identity_of(const Descriptor& file) {
  const struct statx found = statx_of(file);
  Identity identity{.device = fmt::format("{}:{}", found.stx_dev_major, found.stx_dev_minor),
                    .inode = fmt::format("{}", found.stx_ino),
                    .handle = handle_of(file)};
  if ((found.stx_mask & STATX_BTIME) != 0) {
    identity.born = text_of(found.stx_btime);
  }
  return identity;
}

std::string change_time(const Descriptor& file) { return text_of(statx_of(file).stx_ctime); }

std::string not_plain(const struct stat& found) {
  if (S_ISLNK(found.st_mode)) return "a symbolic link";
  if (S_ISDIR(found.st_mode)) return "a directory";
  if (S_ISFIFO(found.st_mode)) return "a named pipe";
  if (S_ISSOCK(found.st_mode)) return "a socket";
  if (S_ISBLK(found.st_mode) || S_ISCHR(found.st_mode)) return "a device";
  if (!S_ISREG(found.st_mode)) return "no regular file";
  if (found.st_nlink > 1) return fmt::format("a file with {} hard links", found.st_nlink);
  if (found.st_nlink == 0) return "a file that was removed";
  return "";
}

std::string remove_file(const Descriptor& directory, const std::string& name, Descriptor file) {
  const struct stat held = status_of(file);
  if (const std::string wrong = not_plain(held); !wrong.empty()) return "it is " + wrong;
  return remove_held(directory, name, held, std::move(file), 0);
}

std::string remove_directory(const Descriptor& directory, const std::string& name,
                             const Descriptor& removed) {
  return remove_held(directory, name, status_of(removed), {}, AT_REMOVEDIR);
}

std::string random_token() {
  std::array<std::uint64_t, 2> words{};
  if (getrandom(words.data(), sizeof words, 0) != static_cast<ssize_t>(sizeof words)) {
    throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  return fmt::format("{:016x}{:016x}", words[0], words[1]);
}

bool is_same_file(const Descriptor& one, const Descriptor& other) {
  struct stat first{};
  struct stat second{};
  return fstat(one.get(), &first) == 0 && fstat(other.get(), &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

Unavailable no_direct_io(const std::string& path) {
  return {Cause::kStorage, path + ": its file system has no direct I/O",
          "say --direct no, or name another directory"};
}

}  // namespace tierscope
