// The list of files that tierscope made: read back as written, refused where it is damaged.
#include "storage/manifest.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <random>
#include <stdexcept>

#include "errors.h"
#include "scratch_directory.h"

namespace tierscope {
namespace {

FileEntry entry(const std::string& name) {
  return {.name = name,
          .identity = {"259:3", "18446744073709551615", "1.000000002", "1.abcd"},
          .token = "token of " + name,
          .xattr = true,
          .number = 0xffffffff,
          .size = 1 << 30,
          .cell = 4096,
          .compressible = 50,
          .filled = true,
          .keep = true,
          .closed = "1763769600.000000003"};
}

const std::string kText = manifest_header() + manifest_line(entry("a")) + manifest_line(entry("b"));

TEST(ManifestText, IsReadAsWritten) {
  EXPECT_TRUE(parse_manifest("").empty());
  EXPECT_TRUE(parse_manifest(manifest_header()).empty());
  const std::vector<FileEntry> entries = parse_manifest(kText);
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(manifest_line(entries[0]), manifest_line(entry("a")));
}

TEST(ManifestText, LaterLinesHold) {
  FileEntry changed = entry("a");
  changed.filled = false;
  const std::vector<FileEntry> entries =
      parse_manifest(kText + manifest_line(changed) + manifest_gone(entry("b").token));
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_FALSE(entries[0].filled);
}

TEST(ManifestText, NamesAreNoPaths) {
  for (const char* name : {"", ".", "..", "../x", "a/b", "/etc/passwd"}) {
    EXPECT_THROW(parse_manifest(manifest_header() + manifest_line(entry(name))), std::runtime_error)
        << name;
  }
}

TEST(ManifestText, AnyChangedByteIsNoticed) {
  for (std::size_t at = 0; at < kText.size(); ++at) {
    std::string text = kText;
    text[at] = static_cast<char>(text[at] ^ 1);
    EXPECT_THROW(parse_manifest(text), std::runtime_error) << at;
  }
}

// One that ends with a line may have lost others: their files are not proven then.
TEST(ManifestText, OneThatWasCutInALineIsNoticed) {
  for (std::size_t end = 1; end < kText.size(); ++end) {
    if (kText[end - 1] == '\n') continue;
    EXPECT_THROW(parse_manifest(kText.substr(0, end)), std::runtime_error) << end;
  }
}

TEST(ManifestText, AnotherFormatIsRefused) {
  EXPECT_THROW(parse_manifest("{\"files\": []}\n"), std::runtime_error);
  EXPECT_THROW(parse_manifest(manifest_line(entry("a"))), std::runtime_error);
  EXPECT_THROW(parse_manifest("\n"), std::runtime_error);
  EXPECT_THROW(parse_manifest(std::string(3, '\0')), std::runtime_error);
}

class ManifestFile : public testing::Test {
 protected:
  std::string refusal() {
    try {
      const Manifest manifest(opened_, directory_.path(), true);
    } catch (const Unavailable& error) {
      EXPECT_EQ(error.cause(), Cause::kOwnership);
      EXPECT_FALSE(error.remedy().empty());
      return error.what();
    }
    return "";
  }

  ScratchDirectory directory_;
  Descriptor opened_ = open_directory(directory_.path());
  std::string path_ = directory_.path(kManifestName);
};

TEST_F(ManifestFile, IsOnlyThereWhileItListsSomething) {
  {
    const Manifest manifest(opened_, directory_.path(), false);
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
  {
    Manifest(opened_, directory_.path(), true).put(entry("a"));
  }
  EXPECT_EQ(Manifest(opened_, directory_.path(), false).entries().size(), 1U);
  {
    Manifest(opened_, directory_.path(), true).remove(entry("a").token);
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(ManifestFile, OneOfOthersIsRefused) {
  {
    Manifest(opened_, directory_.path(), true).put(entry("a"));
  }
  chmod(path_.c_str(), 0622);
  EXPECT_NE(refusal().find("may be written by others"), std::string::npos);
  chmod(path_.c_str(), 0600);
  EXPECT_EQ(refusal(), "");
  if (geteuid() == 0) {
    ASSERT_EQ(chown(path_.c_str(), 1234, 1234), 0);
    EXPECT_NE(refusal().find("belongs to user 1234"), std::string::npos);
  }
}

TEST_F(ManifestFile, WhatIsNoPlainFileIsRefused) {
  write_text(directory_.path("theirs"), kText);
  std::filesystem::create_symlink("theirs", path_);
  EXPECT_NE(refusal().find("is a symbolic link"), std::string::npos);
  std::filesystem::remove(path_);
  std::filesystem::create_hard_link(directory_.path("theirs"), path_);
  EXPECT_NE(refusal().find("2 hard links"), std::string::npos);
  std::filesystem::remove(path_);
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_NE(refusal().find("is a named pipe"), std::string::npos);
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_NE(refusal().find("is a directory"), std::string::npos);
}

TEST_F(ManifestFile, ADamagedOneSaysInWhichLine) {
  write_text(path_, kText + "rubbish\n");
  chmod(path_.c_str(), 0600);
  EXPECT_NE(refusal().find("line 4"), std::string::npos);
  EXPECT_EQ(text_in(path_), kText + "rubbish\n");
}

}  // namespace
}  // namespace tierscope
