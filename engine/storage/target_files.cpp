#include "storage/target_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "errors.h"
#include "storage/foreign_file.h"

namespace tierscope {
namespace {

Unavailable missing(const std::string& path) {
  return {Cause::kStorage, fmt::format("{}: {}", path, strerror(errno)),
          "name a directory, in which files are made, or a file"};
}

// Reads need not look whether the time of the last access is due, as fio's do not.
int flags_of(bool writes, bool direct) {
  return (writes ? O_RDWR : O_RDONLY) | (direct ? O_DIRECT : 0) | O_NOATIME | O_CLOEXEC;
}

// /dev/null and /dev/zero are as large as anybody likes.
bool has_no_data(const std::string& path, const struct stat& found) {
  return S_ISCHR(found.st_mode) && (path == "/dev/null" || path == "/dev/zero");
}

}  // namespace

TargetFiles::TargetFiles(const TargetSpec& spec, FilePool& pool, std::uint32_t cell,
                         int compressible, bool writes)
    : spec_(spec), cell_(cell) {
  FilesWanted wanted{.directory = spec.path,
                     .stem = spec.stem,
                     .count = spec.count,
                     .size = spec.size,
                     .keep = spec.keep,
                     .compressible = compressible,
                     .cell = cell,
                     .large = spec.large};
  struct stat found{};
  if (stat(spec.path.c_str(), &found) != 0) {
    if (errno != ENOENT || !spec.create) throw missing(spec.path);
    const std::size_t slash = spec.path.rfind('/');
    wanted.directory = spec.path.substr(0, std::max<std::size_t>(slash, 1));
    wanted.name = spec.path.substr(slash + 1);
    wanted.stem.clear();
    wanted.count = 1;
    own(wanted, pool);
    return;
  }
  if (S_ISDIR(found.st_mode) && spec.kind != TargetSpec::Kind::kDevice) {
    const CommonFile& common = spec.common;
    if (common.wait_s > 0) {
      add(pool.borrow(spec.path, common.name, common.wait_s), spec.size);
      return;
    }
    if (!common.name.empty()) {
      wanted.name = common.name;
      wanted.stem.clear();
    }
    own(wanted, pool);
    return;
  }
  if (spec.kind == TargetSpec::Kind::kOwned) {
    throw Unavailable(Cause::kStorage, spec.path + " is not a directory", "name a directory");
  }
  std::string problem;
  const std::optional<std::uint32_t> written = writes ? std::optional(cell) : std::nullopt;
  if (S_ISREG(found.st_mode)) {
    if (OwnedFile* const own = pool.find(spec.path, written, problem)) {
      add(own, spec.size != 0 ? std::min(spec.size, own->size) : own->size);
      return;
    }
  }
  if (writes && !spec.overwrite && !problem.empty()) {
    throw Unavailable(
        Cause::kOwnership,
        fmt::format("{} is not written: tierscope made it, but it {}", spec.path, problem),
        fmt::format("to lose what it holds: --overwrite {} (fio: --overwrite-others); else move it "
                    "away, or name another file",
                    spec.path));
  }
  use(writes);
}

void TargetFiles::own(const FilesWanted& wanted, FilePool& pool) {
  for (OwnedFile* const file : pool.lease(wanted)) add(file, wanted.size);
}

void TargetFiles::add(OwnedFile* file, std::uint64_t size) {
  owned_.push_back(file);
  names_.push_back(file->path);
  sizes_.push_back(size);
}

// Another's file, or a device, as it is.
void TargetFiles::use(bool writes) {
  struct stat found{};
  if (stat(spec_.path.c_str(), &found) != 0) throw missing(spec_.path);
  std::uint64_t all = static_cast<std::uint64_t>(found.st_size);
  if (S_ISBLK(found.st_mode)) {
    device_ = std::make_unique<Device>(DeviceWanted{.path = spec_.path,
                                                    .destroy = writes ? spec_.destroy : "",
                                                    .second_word = spec_.second_word});
    all = device_->size();
  }
  if (has_no_data(spec_.path, found)) {
    keeps_data_ = false;
    all = spec_.size;
  }
  names_.push_back(spec_.path);
  sizes_.push_back(spec_.size != 0 ? std::min(spec_.size, all) : all);
}

std::optional<std::uint32_t> TargetFiles::number(int file) const {
  if (owned_.empty()) return std::nullopt;
  const OwnedFile& own = *owned_[static_cast<std::size_t>(file)];
  return own.cell == cell_ ? std::optional(own.number) : std::nullopt;
}

void TargetFiles::will_write(bool cut) {
  for (OwnedFile* const file : owned_) cut ? file->will_be_cut() : file->will_hold(cell_);
}

std::string TargetFiles::changes_by_others(int file) const {
  return owned_.empty() ? "" : owned_[static_cast<std::size_t>(file)]->changes_by_others();
}

std::uint64_t TargetFiles::purge() const { return spec_.purge ? device_->purge() : 0; }

std::vector<Descriptor> TargetFiles::open(bool writes, bool direct) const {
  // Threads open their files at the same time, and a file of several threads notes that it is open.
  static std::mutex opening;
  const std::lock_guard lock(opening);
  std::vector<Descriptor> files;
  for (const OwnedFile* const file : owned_) {
    file->check();
    files.emplace_back(file->open(flags_of(writes, direct)));
  }
  if (owned_.empty()) files.push_back(open_other(writes, direct));
  return files;
}

Descriptor TargetFiles::open_other(bool writes, bool direct) const {
  const int flags = flags_of(writes, direct);
  if (device_) return Descriptor(device_->open(flags));
  if (!keeps_data_) return Descriptor(::open(spec_.path.c_str(), flags & ~O_NOATIME));
  return Descriptor(open_foreign(spec_.path, spec_.overwrite, flags));
}

}  // namespace tierscope
