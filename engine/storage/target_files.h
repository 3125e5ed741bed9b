// The files or the device that a job goes over.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/descriptor.h"
#include "storage/device_guard.h"
#include "storage/owned_files.h"

namespace tierscope {

// One file that all hosts of a fleet use: it has this name below the path, which is a directory.
struct CommonFile {
  std::string name;   // Empty: there is none.
  int part = 0;       // Of this host,
  int parts = 1;      // and of all hosts.
  double wait_s = 0;  // For the host that makes it, at most; 0: this one makes it.
};

struct TargetSpec {
  // kOwned: files of ours below a directory; kPath: the same where the path is a directory, else
  // the file or the device that it is.
  enum class Kind { kOwned, kPath, kDevice };
  Kind kind;
  std::string path;                 // A directory, a file or a device.
  std::string stem = "tierscope.";  // Our files' names are this and a number from 0 on.
  int count = 1;                    // Of our files.
  std::uint64_t size = 0;   // Of each of our files; of others, most bytes that are used; 0: all.
  bool large = false;       // Our files may take more than a tenth of the free space.
  bool create = false;      // A file that is missing is made.
  bool keep = false;        // Our files stay.
  bool overwrite = false;   // Another's file may be written.
  std::string destroy;      // A device's name by id, or its serial number, if it may be written.
  std::string second_word;  // Said of a device with data that has no known signature.
  bool purge = false;       // Of a device: a fresh repetition begins by purge().
  CommonFile common;
};

class TargetFiles {
 public:
  // Makes or checks the files, untimed. `cell` is that of the contents (contents.h), 0 where they
  // cannot be verified. Throws Unavailable, with what to do.
  TargetFiles(const TargetSpec& spec, FilePool& pool, std::uint32_t cell, int compressible,
              bool writes);

  const std::vector<std::string>& names() const { return names_; }
  const std::vector<std::uint64_t>& sizes() const { return sizes_; }

  // The number that the contents of a file carry; absent where they are not tierscope's, or have
  // other cells.
  std::optional<std::uint32_t> number(int file) const;

  // Call before each repetition that writes: other measurements of this run may have filled the
  // files with other cells. `cut`: it truncates. See OwnedFile::will_hold() and will_be_cut().
  void will_write(bool cut);

  // See OwnedFile::changes_by_others(); empty of files that are not tierscope's.
  std::string changes_by_others(int file) const;

  // Whether all of them are files that tierscope made.
  bool ours() const { return !owned_.empty(); }

  // Whether what is written can be read again: not of /dev/null and /dev/zero.
  bool keeps_data() const { return keeps_data_; }

  // Discards the device's data, where that is asked for; returns its bytes. Throws as Device does.
  std::uint64_t purge() const;

  // New descriptors of all files, in their order. Throws Unavailable.
  std::vector<Descriptor> open(bool writes, bool direct) const;

 private:
  void own(const FilesWanted& wanted, FilePool& pool);
  void add(OwnedFile* file, std::uint64_t size);
  void use(bool writes);
  Descriptor open_other(bool writes, bool direct) const;

  TargetSpec spec_;
  std::uint32_t cell_;
  bool keeps_data_ = true;
  std::vector<OwnedFile*> owned_;
  std::unique_ptr<Device> device_;
  std::vector<std::string> names_;
  std::vector<std::uint64_t> sizes_;
};

}  // namespace tierscope
