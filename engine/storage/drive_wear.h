// How worn a drive is, by its own account.
//
// Source: NVM Express Base Specification 2.0c, 5.16.1.3, SMART / Health Information (log 02h).
#pragma once

#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

namespace tierscope {

constexpr std::size_t kSmartBytes = 512;

// What a log page says:
//
//   used_percent     of the life that its maker expects; 100 is its end, 255 the most that it says
//   spare_percent    of its spare blocks that are left, and spare_threshold_percent, from which on
//                    it warns
//   warnings         bits of critical_warning: 1 spare, 2 temperature, 4 reliability, 8 read-only
//   media_errors     data that could not be corrected
//   written_bytes    by hosts, in its whole life, in units of 512,000 bytes
nlohmann::ordered_json drive_wear(std::span<const std::byte, kSmartBytes> page);

// The same of an NVMe controller's device, /dev/nvme0. It may hang for as long as the drive does:
// run it in a process that can be given up. Throws std::runtime_error with one line where it cannot
// be had.
nlohmann::ordered_json drive_wear(const std::string& device);

}  // namespace tierscope
