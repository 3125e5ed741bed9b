// Files of others: read without asking, written only on purpose.
#include "storage/foreign_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "errors.h"
#include "memory/system_memory.h"
#include "scratch_directory.h"
#include "storage/page_cache.h"

namespace tierscope {
namespace {

namespace fs = std::filesystem;

class ForeignFile : public testing::Test {
 protected:
  ForeignFile() { write_text(path_, "precious"); }

  static std::string refusal(const std::string& path, bool overwrite, int flags) {
    try {
      close(open_foreign(path, overwrite, flags));
    } catch (const Unavailable& error) {
      return std::string(error.what()) + " | " + error.remedy();
    }
    return "";
  }

  ScratchDirectory directory_;
  std::string path_ = fs::canonical(directory_.path()).string() + "/theirs";
};

TEST_F(ForeignFile, IsReadWithoutAsking) {
  EXPECT_EQ(refusal(path_, false, O_RDONLY), "");
  fs::create_symlink("theirs", directory_.path("link"));
  fs::create_hard_link(path_, directory_.path("hard"));
  EXPECT_EQ(refusal(directory_.path("link"), false, O_RDONLY), "");
}

TEST_F(ForeignFile, IsWrittenOnlyOnPurpose) {
  EXPECT_EQ(refusal(path_, false, O_WRONLY),
            path_ +
                " is not tierscope's, and is not written | to lose what it holds: --overwrite " +
                path_);
  EXPECT_EQ(refusal(path_, true, O_RDWR | O_CREAT | O_TRUNC), "");
  EXPECT_EQ(text_in(path_), "precious") << "never truncated";
}

TEST_F(ForeignFile, LinksAreNotWritten) {
  fs::create_symlink("theirs", directory_.path("link"));
  EXPECT_NE(refusal(directory_.path("link"), true, O_RDWR).find("name the file itself: " + path_),
            std::string::npos);
  fs::create_directory(directory_.path("real"));
  write_text(directory_.path("real/file"), "x");
  fs::create_directory_symlink("real", directory_.path("way"));
  EXPECT_NE(refusal(directory_.path("way/file"), true, O_RDWR).find("symbolic link"),
            std::string::npos);
  fs::create_hard_link(path_, directory_.path("hard"));
  EXPECT_NE(refusal(path_, true, O_RDWR).find("2 hard links"), std::string::npos);
}

TEST_F(ForeignFile, WhatIsNoFileIsNotOpened) {
  ASSERT_EQ(mkfifo(directory_.path("pipe").c_str(), 0600), 0);
  for (const bool overwrite : {false, true}) {
    const int flags = overwrite ? O_RDWR : O_RDONLY;
    EXPECT_NE(refusal(directory_.path("pipe"), overwrite, flags).find("a named pipe"),
              std::string::npos);
    EXPECT_NE(refusal(directory_.path(), overwrite, flags).find("a directory"), std::string::npos);
    EXPECT_NE(refusal("/dev/null", overwrite, flags).find("a device"), std::string::npos);
    EXPECT_NE(refusal(directory_.path("none"), overwrite, flags).find("No such file"),
              std::string::npos);
  }
}

// Whether the disk of /tmp can say so is up to its file system; this machine's and CI's can.
TEST(Extents, HolesAndUnwrittenExtentsAreSeen) {
  const ScratchDirectory directory("/var/tmp");
  const std::string path = directory.path("file");
  const int file = open(path.c_str(), O_RDWR | O_CREAT, 0600);
  const std::string block(65536, 'x');
  ASSERT_EQ(pwrite(file, block.data(), block.size(), 65536), 65536);
  auto extents = extents_of(file);
  if (!extents) GTEST_SKIP() << "the file system of /var/tmp does not tell extents";
  EXPECT_EQ(extents->size, 131072U);
  EXPECT_EQ(extents->holes, 65536U);
  ASSERT_EQ(fallocate(file, 0, 0, 65536), 0);
  extents = extents_of(file);
  EXPECT_EQ(extents->holes, 0U);
  EXPECT_EQ(extents->unwritten, 65536U);
  EXPECT_FALSE(extents->fully_written());
  ASSERT_EQ(pwrite(file, block.data(), block.size(), 0), 65536);
  EXPECT_TRUE(extents_of(file)->fully_written());
  EXPECT_GE(extents_of(file)->count, 1U);
  close(file);
}

TEST(PageCache, WhatIsCachedCanBeForgotten) {
  const ScratchDirectory directory("/var/tmp");
  const std::string path = directory.path("file");
  constexpr std::size_t kBytes = 1 << 20;
  write_text(path, std::string(kBytes, 'x'));
  const int file = open(path.c_str(), O_RDWR);
  EXPECT_EQ(cached_bytes(file, {0, kBytes}), kBytes);
  EXPECT_EQ(forget_cached(file, kBytes), 0U);
  std::string page(4096, '\0');
  ASSERT_EQ(posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM), 0);
  ASSERT_EQ(pread(file, page.data(), page.size(), 0), 4096);
  EXPECT_EQ(cached_bytes(file, {0, kBytes}), 4096U);
  close(file);
}

TEST(PageCache, OnlyThePartThatIsAskedForIsRead) {
  const ScratchDirectory directory("/var/tmp");
  const std::string path = directory.path("file");
  constexpr std::size_t kBytes = 32 << 20;
  constexpr std::size_t kPart = 1 << 20;
  write_text(path, std::string(kBytes, 'x'));
  const int file = open(path.c_str(), O_RDWR);
  ASSERT_EQ(forget_cached(file, kBytes), 0U);
  read_through(file, {.first = 16 << 20, .bytes = kPart});
  EXPECT_EQ(cached_bytes(file, {16 << 20, kPart}), kPart);
  EXPECT_EQ(cached_bytes(file, {0, 16 << 20}), 0U);
  EXPECT_LT(cached_bytes(file, {0, kBytes}), kBytes) << "but for what the kernel reads ahead";
  close(file);
}

TEST(PageCache, NeverTakesAllMemory) {
  const auto free = meminfo_bytes(read_text("/proc/meminfo"), "MemTotal");
  EXPECT_GT(cacheable_bytes(), 0U);
  EXPECT_LT(cacheable_bytes(), *free);
}

TEST(PageCache, FilesInMemoryCannotBeForgotten) {
  const ScratchDirectory directory("/dev/shm");
  write_text(directory.path("file"), std::string(65536, 'x'));
  const int file = open(directory.path("file").c_str(), O_RDWR);
  EXPECT_EQ(forget_cached(file, 65536), 65536U);
  EXPECT_FALSE(extents_of(file));
  close(file);
}

}  // namespace
}  // namespace tierscope
