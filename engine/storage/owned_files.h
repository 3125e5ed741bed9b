// Files that tierscope makes, fills, uses and removes.
//
// A file is tierscope's only if the directory's manifest proves it: it has the name, device, inode,
// birth time, file handle and token (an extended attribute) that were written down when it was
// made, as far as its file system has them, and its contents are tierscope's (changes.h). It is
// opened below the directory's descriptor through no link and no mount, and looked at again before
// it is written and before it is removed. A file that is in use is locked (flock), so that no other
// tierscope takes or removes it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/contents.h"
#include "storage/descriptor.h"
#include "storage/fill.h"
#include "storage/manifest.h"

namespace tierscope {

struct FilesWanted {
  std::string directory;
  std::string stem;  // Of the names: STEM0, STEM1, ...; no path.
  std::string name;  // Of the one file, where it is to have just this; then there is no stem.
  int count = 1;
  std::uint64_t size = 0;  // Bytes of each; what exists may be larger.
  bool keep = false;       // They stay and are used again by later runs. Else STEM0 and so on are
                           // only the beginnings of names.
  int compressible = 0;    // Percent of what they are filled with.
  // Cells of the contents where they are going to be verified (contents.h). 0: they are not, and
  // may be overwritten by anything. Files of different cells are different files.
  std::uint32_t cell = 0;
  bool large = false;  // The user named the size: more than a tenth of the free space may be taken.
};

class OwnedDirectory;

class OwnedFile {
 public:
  // A new descriptor of this very file, which belongs to the caller; flags as for open(2), without
  // O_CREAT and O_TRUNC. Checks first; throws Unavailable, also where it is opened for writing for
  // the first time, and somebody changed it since it was leased.
  int open(int flags) const;

  // Call before blocks of these cells (contents.h; 0: of none) are written. Where they are not the
  // file's own, its contents cannot be verified any more, and the list says so first. Throws
  // Unavailable.
  void will_hold(std::uint32_t other_cell);
  // The same before it is cut: it is filled anew before it is leased again.
  void will_be_cut();

  // What another program wrote into it since it was leased, in words that fit behind "it"; empty
  // where nobody did, and once tierscope itself writes to it. Reads the file up to there.
  std::string changes_by_others() const;

  // Throws Unavailable where this is not a regular file with one link any more, or not the one that
  // was made. Call before the first write.
  void check() const;

  std::uint64_t size = 0;
  std::uint32_t number = 0;  // In its contents.
  std::uint32_t cell = 0;    // Of its contents; 0: they cannot be verified.
  std::string path;

 private:
  friend class OwnedDirectory;
  bool has_changed() const;
  // Throws Unavailable. From here on it is tierscope that changes it.
  void check_before_writing() const;

  OwnedDirectory* directory_ = nullptr;
  FileEntry entry_;
  Descriptor file_;  // Open for reading and writing, and locked.
  // The same file by the name that it was given. Who asks the kernel for the path of a descriptor,
  // as cuFile does, gets none of a file that was made without a name.
  Descriptor by_name_;
  bool named_ = true;      // It has its name; else it has none yet and vanishes when it is closed.
  bool borrowed_ = false;  // It is another host's to change, remove and write down.
  // Of a file that is kept, its change time as long as nobody writes to it; empty once it is
  // tierscope that does.
  mutable std::string unchanged_since_;
};

class FilePool {
 public:
  FilePool();
  // Unlinks the files that are not kept.
  ~FilePool();
  FilePool(const FilePool&) = delete;
  FilePool& operator=(const FilePool&) = delete;

  // `progress` is told how far a file is that is filled or checked as a whole.
  void report_to(FileProgress progress) { progress_ = std::move(progress); }

  // The files, of which the missing ones are made and filled. They stay valid while the pool lives;
  // asking again for the same directory, stem, cell and compressibility gives the same files.
  // Throws Unavailable, Failure, Interrupted; what was made by then is removed with the pool.
  std::vector<OwnedFile*> lease(const FilesWanted& wanted);

  // The file of this path, if a manifest proves that tierscope made it and nobody else wrote to
  // it; else nullptr: it is somebody's, or missing. `problem` says what of a file that tierscope
  // made is not its own, in words that fit behind "it". `cell` is that of what is going to be
  // written; absent: nothing is. Throws Unavailable where another tierscope uses it.
  OwnedFile* find(const std::string& path, std::optional<std::uint32_t> cell, std::string& problem);

  // A file of this name that another host makes in a directory, once it is filled; the other host
  // removes it. Throws Unavailable where that takes longer than so many seconds, Interrupted.
  OwnedFile* borrow(const std::string& directory, const std::string& name, double longest_s);

 private:
  OwnedDirectory& directory(const std::string& path);

  FileProgress progress_;
  std::map<std::string, std::unique_ptr<OwnedDirectory>> directories_;
};

}  // namespace tierscope
