#include "storage/device_guard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>

#include "errors.h"
#include "interrupt.h"

namespace tierscope {
namespace {

Unavailable refused(const std::string& path, const std::string& why, const std::string& remedy) {
  return {Cause::kOwnership, fmt::format("{} is not overwritten: {}", path, why), remedy};
}

// Of this process, by device.
std::map<dev_t, std::weak_ptr<const Descriptor>>& claims() {
  static std::map<dev_t, std::weak_ptr<const Descriptor>> all;
  return all;
}

}  // namespace

Device::Device(const DeviceWanted& wanted, const DevicePlaces& places)
    : path_(wanted.path), seen_(::open(wanted.path.c_str(), O_PATH | O_CLOEXEC)) {
  struct stat found{};
  if (!seen_ || fstat(seen_.get(), &found) != 0) {
    throw Unavailable(Cause::kStorage,
                      fmt::format("{} cannot be opened: {}", path_, std::strerror(errno)),
                      "name a block device: `ls -l /dev/disk/by-id`");
  }
  if (!S_ISBLK(found.st_mode)) {
    throw Unavailable(Cause::kStorage, fmt::format("{} is not a block device", path_),
                      "name a block device: `ls -l /dev/disk/by-id`");
  }
  const bool destroys = !wanted.destroy.empty();
  if (destroys) check_name(wanted, found.st_rdev, places);
  if (destroys) claim_ = claims()[found.st_rdev].lock();
  const bool checked = claim_ != nullptr;
  // From here on nobody else can begin to use it; what is looked at stays so.
  Descriptor opened = reopen(seen_, destroys && !checked ? O_RDONLY | O_EXCL : O_RDONLY);
  if (!opened && destroys && errno == EBUSY) {
    check_unused(found.st_rdev, places);
    throw refused(path_, "somebody has claimed it", fmt::format("`fuser {}` may name who", path_));
  }
  if (!opened) {
    throw Unavailable(Cause::kPermission,
                      fmt::format("{} cannot be opened: {}", path_, std::strerror(errno)),
                      "run as root, or join the group disk");
  }
  if (ioctl(opened.get(), BLKGETSIZE64, &size_) != 0 || size_ == 0) {
    throw Unavailable(Cause::kStorage, fmt::format("{} has no size", path_), "name another device");
  }
  if (!destroys || checked) return;
  check_unused(found.st_rdev, places);
  check_contents(wanted, opened.get());
  claim_ = std::make_shared<const Descriptor>(std::move(opened));
  claims()[found.st_rdev] = claim_;
}

int Device::open(int flags) const {
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  if (writes && !claim_) {
    throw refused(path_, "nobody said that its data may be destroyed",
                  fmt::format("to lose all that is on it: --destroy-data with its name in "
                              "/dev/disk/by-id or its serial number"));
  }
  Descriptor file = reopen(seen_, flags & ~(O_CREAT | O_EXCL | O_TRUNC));
  if (file) return file.release();
  throw Unavailable(Cause::kStorage,
                    fmt::format("{} cannot be opened: {}", path_, std::strerror(errno)), "");
}

std::uint64_t Device::purge() const {
  constexpr std::uint64_t kStep = std::uint64_t{16} << 30;  // Drives take seconds for it.
  const Descriptor file(open(O_RDWR | O_CLOEXEC));
  for (std::uint64_t at = 0; at < size_; at += kStep) {
    if (interrupted()) throw Interrupted();
    std::array<std::uint64_t, 2> range{at, std::min(kStep, size_ - at)};
    if (ioctl(file.get(), BLKDISCARD, range.data()) == 0) continue;
    throw Unavailable(Cause::kStorage,
                      fmt::format("{} cannot be purged by discard: {}", path_, strerror(errno)),
                      "overwrite it in place of that: --precondition fill");
  }
  return size_;
}

void Device::check_name(const DeviceWanted& wanted, dev_t device,
                        const DevicePlaces& places) const {
  std::string said = wanted.destroy;
  const std::string prefix = places.by_id + "/";
  if (said.starts_with(prefix)) said.erase(0, prefix.size());
  const std::vector<std::string> names = lasting_names(device, places);
  if (std::find(names.begin(), names.end(), said) != names.end()) return;
  throw refused(
      path_,
      fmt::format("'{}' is neither its serial number nor its name in {}", said, places.by_id),
      names.empty() ? "it has neither: use a file on it instead"
                    : fmt::format("if it is the right one, say {}", fmt::join(names, " or ")));
}

void Device::check_unused(dev_t device, const DevicePlaces& places) const {
  const std::vector<std::string> uses = uses_of(device, places);
  if (uses.empty()) return;
  throw refused(path_, fmt::format("it {}", fmt::join(uses, ", it ")),
                "name a whole device that nothing uses; `lsblk` shows who uses what");
}

void Device::check_contents(const DeviceWanted& wanted, int file) const {
  if (is_shared_namespace(file).value_or(false)) {
    throw refused(path_,
                  "other controllers may attach to its namespace (NMIC), so that other "
                  "machines may use it",
                  "name a device of this machine alone");
  }
  if (const std::string signature = signature_on(file); !signature.empty()) {
    throw refused(path_, fmt::format("it holds {}", signature),
                  fmt::format("if nobody needs that, remove it first: wipefs --all {}", path_));
  }
  if (wanted.second_word == kSecondWord) return;
  if (const auto at = sampled_data(file, size_)) {
    throw refused(path_,
                  fmt::format("it holds data at offset {}, of a kind that is not known", *at),
                  fmt::format("if nobody needs that, say so: {}", kSecondWord));
  }
}

}  // namespace tierscope
