#include "storage/path_facts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <linux/stat.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "storage/device_counters.h"
#include "storage/mounts.h"

namespace tierscope {
namespace {

using nlohmann::ordered_json;

class File {
 public:
  File(const std::string& path, int flags) : number_(open(path.c_str(), flags | O_CLOEXEC)) {}
  ~File() {
    if (number_ >= 0) close(number_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw std::runtime_error(fmt::format("{}: {}", path, why));
}

// A link in /proc leads to the file that is open already, whatever its path leads to by now.
std::string link_to(int file) { return fmt::format("/proc/self/fd/{}", file); }

std::string kind_of(mode_t mode) {
  if (S_ISREG(mode)) return "file";
  if (S_ISDIR(mode)) return "directory";
  return S_ISBLK(mode) ? "block" : "other";
}

std::string nearest_directory(const std::string& path) {
  if (std::error_code error; std::filesystem::is_symlink(path, error)) {
    refuse(path, fmt::format("a symbolic link to '{}', which does not exist",
                             std::filesystem::read_symlink(path, error).string()));
  }
  std::filesystem::path above = std::filesystem::absolute(path);
  while (above.has_relative_path()) {
    above = above.parent_path();
    if (File(above, O_PATH | O_DIRECTORY).number() >= 0) break;
    if (errno != ENOENT) refuse(above, std::strerror(errno));
  }
  return above;
}

void add_space(int file, ordered_json& facts) {
  struct statfs space{};
  if (fstatfs(file, &space) != 0) return;
  const auto block = static_cast<std::uint64_t>(space.f_bsize);
  facts["total_bytes"] = space.f_blocks * block;
  facts["free_bytes"] = space.f_bavail * block;
}

void add_mount(int file, ordered_json& facts) {
  const std::optional<Mount> mount = mount_of(file);
  if (!mount) return;
  facts["mount"] = {{"id", mount->id},
                    {"point", mount->point},
                    {"type", mount->type},
                    {"source", mount->source},
                    {"options", mount->options}};
}

// Of directories statx says nothing: whether the files in it are mapped past the page cache is an
// option of the mount, `dax` or `dax=always` ("Direct Access for files" of the kernel's documents).
void add_dax_of_mount(ordered_json& facts) {
  const std::string options = "," + facts["mount"].value("options", "") + ",";
  facts["dax"] = options.find(",dax,") != std::string::npos ||
                 options.find(",dax=always,") != std::string::npos;
}

// What statx says beyond stat.
void add_attributes(int file, ordered_json& facts) {
  struct statx wide{};
  if (statx(file, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_DIOALIGN, &wide) != 0) return;
  if ((wide.stx_attributes_mask & STATX_ATTR_DAX) != 0) {
    facts["dax"] = (wide.stx_attributes & STATX_ATTR_DAX) != 0;
  }
  if ((wide.stx_mask & STATX_DIOALIGN) == 0) return;
  facts["dio_memory_align"] = wide.stx_dio_mem_align;
  facts["dio_offset_align"] = wide.stx_dio_offset_align;
}

void add_opened(int file, bool block, ordered_json& facts) {
  const File direct(link_to(file), O_RDONLY | O_DIRECT | O_NONBLOCK);
  const int refused = direct.number() < 0 ? errno : 0;
  if (refused == 0 || refused == EINVAL || refused == EOPNOTSUPP) {
    facts["direct"] = refused == 0;
  } else {
    facts["open_error"] = std::strerror(refused);
  }
  if (!block) return;
  // A device may refuse direct I/O and still tell its size.
  const File plain(link_to(file), O_RDONLY | O_NONBLOCK);
  std::uint64_t size = 0;
  if (ioctl(plain.number(), BLKGETSIZE64, &size) == 0) facts["size"] = size;
}

}  // namespace

ordered_json path_facts(const std::string& path) {
  ordered_json facts{{"path", path}};
  std::string there = path;
  if (File(path, O_PATH).number() < 0) {
    if (errno != ENOENT) refuse(path, std::strerror(errno));
    there = nearest_directory(path);
    facts["kind"] = "missing";
  }
  const File file(there, O_PATH);
  struct stat status{};
  if (file.number() < 0 || fstat(file.number(), &status) != 0) refuse(there, std::strerror(errno));
  const bool block = S_ISBLK(status.st_mode);
  if (!facts.contains("kind")) facts["kind"] = kind_of(status.st_mode);
  std::error_code error;
  facts["real"] = std::filesystem::read_symlink(link_to(file.number()), error);
  const dev_t device = device_of(file.number());
  facts["device"] = fmt::format("{}:{}", major(device), minor(device));
  if (S_ISREG(status.st_mode)) facts["size"] = status.st_size;
  if (!block) {
    add_space(file.number(), facts);
    add_mount(file.number(), facts);
  }
  facts["page_bytes"] = sysconf(_SC_PAGESIZE);
  add_attributes(file.number(), facts);
  if (S_ISDIR(status.st_mode) && facts.contains("mount")) add_dax_of_mount(facts);
  if (block || S_ISREG(status.st_mode)) add_opened(file.number(), block, facts);
  return facts;
}

}  // namespace tierscope
