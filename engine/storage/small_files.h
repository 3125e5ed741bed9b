// Small files that tierscope makes, uses and removes by the thousand, in a directory of its own.
//
// A line of the manifest for each would cost more than the file. So the manifest has one line for
// the directory, which has a random name and which only this user may enter, and the directory's
// token is in the name of each file. While a process uses them, it knows each file by its inode and
// looks at it before it unlinks it: right before, but for samples of unlink, where it looks at all
// of them right before the sample, since a look brings a file into the CPU's caches. Of the files
// of a process that was killed, those are proven that are in a proven directory (proof.h), have a
// name with its token and a number, are regular with one link, belong to this user alone, are no
// larger than was written down, and were born after the directory. So no file that was moved there
// is taken for one of them.
//
// Files of sizes of their own, as datasets and checkpoints have, carry cells (contents.h) of which
// each says which file and offset it belongs to.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/descriptor.h"
#include "storage/manifest.h"

namespace tierscope {

// What creating a file waits for: nothing, the file, or the directory, too. Unlinking waits for the
// directory only.
enum class FileSync { kNone, kFile, kDirectory };

// Whether there is room below `path` for so many files of so many bytes: 5% of the inodes and of
// the space stay free and, unless `large`, a tenth of what is free of either may be taken. Throws
// Unavailable with the numbers.
void check_room(const std::string& path, std::uint64_t files, std::uint64_t bytes, bool large);
// The same for files of these sizes.
void check_room(const std::string& path, std::span<const std::uint64_t> sizes, bool large);

using PieceCame = std::function<bool(std::span<const std::byte> piece, std::uint64_t offset)>;

// The operations return the ns that their system calls took. Threads may use different files at the
// same time. They throw Unavailable where space runs out or a file is not the one that was made,
// and Failure for an error of the file system.
class SmallFiles {
 public:
  // Makes an empty directory below `parent` for `count` files of `bytes` each. Throws Unavailable.
  SmallFiles(const std::string& parent, std::size_t count, std::uint64_t bytes);
  // The same for files of these sizes, with cells. Throws Unavailable.
  SmallFiles(const std::string& parent, std::vector<std::uint64_t> sizes);
  // Removes the files and the directory. What has to stay is named on stderr.
  ~SmallFiles();
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

  // Of the directory.
  const std::string& path() const { return path_; }
  std::size_t count() const { return sizes_.size(); }
  std::uint64_t size(std::size_t index) const { return sizes_[index]; }
  bool exists(std::size_t index) const { return inodes_[index] != 0; }

  // Opens a new file, writes it whole, syncs and closes it.
  std::int64_t create(std::size_t index, FileSync sync);
  // Opens and closes.
  std::int64_t open(std::size_t index) const;
  std::int64_t stat(std::size_t index) const;
  // Opens, reads the whole file and closes. `buffer` has room for one byte more than a file.
  std::int64_t read(std::size_t index, std::span<std::byte> buffer) const;
  // The file, open for reading.
  Descriptor opened(std::size_t index) const;
  // Reads all of an open file in pieces as large as the buffer. `came` is told each piece and its
  // offset, and ends it by false.
  void read_pieces(const Descriptor& file, std::size_t index, std::span<std::byte> buffer,
                   const PieceCame& came) const;
  // What is wrong with the cells of a file of a size of its own, in one line; nothing where all of
  // them are as they were written.
  std::optional<std::string> wrong(std::size_t index) const;
  // Opens the directory, reads all names and closes it. All files exist.
  std::int64_t list() const;
  // Unlinks a file that look_at() was called for just before.
  std::int64_t unlink(std::size_t index, FileSync sync);

  // Throws Unavailable where the file's name does not lead to the file that was made.
  void look_at(std::size_t index) const;
  // Looks at the file and unlinks it.
  void remove(std::size_t index);

 private:
  std::string path_of_file(std::size_t index) const;
  [[noreturn]] void fail(const char* what, std::size_t index) const;
  [[noreturn]] void fail_short(std::size_t index, std::uint64_t bytes) const;
  SmallFiles(const std::string& parent, std::vector<std::uint64_t> sizes, bool cells);
  void write_whole(const Descriptor& file, std::size_t index) const;
  void write_piece(const Descriptor& file, std::size_t index,
                   std::span<const std::byte> left) const;
  std::string remove_all();

  Descriptor parent_;
  std::string parent_path_;
  FileEntry entry_{};
  std::string path_;
  Descriptor directory_;  // Locked.
  dev_t device_ = 0;
  std::vector<std::string> names_;
  std::vector<std::uint64_t> sizes_;
  std::vector<ino_t> inodes_;  // 0: it does not exist.
  bool cells_;                 // Each file is written in cells of its own.
  std::vector<std::byte> data_;
};

// What a process that was killed left in a directory of small files.
struct SmallFilesLeft {
  std::uint64_t files = 0;  // That are proven, ...
  std::uint64_t bytes = 0;  // ... and what they take on the device.
  std::string problem;      // Why something has to stay, of the first such name.
};

// Looks at the files in a proven directory; with `remove`, unlinks those that are proven, and the
// directory where nothing is left in it.
SmallFilesLeft look_through(const Descriptor& parent, const FileEntry& entry,
                            const Descriptor& directory, bool remove);

}  // namespace tierscope
