#include "storage/target_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "errors.h"

namespace tierscope {
namespace {

[[noreturn]] void refuse_open(const std::string& path, bool direct, int error) {
  if (direct && error == EINVAL) {
    throw Unavailable(Cause::kStorage, path + ": its file system has no direct I/O",
                      "say --direct no, or name another directory");
  }
  const Cause cause = error == EACCES || error == EPERM ? Cause::kPermission : Cause::kStorage;
  throw Unavailable(cause, fmt::format("{} cannot be opened: {}", path, strerror(error)));
}

int flags_of(bool writes, bool direct) {
  return (writes ? O_RDWR : O_RDONLY) | (direct ? O_DIRECT : 0) | O_CLOEXEC;
}

}  // namespace

TargetFiles::TargetFiles(const TargetSpec& spec, FilePool& pool, std::uint32_t cell,
                         int compressible, bool writes)
    : spec_(spec) {
  struct stat found{};
  if (stat(spec.path.c_str(), &found) != 0) {
    if (errno == ENOENT && spec.create) {
      const std::size_t slash = spec.path.rfind('/');
      own({.directory = spec.path.substr(0, std::max<std::size_t>(slash, 1)),
           .name = spec.path.substr(slash + 1),
           .size = spec.size,
           .keep = spec.keep,
           .compressible = compressible,
           .cell = cell,
           .large = spec.large},
          pool);
      return;
    }
    throw Unavailable(Cause::kStorage, fmt::format("{}: {}", spec.path, strerror(errno)),
                      "name a directory, in which files are made, or a file");
  }
  if (S_ISDIR(found.st_mode) && spec.kind != TargetSpec::Kind::kDevice) {
    own({.directory = spec.path,
         .stem = spec.stem,
         .count = spec.count,
         .size = spec.size,
         .keep = spec.keep,
         .compressible = compressible,
         .cell = cell,
         .large = spec.large},
        pool);
    return;
  }
  if (spec.kind == TargetSpec::Kind::kOwned) {
    throw Unavailable(Cause::kStorage, spec.path + " is no directory", "name a directory");
  }
  if (OwnedFile* const proven = S_ISREG(found.st_mode) ? pool.find(spec.path) : nullptr) {
    owned_.push_back(proven);
    names_.push_back(proven->path);
    sizes_.push_back(spec.size != 0 ? std::min(spec.size, proven->size) : proven->size);
    return;
  }
  use(writes);
}

void TargetFiles::own(const FilesWanted& wanted, FilePool& pool) {
  owned_ = pool.lease(wanted);
  for (const OwnedFile* const file : owned_) {
    names_.push_back(file->path);
    sizes_.push_back(wanted.size);
  }
}

// Another's file, or a device, as it is.
void TargetFiles::use(bool writes) {
  const Descriptor file = open_other(writes, false);
  struct stat found{};
  std::uint64_t all = 0;
  fstat(file.get(), &found);
  if (S_ISREG(found.st_mode)) {
    all = static_cast<std::uint64_t>(found.st_size);
  } else if (S_ISBLK(found.st_mode)) {
    ioctl(file.get(), BLKGETSIZE64, &all);
  }
  names_.push_back(spec_.path);
  sizes_.push_back(spec_.size != 0 ? std::min(spec_.size, all) : all);
}

std::optional<std::uint32_t> TargetFiles::number(int file) const {
  if (owned_.empty()) return std::nullopt;
  return owned_[static_cast<std::size_t>(file)]->number;
}

std::vector<Descriptor> TargetFiles::open(bool writes, bool direct) const {
  std::vector<Descriptor> files;
  for (const OwnedFile* const file : owned_) {
    file->check();
    files.emplace_back(file->open(flags_of(writes, direct)));
  }
  if (owned_.empty()) files.push_back(open_other(writes, direct));
  return files;
}

Descriptor TargetFiles::open_other(bool writes, bool direct) const {
  struct stat found{};
  if (stat(spec_.path.c_str(), &found) != 0) refuse_open(spec_.path, direct, errno);
  const bool device = S_ISBLK(found.st_mode);
  if (!device && !S_ISREG(found.st_mode)) {
    throw Unavailable(Cause::kStorage, spec_.path + " is neither a file nor a block device",
                      "name a directory, a file or a block device");
  }
  if (writes && !device && !spec_.overwrite) {
    throw Unavailable(Cause::kOwnership, spec_.path + " is not tierscope's, and writing changes it",
                      "name a directory, in which tierscope makes files, or say --overwrite");
  }
  if (writes && device) {
    throw Unavailable(Cause::kOwnership, "writing to " + spec_.path + " destroys its data",
                      "only reads of devices are possible");
  }
  Descriptor file(::open(spec_.path.c_str(), flags_of(writes, direct)));
  if (!file) refuse_open(spec_.path, direct, errno);
  return file;
}

}  // namespace tierscope
