#include "storage/proof.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "errors.h"

namespace tierscope {
namespace {

// Nothing where the file system has no extended attributes; empty where the file lacks this one.
std::optional<std::string> token_of(const Descriptor& file) {
  std::array<char, 64> token{};
  const ssize_t length = fgetxattr(file.get(), kTokenAttribute, token.data(), token.size());
  if (length < 0) return errno == ENODATA ? std::optional<std::string>("") : std::nullopt;
  return std::string(token.data(), static_cast<std::size_t>(length));
}

bool can_be_proven(const FileEntry& entry) {
  return !entry.identity.born.empty() || !entry.identity.handle.empty() || entry.xattr;
}

std::string difference(const Descriptor& directory, const FileEntry& entry,
                       const Descriptor& file) {
  const Identity found = identity_of(file);
  const Identity& known = entry.identity;
  if (found.device != identity_of(directory).device) return "is on another device";
  if (found.inode != known.inode) return "is another file (inode)";
  if (!known.born.empty() && found.born != known.born) return "is another file (birth time)";
  if (!known.handle.empty() && found.handle != known.handle) return "is another file (file handle)";
  const std::optional<std::string> token = token_of(file);
  if (token ? *token != entry.token : entry.xattr) {
    return fmt::format("is another file (token in {})", kTokenAttribute);
  }
  return can_be_proven(entry) ? "" : "has nothing that proves it";
}

// Locks what is proven; closes what is not.
PlainFile proven(const Descriptor& directory, const FileEntry& entry, PlainFile found, Use use) {
  found.problem = difference(directory, entry, found.file);
  if (found.problem.empty() && use == Use::kOwn &&
      flock(found.file.get(), LOCK_EX | LOCK_NB) != 0) {
    found.in_use = errno == EWOULDBLOCK;
    found.problem = found.in_use ? "is in use by another tierscope"
                                 : fmt::format("cannot be locked: {}", std::strerror(errno));
  }
  if (!found.problem.empty()) found.file.reset();
  return found;
}

}  // namespace

PlainFile open_proven(const Descriptor& directory, const FileEntry& entry, Use use) {
  PlainFile found = open_plain(directory, entry.name, O_RDWR);
  return found.file ? proven(directory, entry, std::move(found), use) : std::move(found);
}

PlainFile open_proven_directory(const Descriptor& directory, const FileEntry& entry) {
  Descriptor opened = open_below(directory, entry.name, O_RDONLY | O_DIRECTORY);
  if (!opened && errno == ENOENT) return {.problem = "is missing", .missing = true};
  if (!opened) return {.problem = fmt::format("cannot be opened: {}", std::strerror(errno))};
  if (!is_private(opened)) return {.problem = "may be entered by other users"};
  return proven(directory, entry, {.file = std::move(opened)}, Use::kOwn);
}

bool is_private(const Descriptor& directory) {
  struct stat found{};
  return fstat(directory.get(), &found) == 0 && found.st_uid == geteuid() &&
         (found.st_mode & 0777U) == 0700;
}

void make_proof(const Descriptor& file, const std::string& path, FileEntry& entry) {
  entry.token = random_token();
  entry.xattr =
      fsetxattr(file.get(), kTokenAttribute, entry.token.data(), entry.token.size(), 0) == 0;
  entry.identity = identity_of(file);
  if (can_be_proven(entry)) return;
  throw Unavailable(
      Cause::kOwnership,
      fmt::format("{}: its file system has neither birth times nor extended attributes "
                  "nor file handles, so that nothing could prove a file tierscope's",
                  path),
      "name a directory on another file system");
}

}  // namespace tierscope
