#include "storage/manifest.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <stdexcept>
#include <thread>

#include "errors.h"

namespace tierscope {
namespace {

constexpr off_t kMaxBytes = 64 << 20;
constexpr std::string_view kStart = "{\"tierscope_files\":";

Unavailable not_ours(const std::string& path, const std::string& what) {
  return {
      Cause::kOwnership,
      fmt::format("{} does not prove which files are tierscope's: it {}", path, what),
      fmt::format("look at {}; remove it, and the files that tierscope left beside it, by hand, "
                  "or use another directory",
                  path)};
}

bool same_file(const Descriptor& directory, const std::string& name, const Descriptor& file) {
  struct stat held{};
  struct stat named{};
  return fstat(file.get(), &held) == 0 &&
         fstatat(directory.get(), name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

// What the names of all lists begin and end with.
constexpr std::string_view kBegin = ".tierscope-files.";
constexpr std::string_view kEnd = "json";

bool is_of_this_user(const Descriptor& directory, const char* name) {
  struct stat found{};
  return fstatat(directory.get(), name, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
         found.st_uid == geteuid();
}

}  // namespace

std::string manifest_name() {
  const char* const host = std::getenv(kHostVariable);
  if (host == nullptr || *host == '\0') return kManifestName;
  constexpr std::size_t kMost = 128;
  std::string name = std::string(host).substr(0, kMost);
  const auto odd = [](unsigned char sign) {
    return std::isalnum(sign) == 0 && sign != '-' && sign != '.' && sign != '_';
  };
  std::ranges::replace_if(name, odd, '-');
  return fmt::format("{}{}.{}", kBegin, name, kEnd);
}

std::vector<std::string> manifest_names(const Descriptor& directory) {
  std::vector<std::string> names{manifest_name()};
  const int opened = openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const listed = opened < 0 ? nullptr : fdopendir(opened);
  if (listed == nullptr) {
    const int error = errno;
    if (opened >= 0) close(opened);
    throw Unavailable(Cause::kStorage,
                      fmt::format("the directory cannot be listed: {}", std::strerror(error)));
  }
  while (const dirent* const entry = readdir(listed)) {
    const std::string_view name = entry->d_name;
    if (name.starts_with(kBegin) && name.ends_with(kEnd) && name != names.front() &&
        is_of_this_user(directory, entry->d_name)) {
      names.emplace_back(name);
    }
  }
  closedir(listed);
  std::ranges::sort(names.begin() + 1, names.end());
  return names;
}

// Another process may remove or make the manifest while this one waits for the lock. An empty file
// is only another one's that is being made: nothing proves that it is tierscope's.
Manifest::Manifest(const Descriptor& directory, const std::string& path, bool create,
                   std::string name)
    : directory_(directory), name_(std::move(name)), path_(fmt::format("{}/{}", path, name_)) {
  constexpr int kTries = 50;
  for (int tries = 0;; ++tries) {
    if (!open_existing() && !create) return;
    if (!file_) create_new();
    if (!file_) continue;  // Somebody else made it meanwhile.
    check_ours();
    lock();
    const bool empty = is_empty();
    if (!empty && same_file(directory_, name_, file_)) break;
    if (empty && tries >= kTries) throw not_ours(path_, "is empty");
    file_.reset();
    std::this_thread::sleep_for(std::chrono::milliseconds(empty ? 20 : 0));
  }
  read();
}

// The last one to leave takes an empty list away.
Manifest::~Manifest() {
  if (!removed_some_ || !entries_.empty()) return;
  try {
    remove_file(directory_, name_, std::move(file_));
  } catch (const std::exception& error) {  // It stays, empty, and does no harm.
    std::cerr << "tierscope-engine: " << path_ << " stays: " << error.what() << '\n';
  }
}

bool Manifest::open_existing() {
  PlainFile found = open_plain(directory_, name_, O_RDWR | O_APPEND);
  if (!found.file && !found.missing) {  // A file system that may only be read can still be listed.
    found = open_plain(directory_, name_, O_RDONLY);
  }
  if (!found.file && !found.missing) throw not_ours(path_, found.problem);
  file_ = std::move(found.file);
  return !found.missing;
}

// It has its first line before it has its name, where the file system knows files without names.
void Manifest::create_new() {
  constexpr mode_t kMode = 0600;
  const std::string header = manifest_header();
  file_ = make_nameless(directory_, O_RDWR | O_APPEND, kMode);
  const bool nameless = bool(file_);
  if (!file_) file_ = open_below(directory_, name_, O_RDWR | O_APPEND | O_CREAT | O_EXCL, kMode);
  const bool made = file_ && write(file_.get(), header.data(), header.size()) ==
                                 static_cast<ssize_t>(header.size());
  if (made && (!nameless || give_name(file_, directory_, name_))) return;
  const int error = errno;
  if (file_ && !nameless) remove_file(directory_, name_, std::move(file_));
  file_.reset();
  if (error == EEXIST) return;
  throw Unavailable(Cause::kStorage,
                    fmt::format("{} cannot be made: {}", path_, std::strerror(error)),
                    "name a directory that this user may write to, with free space");
}

void Manifest::check_ours() const {
  struct stat found{};
  if (fstat(file_.get(), &found) != 0) throw not_ours(path_, std::strerror(errno));
  if (found.st_uid != geteuid()) {
    throw not_ours(path_,
                   fmt::format("belongs to user {}, and this is user {}", found.st_uid, geteuid()));
  }
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    throw not_ours(path_,
                   fmt::format("may be written by others (mode {:o})", found.st_mode & 07777U));
  }
  // Of another file not even the lock is taken: somebody may hold that.
  std::string start(kStart.size(), '\0');
  const ssize_t got = pread(file_.get(), start.data(), start.size(), 0);
  if (found.st_size != 0 && (got < 0 || start != kStart)) {
    throw not_ours(path_, "is damaged: line 1 is not tierscope's");
  }
  if (found.st_size > kMaxBytes) {
    throw not_ours(path_, fmt::format("has {} bytes, far more than a list", found.st_size));
  }
}

void Manifest::lock() {
  using namespace std::chrono_literals;
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  while (flock(file_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      throw not_ours(path_, fmt::format("cannot be locked: {}", std::strerror(errno)));
    }
    if (std::chrono::steady_clock::now() > deadline) {
      throw Unavailable(Cause::kStorage, fmt::format("{} has been locked for 10 s", path_),
                        fmt::format("`fuser {}` names who holds it", path_));
    }
    std::this_thread::sleep_for(20ms);
  }
}

bool Manifest::is_empty() const {
  struct stat found{};
  return fstat(file_.get(), &found) == 0 && found.st_size == 0;
}

void Manifest::read() {
  struct stat found{};
  if (fstat(file_.get(), &found) != 0) throw not_ours(path_, std::strerror(errno));
  std::string text(static_cast<std::size_t>(found.st_size), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count =
        pread(file_.get(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (count <= 0) throw not_ours(path_, fmt::format("cannot be read: {}", std::strerror(errno)));
    done += static_cast<std::size_t>(count);
  }
  try {
    entries_ = parse_manifest(text);
  } catch (const std::runtime_error& error) {
    throw not_ours(path_, fmt::format("is damaged: {}", error.what()));
  }
}

const FileEntry* Manifest::find(const std::string& name) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const FileEntry& entry) { return entry.name == name; });
  return found == entries_.end() ? nullptr : &*found;
}

void Manifest::put(const FileEntry& entry) {
  append(manifest_line(entry));
  std::erase_if(entries_, [&](const FileEntry& old) { return old.token == entry.token; });
  entries_.push_back(entry);
}

void Manifest::remove(const std::string& token) {
  append(manifest_gone(token));
  removed_some_ = true;
  std::erase_if(entries_, [&](const FileEntry& old) { return old.token == token; });
}

// A line that could be written in part only is taken back.
void Manifest::append(const std::string& line) {
  struct stat before{};
  if (fstat(file_.get(), &before) != 0) throw not_ours(path_, std::strerror(errno));
  if (const std::string wrong = not_plain(before); !wrong.empty()) {
    throw not_ours(path_, "is " + wrong);
  }
  const ssize_t written = write(file_.get(), line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size()) && fdatasync(file_.get()) == 0) return;
  const std::string why = written >= 0 ? "no space" : std::strerror(errno);
  if (ftruncate(file_.get(), before.st_size) != 0) {
    throw not_ours(path_, fmt::format("could be written in part only: {}", why));
  }
  throw Unavailable(Cause::kStorage, fmt::format("{} cannot be written: {}", path_, why),
                    "free some space there, or name another directory");
}

}  // namespace tierscope
