// The files that this process has in one directory; what FilePool is made of.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/owned_files.h"

namespace tierscope {

class OwnedDirectory {
 public:
  // Throws Unavailable.
  explicit OwnedDirectory(const std::string& path);

  std::vector<OwnedFile*> lease(const FilesWanted& wanted, const FileProgress& progress);

  // See FilePool::find().
  OwnedFile* find(const std::string& name, std::optional<std::uint32_t> cell, std::string& problem,
                  const FileProgress& progress);

  // See FilePool::borrow(); nullptr while it is not there.
  OwnedFile* borrow(const std::string& name);

  // Unlinks the files that are not kept. Returns one line for each that had to stay.
  std::vector<std::string> close();

 private:
  friend class OwnedFile;
  OwnedFile* held(const std::string& key) const;
  OwnedFile* existing(const std::string& name, const FileProgress& progress);
  OwnedFile* adopt(const FileEntry& entry, Descriptor opened, const std::string& unchanged_since);
  std::unique_ptr<OwnedFile> create(const FilesWanted& wanted, const std::string& name);
  void require_absent(const std::string& name) const;
  void complete(OwnedFile& file, const FilesWanted& wanted, const FileProgress& progress);
  void write(OwnedFile& file, std::uint64_t from, std::uint64_t to, const FileProgress& progress);
  void give_name(OwnedFile& file);
  void write_down(const FileEntry& entry);
  void write_closed(OwnedFile& file);
  std::string discard(OwnedFile& file);

  Descriptor directory_;
  std::string path_;
  std::map<std::string, std::unique_ptr<OwnedFile>> files_;
};

}  // namespace tierscope
