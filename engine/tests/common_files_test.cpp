// Files that hosts of a fleet share: a manifest for each host, one file that others borrow.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "errors.h"
#include "scratch_directory.h"
#include "storage/descriptor.h"
#include "storage/leftovers.h"
#include "storage/manifest.h"
#include "storage/owned_files.h"

namespace tierscope {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "tierscope.token.common";

class CommonFiles : public testing::Test {
 protected:
  ~CommonFiles() override { unsetenv(kHostVariable); }

  static void be(const char* host) { setenv(kHostVariable, host, 1); }
  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(directory_.path()), fs::directory_iterator{}));
  }

  ScratchDirectory directory_{"/tmp"};
  FilesWanted one_{.directory = directory_.path(), .name = kName, .size = 1 << 20, .cell = 4096};
  FilesWanted each_{
      .directory = directory_.path(), .stem = "tierscope.", .size = 1 << 20, .cell = 4096};
};

TEST_F(CommonFiles, AreMadeByOneHostAndBorrowedByOthers) {
  be("first");
  FilePool makers;
  const OwnedFile* const made = makers.lease(one_).front();
  be("second");
  {
    FilePool others;
    const OwnedFile* const borrowed = others.borrow(directory_.path(), kName, 1);
    EXPECT_EQ(borrowed->number, made->number);
    EXPECT_EQ(borrowed->size, made->size);
    const Descriptor mine(borrowed->open(O_RDWR));
    const Descriptor theirs(made->open(O_RDONLY));
    EXPECT_TRUE(is_same_file(mine, theirs));
  }
  EXPECT_TRUE(fs::exists(made->path)) << "it is its maker's to remove";
}

TEST_F(CommonFiles, GoWithTheirMaker) {
  be("first");
  {
    FilePool().lease(one_);
  }
  EXPECT_EQ(entries(), 0U);
}

TEST_F(CommonFiles, AreWaitedForNoLongerThanAsked) {
  FilePool pool;
  EXPECT_THROW(pool.borrow(directory_.path(), kName, 0.1), Unavailable);
}

TEST_F(CommonFiles, ThatNoManifestProvesAreNotBorrowed) {
  std::ofstream(directory_.path(kName)) << "precious";
  FilePool pool;
  EXPECT_THROW(pool.borrow(directory_.path(), kName, 0.1), Unavailable);
  EXPECT_EQ(fs::file_size(directory_.path(kName)), 8U);
}

TEST_F(CommonFiles, OfEachHostAreInAManifestOfItsOwn) {
  be("a/b");
  FilePool one;
  const std::string first = one.lease(each_).front()->path;
  be("other");
  FilePool two;
  const std::string second = two.lease(each_).front()->path;
  EXPECT_NE(first, second);
  EXPECT_TRUE(fs::exists(directory_.path(".tierscope-files.a-b.json")));
  EXPECT_TRUE(fs::exists(directory_.path(".tierscope-files.other.json")));
  EXPECT_FALSE(fs::exists(directory_.path(kManifestName)));
  EXPECT_EQ(leftovers(directory_.path())["files"].size(), 1U) << "a host looks at its own";
  unsetenv(kHostVariable);
  EXPECT_EQ(leftovers(directory_.path())["files"].size(), 2U) << "anybody else at all";
}

TEST_F(CommonFiles, AHostCleansUpAfterItselfOnly) {
  each_.keep = true;
  be("a");
  {
    FilePool().lease(each_);
  }
  each_.stem = "data.";
  be("b");
  {
    FilePool().lease(each_);
  }
  clean(directory_.path());
  EXPECT_EQ(entries(), 4U) << "what was to stay stays";
  unsetenv(kHostVariable);
  clean(directory_.path());
  EXPECT_EQ(entries(), 0U);
}

}  // namespace
}  // namespace tierscope
