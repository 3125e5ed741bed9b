// The list of the files in a directory that tierscope made: what proves that they are its own.
//
// `.tierscope-files.json` belongs to the user who runs tierscope, who alone may write it. It is a
// journal of JSON objects, one a line, that is only ever appended to:
//
//     {"tierscope_files":1,"check":"..."}                     first line; 1 is the format's version
//     {"name":..., "device":..., "inode":..., "born":..., "handle":..., "token":..., "xattr":...,
//      "number":..., "size":..., "cell":..., "compressible":..., "filled":..., "keep":...,
//      "closed":..., "check":"..."}                                         a file; a later line of
//      its token holds
//     {..., "files":1000, ...}                                a directory of up to so many small
//      files, of at most "size" bytes each (small_files.h)
//     {"gone":"token","check":"..."}                          it was removed
//
// `check` is XXH3 of the line before `,"check"`, as 16 hex digits, so that a line that was edited
// or cut is noticed. A missing last line only makes a file unproven, which is safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "storage/descriptor.h"

namespace tierscope {

inline constexpr const char* kManifestName = ".tierscope-files.json";
inline constexpr const char* kTokenAttribute = "user.tierscope";
// Of a host of a fleet, its name. Hosts that share a directory have a list each, since not every
// file system locks between hosts, nor appends for several of them.
inline constexpr const char* kHostVariable = "TIERSCOPE_HOST";

// A file that tierscope made, or a directory of small files.
struct FileEntry {
  std::string name;
  Identity identity;
  std::string token;  // Random.
  bool xattr;         // The file has the token, too, as its extended attribute user.tierscope.
  std::uint32_t number;
  std::uint64_t size;
  std::uint32_t cell;  // Of its contents; 0: they cannot be verified.
  int compressible;    // Percent.
  bool filled;         // All of it was written.
  bool keep;
  // Of a file that is kept, its change time when tierscope last had written to it and closed it, as
  // "SECONDS.NANOSECONDS"; empty: not known.
  std::string closed = {};
  std::uint64_t files = 0;  // Of a directory: most small files in it. 0: it is a file.
};

// The entries of a manifest, those that are gone left out. Throws std::runtime_error, with the
// line's number, where it is damaged or not tierscope's.
std::vector<FileEntry> parse_manifest(std::string_view text);

// A line each, with its end.
std::string manifest_header();
std::string manifest_line(const FileEntry& entry);
std::string manifest_gone(const std::string& token);

// The name of this process's list: `.tierscope-files.json`, or `.tierscope-files.HOST.json`.
std::string manifest_name();
// The names of all lists in a directory, this process's first. Throws Unavailable.
std::vector<std::string> manifest_names(const Descriptor& directory);

// A directory's manifest, locked against other processes while this object lives.
class Manifest {
 public:
  // Opens and reads it. A missing one is made where `create` is true; else it is empty. Throws
  // Unavailable: not ours, damaged, locked for longer than 10 s.
  Manifest(const Descriptor& directory, const std::string& path, bool create,
           std::string name = manifest_name());
  ~Manifest();
  Manifest(const Manifest&) = delete;
  Manifest& operator=(const Manifest&) = delete;

  const std::vector<FileEntry>& entries() const { return entries_; }
  const FileEntry* find(const std::string& name) const;

  // Adds a file, or says something new of one. On disk when it returns; throws Unavailable.
  void put(const FileEntry& entry);
  void remove(const std::string& token);

 private:
  bool open_existing();
  void create_new();
  void check_ours() const;
  void lock();
  bool is_empty() const;
  void read();
  void append(const std::string& line);

  const Descriptor& directory_;
  std::string name_;
  std::string path_;
  Descriptor file_;
  std::vector<FileEntry> entries_;
  bool removed_some_ = false;
};

}  // namespace tierscope
