#include "memory/device_range.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string_view>
#include <vector>

#include "errors.h"
#include "memory/system_memory.h"

namespace tierscope {
namespace {

namespace fs = std::filesystem;

struct Taken {
  std::size_t offset;
  std::size_t bytes;
};

// By device, ascending. Regions are made and dropped by one thread.
std::map<std::string, std::vector<Taken>>& taken_ranges() {
  static std::map<std::string, std::vector<Taken>> ranges;
  return ranges;
}

std::size_t number_in(const fs::path& file) {
  return std::strtoull(read_text(file).c_str(), nullptr, 0);
}

// The device's directory in sysfs; throws where it is none of DAX.
fs::path directory_of(const std::string& path, const struct stat& found, const DaxPlaces& places) {
  std::error_code error;
  if (S_ISCHR(found.st_mode)) {
    const fs::path at = fs::canonical(
        fmt::format("{}/dev/char/{}:{}", places.sys, major(found.st_rdev), minor(found.st_rdev)),
        error);
    const fs::path bus = error ? fs::path() : fs::canonical(at / "subsystem", error);
    if (!error && bus.filename() == "dax") return at;
  }
  throw Unavailable(
      Cause::kStorage, path + " is no character device of DAX",
      "name one such as dax:/dev/dax0.0; `ndctl create-namespace -m devdax` makes one");
}

void require_consent(const Persistent& persistent, const fs::path& directory) {
  const std::string name = directory.filename();
  std::string uuid;
  for (fs::path at = directory; uuid.empty() && at.has_relative_path(); at = at.parent_path()) {
    uuid = read_text(at / "uuid");
  }
  if (!persistent.destroy.empty() && (persistent.destroy == name || persistent.destroy == uuid)) {
    return;
  }
  const std::string said = persistent.destroy.empty()
                               ? "nothing says that its data may be destroyed"
                               : fmt::format("'{}' does not name it", persistent.destroy);
  throw Unavailable(Cause::kOwnership, fmt::format("{}: {}", persistent.path, said),
                    fmt::format("say --destroy-data {} if nothing on it is needed", name));
}

bool lists(const fs::path& maps, const std::string& path) {
  std::ifstream lines(maps);
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with(" " + path)) return true;
  }
  return false;
}

bool has_open(const fs::path& process, const std::string& path) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(process / "fd", error)) {
    std::error_code gone;
    if (fs::read_symlink(entry.path(), gone) == path) return true;
  }
  return false;
}

void require_unused(const std::string& path, const Descriptor& device, const DaxPlaces& places) {
  std::string user;
  std::error_code error;
  const std::string own = std::to_string(getpid());
  const std::string real = path_of(device);
  for (const auto& process : fs::directory_iterator(places.proc, error)) {
    const std::string number = process.path().filename();
    const bool is_process =
        std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; });
    if (!is_process || number == own || !user.empty()) continue;
    if (has_open(process.path(), real) || lists(process.path() / "maps", real)) {
      user = fmt::format("process {} ({})", number, read_text(process.path() / "comm"));
    }
  }
  if (user.empty()) return;
  throw Unavailable(Cause::kOwnership, fmt::format("{} is in use by {}", path, user),
                    "wait for it to end, or stop it");
}

// A pool of PMDK's on a device begins with one of these, wherever its data is.
void require_no_pool(const std::string& path, const Descriptor& device, std::size_t alignment) {
  static constexpr std::array<std::string_view, 4> kSignatures{"PMEMOBJ", "PMEMBLK", "PMEMLOG",
                                                               "PMEMPOOL"};
  void* const at = mmap(nullptr, alignment, PROT_READ, MAP_SHARED, device.get(), 0);
  if (at == MAP_FAILED) {
    throw Unavailable(Cause::kStorage,
                      fmt::format("{} cannot be mapped: {}", path, std::strerror(errno)));
  }
  std::array<char, 8> first{};
  std::memcpy(first.data(), at, first.size());
  munmap(at, alignment);
  const std::string_view found(first.data(), first.size());
  if (std::ranges::none_of(kSignatures, [&](auto one) { return found.starts_with(one); })) return;
  throw Unavailable(Cause::kOwnership, path + " holds a pool of PMDK's",
                    fmt::format("`pmempool rm {}` removes one that nobody needs", path));
}

}  // namespace

DeviceRange::DeviceRange(const Persistent& persistent, std::size_t bytes, const DaxPlaces& places)
    : path_(persistent.path) {
  struct stat found{};
  if (stat(path_.c_str(), &found) != 0) {
    throw Unavailable(Cause::kStorage, fmt::format("{}: {}", path_, std::strerror(errno)),
                      "name a device such as dax:/dev/dax0.0");
  }
  const fs::path directory = directory_of(path_, found, places);
  require_consent(persistent, directory);
  device_ = Descriptor(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
  if (!device_) {
    throw Unavailable(Cause::kPermission, fmt::format("{}: {}", path_, std::strerror(errno)),
                      "run as root, or give this user the device");
  }
  alignment_ = std::max(number_in(directory / "align"), base_page_bytes());
  std::vector<Taken>& taken = taken_ranges()[path_];
  if (taken.empty()) {
    require_unused(path_, device_, places);
    require_no_pool(path_, device_, alignment_);
  }
  const auto up = [this](std::size_t value) {
    return (value + alignment_ - 1) / alignment_ * alignment_;
  };
  bytes_ = up(bytes);
  offset_ = up(persistent.offset);
  auto before = taken.begin();
  for (; before != taken.end(); ++before) {
    if (before->offset >= offset_ + bytes_) break;
    offset_ = std::max(offset_, before->offset + before->bytes);
  }
  const std::size_t size = number_in(directory / "size");
  if (offset_ + bytes_ > size) {
    throw Unavailable(Cause::kMemory,
                      fmt::format("{} has {}, of which {} from offset {} on are free; {} needed",
                                  path_, size_text(size), size_text(size - std::min(size, offset_)),
                                  offset_, size_text(bytes_)),
                      "ask for a smaller size or a smaller --dax-offset");
  }
  taken.insert(before, {.offset = offset_, .bytes = bytes_});
}

DeviceRange::~DeviceRange() {
  std::vector<Taken>& taken = taken_ranges()[path_];
  std::erase_if(taken, [this](const Taken& one) { return one.offset == offset_; });
}

}  // namespace tierscope
