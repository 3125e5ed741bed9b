// The files or the device that a job goes over.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/contents.h"

namespace tierscope {

class FilePool;
class OwnedFile;

struct TargetSpec {
  // kOwned: files of ours below a directory; kPath: the same where the path is a directory, else
  // the file that it is.
  enum class Kind { kOwned, kPath, kDevice };
  Kind kind;
  std::string path;                 // A directory, a file or a device.
  std::string stem = "tierscope.";  // Our files' names are this and a number from 0 on.
  int count = 1;                    // Of our files.
  std::uint64_t size = 0;  // Of each of our files; of others, bytes that are used; 0: all.
  bool create = false;     // A file that is missing is made.
  bool keep = false;       // Our files stay.
  bool overwrite = false;  // Another's file may be written.
  std::string destroy;      // A device's name by id, or its serial number, if it may be written.
  std::string second_word;  // Said of a device with data that has no known signature.
};

// An open descriptor, closed at the end.
class OpenFile {
 public:
  explicit OpenFile(int fd) : fd_(fd) {}
  ~OpenFile();
  OpenFile(OpenFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OpenFile& operator=(OpenFile&&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

class TargetFiles {
 public:
  // Makes or checks the files, untimed. Throws Unavailable, with what to do.
  TargetFiles(const TargetSpec& spec, FilePool& pool, int compressible);

  const std::vector<std::string>& names() const { return names_; }
  const std::vector<std::uint64_t>& sizes() const { return sizes_; }

  // The number that the contents of a file carry; absent where they are not tierscope's.
  std::optional<std::uint32_t> number(int file) const;

  // New descriptors of all files, in their order.
  std::vector<OpenFile> open(bool writes, bool direct) const;

 private:
  TargetSpec spec_;
  std::vector<OwnedFile*> owned_;
  std::vector<std::string> names_;
  std::vector<std::uint64_t> sizes_;
};

}  // namespace tierscope
