#include "storage/drive_wear.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/nvme_ioctl.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "storage/descriptor.h"

namespace tierscope {
namespace {

constexpr std::uint8_t kGetLogPage = 0x02;
constexpr std::uint32_t kSmartLog = 0x02;
constexpr std::uint32_t kWholeController = 0xffffffff;
constexpr double kUnitBytes = 512'000;

std::uint8_t byte_at(std::span<const std::byte, kSmartBytes> page, std::size_t offset) {
  return std::to_integer<std::uint8_t>(page[offset]);
}

// A little-endian number of 16 bytes; what is above 2^53 loses its last digits.
double number_at(std::span<const std::byte, kSmartBytes> page, std::size_t offset) {
  double value = 0;
  for (std::size_t i = 16; i-- > 0;) value = value * 256 + byte_at(page, offset + i);
  return value;
}

}  // namespace

nlohmann::ordered_json drive_wear(std::span<const std::byte, kSmartBytes> page) {
  return {{"warnings", byte_at(page, 0)},
          {"spare_percent", byte_at(page, 3)},
          {"spare_threshold_percent", byte_at(page, 4)},
          {"used_percent", byte_at(page, 5)},
          {"written_bytes", number_at(page, 48) * kUnitBytes},
          {"media_errors", number_at(page, 160)}};
}

nlohmann::ordered_json drive_wear(const std::string& device) {
  const auto refuse = [&] {
    return std::runtime_error(fmt::format("{}: {}", device, strerror(errno)));
  };
  const Descriptor file(open(device.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) throw refuse();
  std::array<std::byte, kSmartBytes> page{};
  nvme_admin_cmd command{};
  command.opcode = kGetLogPage;
  command.nsid = kWholeController;
  command.addr = reinterpret_cast<std::uintptr_t>(page.data());
  command.data_len = kSmartBytes;
  command.cdw10 = kSmartLog | (kSmartBytes / 4 - 1) << 16U;
  const int status = ioctl(file.get(), NVME_IOCTL_ADMIN_CMD, &command);
  if (status < 0) throw refuse();
  if (status > 0) {
    throw std::runtime_error(fmt::format("{}: NVMe status {:#x}", device, status));
  }
  return drive_wear(std::span<const std::byte, kSmartBytes>(page));
}

}  // namespace tierscope
