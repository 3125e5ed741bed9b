#include "storage/small_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <iostream>

#include "errors.h"
#include "interrupt.h"
#include "sampling/clock.h"
#include "storage/contents.h"
#include "storage/fill.h"
#include "storage/proof.h"

namespace tierscope {
namespace {

constexpr std::uint64_t kBlock = 4096;  // That a byte of a file takes on most file systems.
constexpr std::uint64_t kMinReserve = 20;
constexpr std::uint64_t kDefaultShare = 10;
constexpr std::uint64_t kPiece = std::uint64_t{4} << 20;  // Of a file that is written in cells.
constexpr std::uint64_t kGeneration = 1;                  // Of its cells.
constexpr std::size_t kTokenDigits = 8;  // Of the token, in names: short, as users' names are.

void check_inodes(const std::string& path, const Descriptor& directory, std::uint64_t files,
                  bool large) {
  struct statvfs found{};
  if (fstatvfs(directory.get(), &found) != 0 || found.f_files == 0) return;  // It has no limit.
  const std::uint64_t reserve = found.f_files / kMinReserve;
  const std::uint64_t beyond = found.f_favail > reserve ? found.f_favail - reserve : 0;
  const std::uint64_t most = large ? beyond : std::min(beyond, found.f_favail / kDefaultShare);
  if (files <= most) return;
  throw Unavailable(
      Cause::kStorage,
      fmt::format("{} has {} inodes free of {}, and {} files are more than {} of them", path,
                  found.f_favail, found.f_files, files, large ? "may be taken" : "a tenth"),
      fmt::format("ask for {} files in all, or name another directory", most));
}

// What a file's bytes take on the device.
std::uint64_t on_disk(std::uint64_t bytes) { return (bytes + kBlock - 1) / kBlock * kBlock; }

// Of a file in its cells.
std::uint32_t number_of(std::size_t index) { return static_cast<std::uint32_t>(index) + 1; }

std::string name_of(const FileEntry& entry, std::size_t index) {
  return fmt::format("{}.{}", entry.token.substr(0, kTokenDigits), index);
}

bool is_name(const FileEntry& entry, const std::string& name) {
  const std::string start = entry.token.substr(0, kTokenDigits) + ".";
  if (!name.starts_with(start) || name.size() == start.size()) return false;
  std::size_t index = 0;
  for (const char digit : name.substr(start.size())) {
    if (digit < '0' || digit > '9' || index > entry.files) return false;
    index = index * 10 + static_cast<std::size_t>(digit - '0');
  }
  return index < entry.files && name == name_of(entry, index);
}

std::vector<std::string> names_in(const Descriptor& directory) {
  Descriptor again = reopen(directory, O_RDONLY | O_DIRECTORY);
  DIR* const stream = again ? fdopendir(again.get()) : nullptr;
  if (stream == nullptr) throw std::system_error(errno, std::generic_category(), "opendir");
  again.release();
  std::vector<std::string> names;
  while (const dirent* const entry = readdir(stream)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  closedir(stream);
  return names;
}

struct statx facts_of(const Descriptor& file) {
  struct statx found{};
  if (statx(file.get(), "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &found) != 0) {
    throw std::system_error(errno, std::generic_category(), "statx");
  }
  return found;
}

bool born_before(const struct statx& one, const struct statx& other) {
  if (one.stx_btime.tv_sec != other.stx_btime.tv_sec) {
    return one.stx_btime.tv_sec < other.stx_btime.tv_sec;
  }
  return one.stx_btime.tv_nsec < other.stx_btime.tv_nsec;
}

// Why a regular file with one link is not one of the directory's small files; empty where it is.
std::string difference(const FileEntry& entry, const std::string& name,
                       const struct statx& directory, const struct statx& file) {
  if (!is_name(entry, name)) return "does not have such a name";
  if ((file.stx_mask & directory.stx_mask & STATX_BTIME) == 0) {
    return "cannot be proven: its file system has no birth times";
  }
  if (born_before(file, directory)) return "is older than the directory";
  if (file.stx_uid != geteuid() || (file.stx_mode & 077U) != 0) return "may be used by others";
  return file.stx_size > entry.size ? "is larger than those that tierscope made" : "";
}

}  // namespace

void check_room(const std::string& path, std::uint64_t files, std::uint64_t bytes, bool large) {
  const Descriptor directory = open_directory(path);
  check_inodes(path, directory, files, large);
  check_space(space_of(directory, path), path, 0, files * on_disk(bytes), large);
}

void check_room(const std::string& path, std::span<const std::uint64_t> sizes, bool large) {
  const Descriptor directory = open_directory(path);
  check_inodes(path, directory, sizes.size(), large);
  std::uint64_t all = 0;
  for (const std::uint64_t bytes : sizes) all += on_disk(bytes);
  check_space(space_of(directory, path), path, 0, all, large);
}

SmallFiles::SmallFiles(const std::string& parent, std::size_t count, std::uint64_t bytes)
    : SmallFiles(parent, std::vector(count, bytes), false) {}

SmallFiles::SmallFiles(const std::string& parent, std::vector<std::uint64_t> sizes)
    : SmallFiles(parent, std::move(sizes), true) {}

SmallFiles::SmallFiles(const std::string& parent, std::vector<std::uint64_t> sizes, bool cells)
    : parent_(open_directory(parent)),
      parent_path_(parent),
      sizes_(std::move(sizes)),
      inodes_(sizes_.size()),
      cells_(cells) {
  const std::uint64_t largest = sizes_.empty() ? 0 : *std::ranges::max_element(sizes_);
  entry_.name = "tierscope-files." + random_token().substr(0, kTokenDigits);
  entry_.files = sizes_.size();
  entry_.size = largest;
  path_ = fmt::format("{}/{}", parent, entry_.name);
  if (mkdirat(parent_.get(), entry_.name.c_str(), 0700) != 0) {
    throw Unavailable(Cause::kStorage,
                      fmt::format("{} cannot be made: {}", path_, std::strerror(errno)),
                      "name a directory that this user may write to, with free space");
  }
  directory_ = open_below(parent_, entry_.name, O_RDONLY | O_DIRECTORY);
  if (!directory_ || !is_private(directory_) || !names_in(directory_).empty() ||
      flock(directory_.get(), LOCK_EX | LOCK_NB) != 0) {
    throw Unavailable(Cause::kOwnership, path_ + " was replaced while it was made",
                      "leave its files to tierscope while it measures");
  }
  try {
    make_proof(directory_, path_, entry_);
    Manifest(parent_, parent_path_, true).put(entry_);
  } catch (...) {
    remove_directory(parent_, entry_.name, directory_);
    throw;
  }
  struct stat found{};
  if (fstat(directory_.get(), &found) == 0) device_ = found.st_dev;
  for (std::size_t index = 0; index < count(); ++index) names_.push_back(name_of(entry_, index));
  const std::uint64_t written = cells_ ? std::min(largest, kPiece) : largest;
  data_.resize((written + kCellBytes - 1) / kCellBytes * kCellBytes);
  prepare(data_, 1, 0);
  if (!cells_) data_.resize(written);
}

SmallFiles::~SmallFiles() {
  std::string problem;
  try {
    problem = remove_all();
  } catch (const std::exception& error) {
    problem = error.what();
  }
  if (!problem.empty()) std::cerr << "tierscope-engine: " << path_ << " stays: " << problem << '\n';
}

std::string SmallFiles::remove_all() {
  std::string problem;
  for (std::size_t index = 0; index < inodes_.size(); ++index) {
    if (!exists(index)) continue;
    try {
      remove(index);
    } catch (const std::runtime_error& error) {
      if (problem.empty()) problem = error.what();
    }
  }
  const std::string why = remove_directory(parent_, entry_.name, directory_);
  if (!why.empty()) return problem.empty() ? why : problem;
  Manifest(parent_, parent_path_, false).remove(entry_.token);
  return "";
}

std::string SmallFiles::path_of_file(std::size_t index) const {
  return fmt::format("{}/{}", path_, names_[index]);
}

void SmallFiles::fail(const char* what, std::size_t index) const {
  const int error = errno;
  const std::string text =
      fmt::format("{} {} failed: {}", what, path_of_file(index), std::strerror(error));
  if (error == ENOSPC || error == EDQUOT) {
    throw Unavailable(Cause::kStorage, text,
                      "free some space or inodes there, ask for fewer or smaller files, or name "
                      "another directory");
  }
  if (error == EEXIST || error == ENOENT || error == ELOOP || error == EXDEV) {
    throw Unavailable(Cause::kOwnership, text,
                      "leave its files to tierscope while it measures, or name another directory");
  }
  throw Failure(text, Cause::kStorage);
}

std::int64_t SmallFiles::create(std::size_t index, FileSync sync) {
  const std::int64_t begin = now_ns();
  Descriptor file = open_below(directory_, names_[index], O_WRONLY | O_CREAT | O_EXCL, 0600);
  const std::int64_t made = now_ns();
  if (!file) fail("creating", index);
  struct stat found{};
  if (fstat(file.get(), &found) != 0) fail("fstat of", index);
  inodes_[index] = found.st_ino;
  const std::int64_t known = now_ns();
  if (sizes_[index] != 0) write_whole(file, index);
  if (sync != FileSync::kNone && fsync(file.get()) != 0) fail("fsync of", index);
  file.reset();
  if (sync == FileSync::kDirectory && fsync(directory_.get()) != 0) fail("fsync of", index);
  return (now_ns() - known) + (made - begin);
}

void SmallFiles::write_whole(const Descriptor& file, std::size_t index) const {
  if (!cells_) return write_piece(file, index, data_);
  std::vector<std::byte> piece(data_.begin(), data_.end());
  for (std::uint64_t at = 0; at < sizes_[index]; at += piece.size()) {
    if (interrupted()) throw Interrupted();
    stamp(piece, number_of(index), at, kGeneration);
    write_piece(file, index,
                std::span(piece).first(std::min<std::uint64_t>(piece.size(), sizes_[index] - at)));
  }
}

void SmallFiles::write_piece(const Descriptor& file, std::size_t index,
                             std::span<const std::byte> left) const {
  while (!left.empty()) {
    const ssize_t written = write(file.get(), left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("writing", index);
    left = left.subspan(static_cast<std::size_t>(written));
  }
}

void SmallFiles::read_pieces(const Descriptor& file, std::size_t index, std::span<std::byte> buffer,
                             const PieceCame& came) const {
  for (std::uint64_t at = 0; at < sizes_[index];) {
    if (interrupted()) throw Interrupted();
    const std::span piece =
        buffer.first(std::min<std::uint64_t>(buffer.size(), sizes_[index] - at));
    for (std::size_t got = 0; got < piece.size();) {
      const ssize_t more =
          pread(file.get(), piece.data() + got, piece.size() - got, static_cast<off_t>(at + got));
      if (more < 0 && errno == EINTR) continue;
      if (more < 0) fail("reading", index);
      if (more == 0) fail_short(index, at + got);
      got += static_cast<std::size_t>(more);
    }
    if (!came(piece, at)) return;
    at += piece.size();
  }
}

std::optional<std::string> SmallFiles::wrong(std::size_t index) const {
  std::vector<std::byte> buffer(data_.size());
  std::optional<std::string> problem;
  read_pieces(opened(index), index, buffer,
              [&](std::span<const std::byte> piece, std::uint64_t offset) {
                // A cell that the file's end cuts proves nothing.
                const std::span whole = piece.first(piece.size() / kCellBytes * kCellBytes);
                const auto found = verify(whole, number_of(index), offset, kGeneration);
                if (found) problem = found->text(path_of_file(index));
                return !found;
              });
  return problem;
}

void SmallFiles::fail_short(std::size_t index, std::uint64_t bytes) const {
  throw Failure(fmt::format("{} has {} bytes, not the {} that were written", path_of_file(index),
                            bytes, sizes_[index]),
                Cause::kStorage);
}

// A pipe that somebody put in its place does not block.
Descriptor SmallFiles::opened(std::size_t index) const {
  Descriptor file = open_below(directory_, names_[index], O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!file) fail("opening", index);
  return file;
}

std::int64_t SmallFiles::open(std::size_t index) const {
  const std::int64_t begin = now_ns();
  opened(index);
  return now_ns() - begin;
}

std::int64_t SmallFiles::stat(std::size_t index) const {
  struct stat found{};
  const std::int64_t begin = now_ns();
  const int result = fstatat(directory_.get(), names_[index].c_str(), &found, AT_SYMLINK_NOFOLLOW);
  const std::int64_t end = now_ns();
  if (result != 0) fail("fstatat of", index);
  return end - begin;
}

std::int64_t SmallFiles::read(std::size_t index, std::span<std::byte> buffer) const {
  const std::int64_t begin = now_ns();
  Descriptor file = opened(index);
  std::size_t bytes = 0;
  while (true) {
    const ssize_t got = ::read(file.get(), buffer.data() + bytes, buffer.size() - bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("reading", index);
    bytes += static_cast<std::size_t>(got);
    if (got == 0 || bytes >= sizes_[index]) break;
  }
  file.reset();
  const std::int64_t end = now_ns();
  if (bytes != sizes_[index]) fail_short(index, bytes);
  return end - begin;
}

std::int64_t SmallFiles::list() const {
  std::array<char, 32768> buffer;
  std::size_t names = 0;
  const std::int64_t begin = now_ns();
  Descriptor again(openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  long got = 0;
  while ((got = syscall(SYS_getdents64, again.get(), buffer.data(), buffer.size())) > 0) {
    for (long at = 0; at < got; ++names) {
      unsigned short length = 0;
      std::memcpy(&length, buffer.data() + at + offsetof(dirent64, d_reclen), sizeof length);
      at += length;
    }
  }
  again.reset();
  const std::int64_t end = now_ns();
  constexpr std::size_t kDots = 2;  // "." and ".."
  if (got < 0 || names != names_.size() + kDots) {
    throw Failure(fmt::format("{} lists {} names, not the {} of its files{}", path_, names,
                              names_.size() + kDots,
                              got < 0 ? fmt::format(": {}", std::strerror(errno)) : ""),
                  Cause::kStorage);
  }
  return end - begin;
}

void SmallFiles::look_at(std::size_t index) const {
  struct stat found{};
  const bool seen =
      fstatat(directory_.get(), names_[index].c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0;
  std::string wrong = seen ? not_plain(found) : std::strerror(errno);
  if (wrong.empty() && (found.st_ino != inodes_[index] || found.st_dev != device_)) {
    wrong = "another file";
  }
  if (wrong.empty()) return;
  throw Unavailable(Cause::kOwnership,
                    fmt::format("{}, which tierscope made, is now: {}; it is left alone",
                                path_of_file(index), wrong),
                    "leave its files to tierscope while it measures, or name another directory");
}

std::int64_t SmallFiles::unlink(std::size_t index, FileSync sync) {
  const std::int64_t begin = now_ns();
  if (unlinkat(directory_.get(), names_[index].c_str(), 0) != 0) fail("unlinking", index);
  if (sync == FileSync::kDirectory && fsync(directory_.get()) != 0) fail("fsync after", index);
  const std::int64_t end = now_ns();
  inodes_[index] = 0;
  return end - begin;
}

void SmallFiles::remove(std::size_t index) {
  look_at(index);
  unlink(index, FileSync::kNone);
}

SmallFilesLeft look_through(const Descriptor& parent, const FileEntry& entry,
                            const Descriptor& directory, bool remove) {
  constexpr std::uint64_t kStatBlock = 512;
  SmallFilesLeft left;
  const struct statx whole = facts_of(directory);
  for (const std::string& name : names_in(directory)) {
    PlainFile found = open_plain(directory, name, O_PATH);
    if (found.missing) continue;
    std::string problem = found.problem;
    if (found.file) {
      const struct statx facts = facts_of(found.file);
      problem = difference(entry, name, whole, facts);
      left.bytes += problem.empty() ? facts.stx_blocks * kStatBlock : 0;
    }
    left.files += problem.empty() ? 1 : 0;
    std::string why = problem.empty() ? "" : fmt::format("holds '{}', which {}", name, problem);
    if (remove && problem.empty()) {
      problem = remove_file(directory, name, std::move(found.file));
      if (!problem.empty()) why = fmt::format("keeps '{}': {}", name, problem);
    }
    if (left.problem.empty()) left.problem = why;
  }
  if (remove && left.problem.empty()) {
    const std::string problem = remove_directory(parent, entry.name, directory);
    if (!problem.empty()) left.problem = "cannot be removed: " + problem;
  }
  return left;
}

}  // namespace tierscope
