#include "storage/owned_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <thread>

#include "errors.h"
#include "interrupt.h"
#include "sampling/clock.h"
#include "storage/changes.h"
#include "storage/owned_directory.h"

namespace tierscope {

void OwnedFile::check() const {
  struct stat found{};
  const bool seen = fstat(file_.get(), &found) == 0;
  const std::string wrong = seen ? not_plain(found) : std::strerror(errno);
  if (wrong.empty()) return;
  throw Unavailable(
      Cause::kOwnership,
      fmt::format("{}, which tierscope made, is {} now, and is left alone", path, wrong),
      "leave its files to tierscope while it measures, or name another directory");
}

void OwnedFile::will_hold(std::uint32_t other_cell) {
  if (other_cell == cell) return;
  cell = entry_.cell = 0;
  directory_->write_down(entry_);
}

void OwnedFile::will_be_cut() {
  cell = entry_.cell = 0;
  entry_.filled = false;
  directory_->write_down(entry_);
}

bool OwnedFile::has_changed() const {
  return !unchanged_since_.empty() && change_time(file_) != unchanged_since_;
}

std::string OwnedFile::changes_by_others() const {
  return has_changed() ? foreign_contents(file_, entry_) : "";
}

void OwnedFile::check_before_writing() const {
  check();
  if (has_changed()) {
    throw Unavailable(Cause::kOwnership,
                      fmt::format("{} was changed by another program, and is not written", path),
                      "leave its files to tierscope while it measures, or name another directory");
  }
  unchanged_since_.clear();
}

int OwnedFile::open(int flags) const {
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  writes ? check_before_writing() : check();
  Descriptor opened = reopen(by_name_ ? by_name_ : file_, flags & ~(O_CREAT | O_EXCL | O_TRUNC));
  if (opened) return opened.release();
  if (errno == EINVAL && (flags & O_DIRECT) != 0) throw no_direct_io(path);
  throw Unavailable(Cause::kStorage,
                    fmt::format("{} cannot be opened: {}", path, std::strerror(errno)));
}

FilePool::FilePool() = default;

FilePool::~FilePool() {
  for (auto& [path, directory] : directories_) {
    for (const std::string& problem : directory->close()) {
      std::cerr << "tierscope-engine: " << problem << '\n';
    }
  }
}

OwnedDirectory& FilePool::directory(const std::string& path) {
  const auto found = directories_.find(path);
  if (found != directories_.end()) return *found->second;
  return *directories_.emplace(path, std::make_unique<OwnedDirectory>(path)).first->second;
}

OwnedFile* FilePool::find(const std::string& path, std::optional<std::uint32_t> cell,
                          std::string& problem) {
  const std::filesystem::path whole(path);
  const std::string parent = whole.parent_path().empty() ? "." : whole.parent_path().string();
  std::error_code unknown;
  if (!std::filesystem::is_directory(parent, unknown)) return nullptr;
  return directory(parent).find(whole.filename(), cell, problem, progress_);
}

OwnedFile* FilePool::borrow(const std::string& directory, const std::string& name,
                            double longest_s) {
  constexpr std::chrono::milliseconds kPause(50);
  OwnedDirectory& place = this->directory(directory);
  const double begin = now_seconds();
  while (now_seconds() - begin < longest_s) {
    if (OwnedFile* const file = place.borrow(name)) return file;
    if (interrupted()) throw Interrupted();
    std::this_thread::sleep_for(kPause);
  }
  throw Unavailable(
      Cause::kStorage,
      fmt::format("{}/{}, which another host makes, was not there after {:.0f} s", directory, name,
                  longest_s),
      "see whether the first host can make it, and whether all hosts share this directory");
}

std::vector<OwnedFile*> FilePool::lease(const FilesWanted& wanted) {
  return directory(wanted.directory).lease(wanted, progress_);
}

}  // namespace tierscope
