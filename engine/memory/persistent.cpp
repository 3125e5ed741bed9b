#include "memory/persistent.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <numaif.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <utility>
#include <vector>

#include "errors.h"
#include "memory/numa_policy.h"
#include "memory/read_back.h"
#include "memory/survival.h"
#include "memory/system_memory.h"
#include "sizes.h"

namespace tierscope {
namespace {

[[noreturn]] void refuse(const std::string& directory, const char* what, int error) {
  throw Unavailable(
      error == EACCES || error == EPERM || error == EROFS ? Cause::kPermission : Cause::kStorage,
      fmt::format("{}: {}: {}", directory, what, std::strerror(error)),
      "name a directory that this user may write, with room for the arrays");
}

void require_room(const std::string& path, int directory, std::size_t bytes) {
  struct statvfs found{};
  if (fstatvfs(directory, &found) != 0) refuse(path, "statvfs", errno);
  const std::size_t room = std::size_t{found.f_bavail} * found.f_frsize;
  if (bytes <= room) return;
  throw Unavailable(
      Cause::kStorage,
      fmt::format("{} has room for {}; {} needed", path, size_text(room), size_text(bytes)),
      "ask for a smaller size, or make room there");
}

// A file whose name goes as soon as it is open, where the file system has none without a name.
Descriptor make_unlinked(const std::string& path, const Descriptor& directory) {
  const std::string name = ".tierscope-" + random_token();
  Descriptor file(openat(directory.get(), name.c_str(),
                         O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) refuse(path, "no file can be made there", errno);
  unlinkat(directory.get(), name.c_str(), 0);
  return file;
}

}  // namespace

Descriptor make_unnamed_file(const std::string& directory, std::size_t bytes) {
  const Descriptor within = open_directory(directory);
  Descriptor file = make_nameless(within, O_RDWR, 0600);
  if (!file && errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT) {
    refuse(directory, "no file can be made there", errno);
  }
  if (!file) file = make_unlinked(directory, within);
  require_room(directory, within.get(), bytes);
  if (ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) {
    refuse(directory, "a file cannot have that size", errno);
  }
  if (facts_of(file).file_system == "tmpfs") return file;
  const int error = posix_fallocate(file.get(), 0, static_cast<off_t>(bytes));
  if (error != 0) refuse(directory, "room for the arrays", error);
  return file;
}

Descriptor open_shared_file(const std::string& path, std::size_t bytes) {
  constexpr const char* kRemedy = "name a file of zeros; `truncate -s 64M PATH` makes one";
  Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) {
    throw Unavailable(
        errno == EACCES || errno == EPERM || errno == EROFS ? Cause::kPermission : Cause::kStorage,
        fmt::format("{}: {}", path, std::strerror(errno)), kRemedy);
  }
  struct stat found{};
  fstat(file.get(), &found);
  if (!S_ISREG(found.st_mode)) {
    throw Unavailable(Cause::kStorage, path + " is no file that processes can share", kRemedy);
  }
  if (static_cast<std::size_t>(found.st_size) < bytes) {
    throw Unavailable(Cause::kStorage,
                      fmt::format("{} has {} bytes; {} needed", path, found.st_size, bytes),
                      kRemedy);
  }
  std::vector<char> chunk(kMiB);
  for (std::size_t at = 0; at < bytes; at += chunk.size()) {
    const std::size_t wanted = std::min(chunk.size(), bytes - at);
    const ssize_t got = pread(file.get(), chunk.data(), wanted, static_cast<off_t>(at));
    if (got != static_cast<ssize_t>(wanted)) {
      throw Unavailable(Cause::kStorage, path + " cannot be read");
    }
    if (at == 0 && std::string_view(chunk.data(), chunk.size()).starts_with(kSharedMark)) break;
    if (std::ranges::any_of(chunk, [](char c) { return c != 0; })) {
      throw Unavailable(Cause::kOwnership, path + " holds data that is not tierscope's", kRemedy);
    }
  }
  return file;
}

bool is_synchronous(const std::byte* at, const std::string& smaps) {
  std::ifstream lines(smaps);
  const auto wanted = reinterpret_cast<std::uintptr_t>(at);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (inside && line.starts_with("VmFlags:")) {
      return (line + " ").find(" sf ") != std::string::npos;
    }
    std::uintptr_t first = 0;
    std::uintptr_t last = 0;
    if (parse_mapping(line, first, last)) inside = first <= wanted && wanted < last;
  }
  return false;
}

PersistentMapping::PersistentMapping(std::size_t bytes, Pages pages, std::size_t unit_bytes,
                                     const Placement& placement, std::shared_ptr<Pool> pool)
    : bytes_(bytes), wanted_(placement.persistent.value_or(Persistent{})), pool_(std::move(pool)) {
  if (wanted_.backing == Backing::kDevice) {
    map_device(unit_bytes);
  } else if (wanted_.backing == Backing::kFile || wanted_.backing == Backing::kSharedFile) {
    map_file(unit_bytes);
  } else {
    map_array(unit_bytes, placement);
  }
  const bool of_memory = synchronous_ || facts_.file_system == "tmpfs";
  durable_by_ = of_memory ? Durable::kFlush : Durable::kMsync;
  if (wanted_.backing == Backing::kFile) {  // Of others the kernel or libpmemobj decides.
    madvise(data_, bytes_, pages == Pages::kThp ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  }
  if (wanted_.bound) bind(placement);
}

// Address space is reserved first, so that the file's mapping can be aligned. File systems that
// hosts share (famfs) may know no MAP_SYNC, which is about durability and not about coherence.
void PersistentMapping::map_file(std::size_t unit_bytes) {
  file_ = wanted_.backing == Backing::kFile ? make_unnamed_file(wanted_.path, bytes_)
                                            : open_shared_file(wanted_.path, bytes_);
  facts_ = facts_of(file_);
  memory_ = map_pages(bytes_, Pages::kBase, unit_bytes);
  data_ = memory_.get();
  const bool synchronous = facts_.dax && wanted_.backing == Backing::kFile;
  map_over(data_, bytes_, synchronous ? MAP_SHARED_VALIDATE | MAP_SYNC : MAP_SHARED, file_, 0);
  if (synchronous) require_synchronous();
}

void PersistentMapping::map_device(std::size_t unit_bytes) {
  range_ = std::make_unique<DeviceRange>(wanted_, bytes_);
  struct stat found{};
  fstat(range_->device().get(), &found);
  facts_ = facts_of_device(false, found.st_rdev);
  facts_.dax = true;
  synchronous_ = true;
  memory_ = map_pages(range_->bytes(), Pages::kBase, std::max(unit_bytes, range_->alignment()));
  data_ = memory_.get();
  map_over(data_, range_->bytes(), MAP_SHARED, range_->device(), range_->offset());
}

// An array of one object is used where libpmemobj has mapped it. Several are mapped once more, one
// behind the other; both mappings lead to the same pages.
void PersistentMapping::map_array(std::size_t unit_bytes, const Placement& placement) {
  if (!pool_) {
    pool_ = std::make_shared<Pool>(
        PoolWanted{.bytes = bytes_, .count = 1, .unit_bytes = unit_bytes}, placement);
  }
  array_ = &pool_->take();
  facts_ = facts_of(pool_->file());
  data_ = array_->front().data;
  if (facts_.dax) require_synchronous();
  if (array_->size() == 1) return;
  memory_ = map_pages(bytes_, Pages::kBase, unit_bytes);
  data_ = memory_.get();
  std::byte* to = data_;
  for (const PoolPiece& piece : *array_) {
    if (mremap(piece.data, 0, piece.bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) == MAP_FAILED) {
      throw Failure(fmt::format("mremap of a pool's object: {}", std::strerror(errno)));
    }
    to += piece.bytes;
  }
}

void PersistentMapping::map_over(std::byte* at, std::size_t bytes, int kind, const Descriptor& file,
                                 std::size_t offset) {
  if (mmap(at, bytes, PROT_READ | PROT_WRITE, kind | MAP_FIXED, file.get(),
           static_cast<off_t>(offset)) != MAP_FAILED) {
    return;
  }
  throw Unavailable(
      Cause::kStorage,
      fmt::format("{}: cannot be mapped{}: {}", wanted_.path,
                  (kind & MAP_SYNC) != 0 ? " with MAP_SYNC" : "", std::strerror(errno)),
      facts_.dax ? "use a namespace of mode fsdax or devdax" : "");
}

void PersistentMapping::require_synchronous() {
  synchronous_ = is_synchronous(data_);
  if (synchronous_) return;
  throw Unavailable(
      Cause::kStorage,
      fmt::format("{}: the kernel does not list the mapping as MAP_SYNC, so that flushed stores "
                  "could be lost with the file's metadata",
                  wanted_.path),
      "use a file system on a namespace of mode fsdax");
}

void PersistentMapping::bind(const Placement& placement) {
  std::vector<int> nodes;
  for (const NodeShare& share : placement.nodes) nodes.push_back(share.node);
  set_range_policy(data_, bytes_, MPOL_BIND, nodes);
  facts_.node = nodes.front();
}

nlohmann::ordered_json PersistentMapping::evidence(bool made_durable) const {
  const char* const kind = synchronous_ ? "MAP_SYNC" : "shared";
  nlohmann::ordered_json said{{"mapping", range_ ? "device" : kind},
                              {"emulated", wanted_.bound},
                              {"durable_by", durable_by_ == Durable::kFlush ? "flush" : "msync"}};
  const auto add = [&said](const char* key, const std::string& text) {
    if (!text.empty()) said[key] = text;
  };
  add("file_system", facts_.file_system);
  add("mount_policy", facts_.mount_policy);
  add("device", facts_.device);
  add("namespace_mode", facts_.namespace_mode);
  add("persistence_domain", facts_.persistence_domain);
  add("backed_by", wanted_.backed_by);
  if (pool_) {
    said["is_pmem"] = pool_->is_pmem();
    said["objects"] = array_->size();
  }
  if (range_) {
    said["offset"] = range_->offset();
    said["bytes"] = range_->bytes();
  }
  if (facts_.bad_blocks) said["bad_blocks"] = *facts_.bad_blocks;
  if (facts_.node) said["node"] = *facts_.node;
  const Survival survival = survival_of(
      facts_, {.synchronous = synchronous_, .made_durable = made_durable}, wanted_.backed_by);
  said["survives_power_loss"] = survival.answer;
  said["why"] = survival.why;
  return said;
}

}  // namespace tierscope
