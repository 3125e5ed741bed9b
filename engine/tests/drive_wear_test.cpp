#include "storage/drive_wear.h"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <string>

namespace tierscope {
namespace {

TEST(DriveWear, IsReadFromALogPage) {
  std::array<std::byte, kSmartBytes> page{};
  page[0] = std::byte{4};
  page[3] = std::byte{97};
  page[4] = std::byte{10};
  page[5] = std::byte{101};
  page[48] = std::byte{2};  // Units of 512,000 bytes, little-endian.
  page[49] = std::byte{1};
  page[160] = std::byte{7};
  page[175] = std::byte{1};
  const nlohmann::ordered_json found = drive_wear(page);
  EXPECT_EQ(found["warnings"], 4);
  EXPECT_EQ(found["spare_percent"], 97);
  EXPECT_EQ(found["spare_threshold_percent"], 10);
  EXPECT_EQ(found["used_percent"], 101);
  EXPECT_EQ(found["written_bytes"], 258 * 512'000.0);
  EXPECT_GT(found["media_errors"], 1e36);
}

TEST(DriveWear, OfWhatIsNoDriveIsRefusedInOneLine) {
  for (const std::string device : {"/nowhere/nvme0", "/dev/null"}) {
    try {
      drive_wear(device);
      FAIL() << device;
    } catch (const std::runtime_error& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with(device + ": ")) << error.what();
    }
  }
}

}  // namespace
}  // namespace tierscope
