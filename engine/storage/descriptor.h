// Open files, opened so that no name can lead elsewhere.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>

#include "errors.h"

namespace tierscope {

// Closes what it holds.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    reset(std::exchange(other.number_, -1));
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  int release() { return std::exchange(number_, -1); }
  void reset(int number = -1);

 private:
  int number_ = -1;
};

// openat2(2) of a plain file name directly below a directory: through no symbolic link, no magic
// link and no mount. Empty with errno set where that fails; throws Unavailable where the kernel
// lacks the call (before Linux 5.6) or forbids it. `name` must not be a path.
Descriptor open_below(const Descriptor& directory, const std::string& name, int flags,
                      mode_t mode = 0);

// openat2(2) of any path, of which no part may be a symbolic link. As open_below().
Descriptor open_without_links(const std::string& path, int flags);

// A regular file with one link below a directory, looked at before it is opened, so that no pipe or
// device ever is. Where it is something else `problem` says what, in words that fit behind "it".
struct PlainFile {
  Descriptor file;
  std::string problem;
  bool missing = false;
  bool in_use = false;  // Another process has it locked.
};
PlainFile open_plain(const Descriptor& directory, const std::string& name, int flags);

// Opens a directory for work below it; symbolic links on the way are followed, once. Throws
// Unavailable, also for directories of the kernel's own: /dev, /proc, /sys and their like.
Descriptor open_directory(const std::string& path);

// Opens what a descriptor holds once more, with other flags; its name plays no part in it. Empty
// with errno set where that fails. O_NOATIME is left out where the file is somebody else's.
Descriptor reopen(const Descriptor& file, int flags);

// A new regular file in a directory that has no name yet, and vanishes with its last descriptor
// unless it is given one. Empty, with errno set, where the file system has none such.
Descriptor make_nameless(const Descriptor& directory, int flags, mode_t mode);

// Gives it a name, unless something has that name: false with errno set.
bool give_name(const Descriptor& file, const Descriptor& directory, const std::string& name);

// Whether two descriptors are of one file.
bool is_same_file(const Descriptor& one, const Descriptor& other);

// What to throw where an open with O_DIRECT says EINVAL.
Unavailable no_direct_io(const std::string& path);

// Where an open file is, without symbolic links; empty where /proc does not say.
std::string path_of(const Descriptor& file);

// What tells one file from every other one, those before and after it included. Birth time and
// handle are empty where the file system has none; the inode number alone may be given again to
// another file.
struct Identity {
  std::string device;  // "259:3"
  std::string inode;
  std::string born;    // "1763769600.123456789": seconds since 1970.
  std::string handle;  // Of name_to_handle_at(2), in hex: it has the inode's generation.
  bool operator==(const Identity&) const = default;
};

// Throws std::system_error.
Identity identity_of(const Descriptor& file);

// When a file's contents or its attributes were last changed, "SECONDS.NANOSECONDS" since 1970, by
// the clock of its file system. Throws std::system_error.
std::string change_time(const Descriptor& file);

// Why this is not a regular file with one link, in words that fit behind "it is"; empty where it is
// one.
std::string not_plain(const struct stat& found);

// Unlinks a name only where it still leads to this very file, with one link: the file is moved into
// a new directory that only this user may enter, and looked at there. What was moved by mistake, as
// the name had been given to something else, is moved back. Returns why nothing was removed; empty
// where the file is gone. `file` should be the last descriptor of it: a client of NFS keeps files
// that are open.
std::string remove_file(const Descriptor& directory, const std::string& name, Descriptor file);

// The same for a directory, which has to be empty.
std::string remove_directory(const Descriptor& directory, const std::string& name,
                             const Descriptor& removed);

// 32 random hex digits.
std::string random_token();

}  // namespace tierscope
