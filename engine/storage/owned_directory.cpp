#include "storage/owned_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <iostream>

#include "errors.h"
#include "storage/changes.h"
#include "storage/proof.h"

namespace tierscope {
namespace {

// Of a file that has the same name in each run.
bool is_lasting(const FilesWanted& wanted) { return wanted.keep || !wanted.name.empty(); }

std::string lasting_name(const FilesWanted& wanted, int index) {
  return wanted.name.empty() ? fmt::format("{}{}", wanted.stem, index) : wanted.name;
}

// Others never have a name that anybody else would think of.
std::string new_name(const FilesWanted& wanted, int index) {
  const std::string name = lasting_name(wanted, index);
  return is_lasting(wanted) ? name : fmt::format("{}.{}", name, random_token().substr(0, 8));
}

std::string key_of(const FilesWanted& wanted, int index) {
  const std::string name = lasting_name(wanted, index);
  return is_lasting(wanted) ? name
                            : fmt::format("{}/{}/{}", name, wanted.cell, wanted.compressible);
}

void check(const FilesWanted& wanted) {
  const std::string name = lasting_name(wanted, 0);
  const bool one_name = wanted.name.empty() != wanted.stem.empty();
  const bool plain = name.front() != '.' && name.find('/') == std::string::npos;
  const bool fits = wanted.count > 0 && (wanted.name.empty() || wanted.count == 1);
  if (one_name && plain && fits && wanted.size > 0) return;
  throw Unavailable(
      Cause::kStorage,
      fmt::format("{} files of {} bytes named '{}' cannot be made", wanted.count, wanted.size,
                  name),
      "ask for one file or more, of one byte or more, named without / and . in front");
}

// A file without a name, which vanishes with the process if that ends early; where the file system
// has none such, one of this name, which did not exist.
Descriptor make_file(const Descriptor& directory, const std::string& name, bool& named) {
  constexpr mode_t kMode = 0600;
  Descriptor file = make_nameless(directory, O_RDWR, kMode);
  named = !file;
  const bool lacking = errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL || errno == ENOENT;
  if (!file && lacking) file = open_below(directory, name, O_RDWR | O_CREAT | O_EXCL, kMode);
  return file;
}

std::uint32_t random_number() {
  const auto number = static_cast<std::uint32_t>(std::stoul(random_token().substr(0, 8), {}, 16));
  return std::max(number, 1U);
}

}  // namespace

OwnedDirectory::OwnedDirectory(const std::string& path) : directory_(open_directory(path)) {
  path_ = path_of(directory_);
  if (path_.empty()) path_ = path;
}

OwnedFile* OwnedDirectory::held(const std::string& key) const {
  const auto found = files_.find(key);
  return found == files_.end() ? nullptr : found->second.get();
}

// All that exists is found before the space is judged, and the space before anything is written.
std::vector<OwnedFile*> OwnedDirectory::lease(const FilesWanted& wanted,
                                              const FileProgress& progress) {
  check(wanted);
  std::uint64_t added = 0;
  for (int index = 0; index < wanted.count; ++index) {
    const std::string key = key_of(wanted, index);
    const OwnedFile* const file = is_lasting(wanted) ? existing(key, progress) : held(key);
    const std::uint64_t size = file ? file->size : 0;
    added += wanted.size > size ? wanted.size - size : 0;
  }
  std::uint64_t taken = 0;
  for (const auto& [key, file] : files_) taken += file->size;
  check_space(space_of(directory_, path_), path_, taken, added, wanted.large);

  std::vector<OwnedFile*> leased;
  std::vector<std::string> made;
  try {
    for (int index = 0; index < wanted.count; ++index) {
      const std::string key = key_of(wanted, index);
      if (!held(key)) {
        files_.emplace(key, create(wanted, new_name(wanted, index)));
        made.push_back(key);
      }
      leased.push_back(files_[key].get());
      complete(*leased.back(), wanted, progress);
    }
  } catch (...) {
    for (const std::string& key : made) discard(*files_.extract(key).mapped());
    throw;
  }
  return leased;
}

// One of this process, or a kept one of an earlier run. Nothing where there is none, and where
// there is an entry for a file that somebody removed.
OwnedFile* OwnedDirectory::existing(const std::string& name, const FileProgress& progress) {
  if (OwnedFile* const file = held(name)) return file;
  FileEntry entry;
  PlainFile found;
  {
    Manifest manifest(directory_, path_, false);
    const FileEntry* const listed = manifest.find(name);
    if (!listed) return nullptr;
    entry = *listed;
    found = open_proven(directory_, entry);
    if (found.missing) {
      manifest.remove(entry.token);
      return nullptr;
    }
  }
  const std::string path = fmt::format("{}/{}", path_, name);
  std::string remedy = "look at it and remove it by hand, or use another name or directory";
  std::string since;
  if (found.file) {
    since = settled_change_time(found.file);
    found.problem = foreign_contents(found.file, entry, progress);
    remedy = remedy_for_foreign(path);
  }
  if (found.problem.empty()) return adopt(entry, std::move(found.file), since);
  throw Unavailable(
      Cause::kOwnership,
      fmt::format("{} is left alone: {} lists it, but it {}", path, manifest_name(), found.problem),
      remedy);
}

OwnedFile* OwnedDirectory::find(const std::string& name, std::optional<std::uint32_t> cell,
                                std::string& problem, const FileProgress& progress) {
  OwnedFile* file = held(name);
  if (!file) {
    FileEntry entry;
    PlainFile found;
    try {
      const Manifest manifest(directory_, path_, false);
      const FileEntry* const listed = manifest.find(name);
      if (!listed) return nullptr;
      entry = *listed;
      found = open_proven(directory_, entry);
    } catch (const Unavailable&) {
      return nullptr;  // A list that proves nothing.
    }
    if (found.in_use) {
      throw Unavailable(Cause::kOwnership,
                        fmt::format("{}/{} is in use by another tierscope", path_, name),
                        "wait until that has ended, or name another file");
    }
    if (!found.file) return nullptr;
    const std::string since = settled_change_time(found.file);
    problem = foreign_contents(found.file, entry, progress);
    if (!problem.empty()) return nullptr;
    file = adopt(entry, std::move(found.file), since);
  }
  if (cell) file->will_hold(*cell);
  return file;
}

// Its maker has it locked. The directory is asked for anew: a client of NFS may otherwise believe
// for a minute that a name does not exist.
OwnedFile* OwnedDirectory::borrow(const std::string& name) {
  if (OwnedFile* const file = held(name)) return file;
  struct statx now{};
  statx(directory_.get(), "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &now);
  for (const std::string& list : manifest_names(directory_)) {
    const Manifest manifest(directory_, path_, false, list);
    const FileEntry* const entry = manifest.find(name);
    if (!entry || !entry->filled) continue;
    PlainFile found = open_proven(directory_, *entry, Use::kBorrowed);
    if (found.missing) continue;
    if (!found.file) {
      throw Unavailable(Cause::kOwnership,
                        fmt::format("{}/{} is left alone: it {}", path_, name, found.problem),
                        "name another directory");
    }
    const std::string since = change_time(found.file);
    OwnedFile* const file = adopt(*entry, std::move(found.file), since);
    file->borrowed_ = true;
    return file;
  }
  return nullptr;
}

// `unchanged_since` is from before its contents were checked, so that what somebody wrote during
// the check shows.
OwnedFile* OwnedDirectory::adopt(const FileEntry& entry, Descriptor opened,
                                 const std::string& unchanged_since) {
  struct stat status{};
  const std::string path = fmt::format("{}/{}", path_, entry.name);
  if (fstat(opened.get(), &status) != 0) throw Failure(path + ": " + std::strerror(errno));
  auto file = std::make_unique<OwnedFile>();
  file->directory_ = this;
  file->entry_ = entry;
  file->file_ = std::move(opened);
  file->path = path;
  file->number = entry.number;
  file->size = static_cast<std::uint64_t>(status.st_size);
  file->entry_.filled = entry.filled && file->size == entry.size;
  file->cell = entry.filled ? entry.cell : 0;
  if (entry.keep) file->unchanged_since_ = unchanged_since;
  return files_.emplace(entry.name, std::move(file)).first->second.get();
}

void OwnedDirectory::require_absent(const std::string& name) const {
  struct stat found{};
  if (fstatat(directory_.get(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) return;
  throw Unavailable(
      Cause::kOwnership, fmt::format("{}/{} exists, and tierscope did not make it", path_, name),
      "use another name or directory; to measure that very file, name it instead of its directory");
}

// Written down before it has contents, so that whatever happens it can be proven.
std::unique_ptr<OwnedFile> OwnedDirectory::create(const FilesWanted& wanted,
                                                  const std::string& name) {
  require_absent(name);
  auto file = std::make_unique<OwnedFile>();
  file->directory_ = this;
  file->path = fmt::format("{}/{}", path_, name);
  file->file_ = make_file(directory_, name, file->named_);
  if (!file->file_) {
    throw Unavailable(Cause::kStorage,
                      fmt::format("{} cannot be made: {}", file->path, std::strerror(errno)),
                      "name a directory that this user may write to, with free space");
  }
  file->number = random_number();
  file->entry_ = {.name = name,
                  .number = file->number,
                  .cell = wanted.cell,
                  .compressible = wanted.compressible,
                  .keep = wanted.keep};
  flock(file->file_.get(), LOCK_EX | LOCK_NB);  // Nobody else can have it yet.
  try {
    make_proof(file->file_, path_, file->entry_);
    write_down(file->entry_);
  } catch (...) {
    if (file->named_) remove_file(directory_, name, std::move(file->file_));
    throw;
  }
  return file;
}

// Makes the contents as wanted: all of them where they are not, the rest of a file that is too
// short.
void OwnedDirectory::complete(OwnedFile& file, const FilesWanted& wanted,
                              const FileProgress& progress) {
  FileEntry& entry = file.entry_;
  const bool contents_fit = entry.filled && entry.compressible == wanted.compressible &&
                            (wanted.cell == 0 || entry.cell == wanted.cell);
  const std::uint64_t size = std::max(file.size, wanted.size);
  const bool ready = contents_fit && file.size == size;
  if (ready && entry.cell == wanted.cell) return;
  file.cell = entry.cell = wanted.cell;
  entry.compressible = wanted.compressible;
  if (!ready) {
    entry.filled = false;
    write(file, contents_fit ? file.size : 0, size, progress);
    if (!file.named_) give_name(file);
    file.size = size;
    if (entry.keep) file.unchanged_since_ = entry.closed = settled_change_time(file.file_);
  }
  entry.size = size;
  entry.filled = true;
  write_down(entry);
}

// A file that could not be written whole is as long as it was, so that it takes no more space.
void OwnedDirectory::write(OwnedFile& file, std::uint64_t from, std::uint64_t to,
                           const FileProgress& progress) {
  const FileEntry& entry = file.entry_;
  if (file.named_) {
    file.check_before_writing();
    write_down(entry);
  }
  try {
    fill(file.file_, file.path,
         {.number = file.number,
          .cell = entry.cell == 0 ? kCellBytes : entry.cell,
          .compressible = entry.compressible,
          .from = from,
          .to = to},
         progress);
  } catch (...) {
    [[maybe_unused]] const int cut = ftruncate(file.file_.get(), static_cast<off_t>(file.size));
    throw;
  }
}

void OwnedDirectory::give_name(OwnedFile& file) {
  const std::string& name = file.entry_.name;
  if (!tierscope::give_name(file.file_, directory_, name)) {
    const int error = errno;
    require_absent(name);
    throw Unavailable(
        Cause::kStorage,
        fmt::format("{} cannot be given its name: {}", file.path, std::strerror(error)),
        "name another directory");
  }
  file.named_ = true;
  fsync(directory_.get());
  file.by_name_ = open_below(directory_, name, O_PATH);
  if (!file.by_name_ || !is_same_file(file.by_name_, file.file_)) {
    throw Unavailable(Cause::kOwnership, file.path + " was replaced while it was made",
                      "leave its files to tierscope while it measures");
  }
}

void OwnedDirectory::write_down(const FileEntry& entry) {
  Manifest(directory_, path_, true).put(entry);
}

// Returns why it had to stay; empty where it is gone.
std::string OwnedDirectory::discard(OwnedFile& file) {
  try {
    Manifest manifest(directory_, path_, false);
    struct stat found{};
    const bool is_gone = fstat(file.file_.get(), &found) == 0 && found.st_nlink == 0;
    if (!is_gone) {
      std::string problem = file.changes_by_others();
      if (!problem.empty()) return fmt::format("{} stays: it {}", file.path, problem);
      file.by_name_.reset();
      problem = remove_file(directory_, file.entry_.name, std::move(file.file_));
      if (!problem.empty()) return fmt::format("{} stays: {}", file.path, problem);
    }
    if (manifest.find(file.entry_.name)) manifest.remove(file.entry_.token);
    return "";
  } catch (const std::exception& error) {
    return fmt::format("{} stays: {}", file.path, error.what());
  }
}

// What tierscope wrote lately is not read whole by the next run.
void OwnedDirectory::write_closed(OwnedFile& file) {
  try {
    const std::string changed = settled_change_time(file.file_);
    if (file.has_changed() || changed == file.entry_.closed) return;
    file.entry_.closed = changed;
    write_down(file.entry_);
  } catch (const std::exception& error) {  // The next run reads it whole.
    std::cerr << "tierscope-engine: " << error.what() << '\n';
  }
}

std::vector<std::string> OwnedDirectory::close() {
  std::vector<std::string> problems;
  for (const auto& [key, file] : files_) {
    if (!file || file->borrowed_) continue;
    if (file->entry_.keep) {
      write_closed(*file);
    } else if (const std::string problem = discard(*file); !problem.empty()) {
      problems.push_back(problem);
    }
  }
  files_.clear();
  return problems;
}

}  // namespace tierscope
