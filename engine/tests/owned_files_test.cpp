// Files that tierscope makes: filled, reused, removed, and only those.
#include "storage/owned_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

#include "errors.h"
#include "scratch_directory.h"
#include "sizes.h"
#include "storage/changes.h"
#include "storage/leftovers.h"
#include "storage/proof.h"

namespace tierscope {
namespace {

namespace fs = std::filesystem;

// Names in a directory, the manifest's left out.
std::vector<std::string> names_in(const std::string& path) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path)) {
    if (entry.path().filename() != kManifestName) names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool has_manifest(const std::string& path) { return fs::exists(path + "/" + kManifestName); }

std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Unavailable& error) {
    return error.what();
  }
  return "";
}

// This machine's disk, and memory.
class OwnedFiles : public testing::TestWithParam<const char*> {
 protected:
  ScratchDirectory directory_{GetParam()};
  FilesWanted wanted_{.directory = directory_.path(),
                      .stem = "data.",
                      .count = 2,
                      .size = 5 * kMiB + 4096,
                      .cell = 4096};

  FilesWanted kept() const {
    FilesWanted wanted = wanted_;
    wanted.keep = true;
    return wanted;
  }
};

INSTANTIATE_TEST_SUITE_P(FileSystems, OwnedFiles, testing::Values("/tmp", "/dev/shm"));

TEST_P(OwnedFiles, AreFilledWholeAndRemovedWithThePool) {
  {
    FilePool pool;
    const std::vector<OwnedFile*> files = pool.lease(wanted_);
    ASSERT_EQ(files.size(), 2U);
    EXPECT_NE(files[0]->number, files[1]->number);
    for (const OwnedFile* file : files) {
      EXPECT_EQ(fs::file_size(file->path), wanted_.size);
      const std::string text = text_in(file->path);
      EXPECT_FALSE(verify(std::as_bytes(std::span(text)), file->number, 0, kFillGeneration));
    }
    EXPECT_EQ(names_in(directory_.path()).size(), 2U);
    EXPECT_TRUE(has_manifest(directory_.path()));
  }
  EXPECT_TRUE(fs::is_empty(directory_.path()));
}

TEST_P(OwnedFiles, DescriptorsLeadToTheName) {
  FilePool pool;
  for (const OwnedFile* const file : pool.lease(wanted_)) {
    EXPECT_EQ(path_of(Descriptor(file->open(O_RDONLY))), file->path);
  }
}

TEST_P(OwnedFiles, TheSameAreGivenAgain) {
  FilePool pool;
  const std::vector<OwnedFile*> first = pool.lease(wanted_);
  EXPECT_EQ(pool.lease(wanted_), first);
  FilesWanted other = wanted_;
  other.stem = "other";
  EXPECT_NE(pool.lease(other), first);
  other = wanted_;
  other.cell = 512;
  EXPECT_NE(pool.lease(other), first);
}

TEST_P(OwnedFiles, LargerOnesAreExtended) {
  FilePool pool;
  const OwnedFile* const file = pool.lease(wanted_)[0];
  FilesWanted larger = wanted_;
  larger.size = 9 * kMiB;
  ASSERT_EQ(pool.lease(larger)[0], file);
  EXPECT_EQ(file->size, larger.size);
  const std::string text = text_in(file->path);
  ASSERT_EQ(text.size(), larger.size);
  EXPECT_FALSE(verify(std::as_bytes(std::span(text)), file->number, 0, kFillGeneration));
  EXPECT_EQ(pool.lease(wanted_)[0]->size, larger.size);
}

TEST_P(OwnedFiles, KeptOnesStayAndAreUsedAgain) {
  std::uint32_t number = 0;
  std::string inode;
  {
    FilePool pool;
    const OwnedFile* const file = pool.lease(kept())[0];
    number = file->number;
    EXPECT_EQ(file->path, fs::canonical(directory_.path("data.0")));
  }
  ASSERT_EQ(names_in(directory_.path()), (std::vector<std::string>{"data.0", "data.1"}));
  bool written = false;
  FilePool pool;
  pool.report_to([&](auto, auto, auto, auto) { written = true; });
  EXPECT_EQ(pool.lease(kept())[0]->number, number);
  EXPECT_FALSE(written);
}

TEST_P(OwnedFiles, AKeptOneThatWasCutIsFilledAgain) {
  {
    FilePool().lease(kept());
  }
  fs::resize_file(directory_.path("data.0"), 4096);
  FilePool pool;
  const OwnedFile* const file = pool.lease(kept())[0];
  const std::string text = text_in(file->path);
  ASSERT_EQ(text.size(), wanted_.size);
  EXPECT_FALSE(verify(std::as_bytes(std::span(text)), file->number, 0, kFillGeneration));
}

TEST_P(OwnedFiles, ContentsThatMayHaveBeenOverwrittenAreWrittenBeforeTheyAreVerified) {
  FilesWanted unverified = kept();
  unverified.cell = 0;
  {
    FilePool().lease(unverified);
  }
  {
    FilePool pool;
    const Descriptor file(pool.lease(unverified)[0]->open(O_RDWR));
    const std::string block(700, 'x');
    ASSERT_EQ(pwrite(file.get(), block.data(), block.size(), 3000), 700);
  }
  FilePool pool;
  const OwnedFile* const file = pool.lease(kept())[0];
  const std::string text = text_in(file->path);
  EXPECT_FALSE(verify(std::as_bytes(std::span(text)), file->number, 0, kFillGeneration));
}

// What `cp x data.0` and editors that write in place do: the inode, its birth time and its
// attributes stay.
class RewrittenByOthers : public OwnedFiles {
 protected:
  void SetUp() override { FilePool().lease(kept()); }

  std::string file_ = directory_.path("data.0");

  void rewrite(std::uint64_t at, const std::string& text) const {
    const Descriptor file(open(file_.c_str(), O_WRONLY));
    ASSERT_EQ(pwrite(file.get(), text.data(), text.size(), static_cast<off_t>(at)),
              static_cast<ssize_t>(text.size()));
  }

  // Nothing takes, fills, writes or removes it.
  void expect_left_alone(const std::string& where,
                         const std::string& why = "that another program wrote") {
    SCOPED_TRACE(where);
    const std::string before = text_in(file_);
    EXPECT_NE(message_of([&] { FilePool().lease(kept()); }).find("holds data, at offset " + where),
              std::string::npos);
    std::string problem;
    FilePool pool;
    EXPECT_EQ(pool.find(file_, std::nullopt, problem), nullptr);
    EXPECT_NE(problem.find(why), std::string::npos) << problem;
    EXPECT_EQ(pool.find(file_, 4096, problem), nullptr);
    EXPECT_EQ(clean(directory_.path())["files"][0]["state"], "unproven");
    EXPECT_TRUE(text_in(file_) == before);
  }
};

INSTANTIATE_TEST_SUITE_P(FileSystems, RewrittenByOthers, testing::Values("/tmp", "/dev/shm"));

TEST_P(RewrittenByOthers, AFileIsLeftAlone) {
  write_text(file_, "precious");
  expect_left_alone("0");
}

// As after `cp data.1 data.0`: whole cells, with the seals of another file.
TEST_P(RewrittenByOthers, ACopyOfAnotherOwnFileIsNotTakenForItsContents) {
  rewrite(0, text_in(directory_.path("data.1")));
  expect_left_alone("0");
}

// The seals behind it still are those of the fill.
TEST_P(RewrittenByOthers, AHeaderIsFoundToo) {
  rewrite(2 * 4096, "precious");
  expect_left_alone("8192");
}

TEST_P(RewrittenByOthers, WhileItIsReadIsTold) {
  FilePool pool;
  const OwnedFile* const file = pool.lease(kept())[0];
  close(file->open(O_RDONLY));
  EXPECT_EQ(file->changes_by_others(), "");
  rewrite(8192, "precious");
  EXPECT_EQ(file->changes_by_others(),
            "holds data, at offset 8192, that another program wrote since tierscope filled it");
}

TEST_P(RewrittenByOthers, OneByteIsFound) {
  constexpr std::uint64_t kAt = 3 * kMiB + 1234;
  const std::string before = text_in(file_);
  rewrite(kAt, std::string(1, static_cast<char>(before[kAt] ^ 1)));
  expect_left_alone("3145728");
  rewrite(kAt, before.substr(kAt, 1));
  FilePool pool;
  EXPECT_EQ(pool.lease(kept())[0]->size, wanted_.size) << "its contents are whole again";
}

TEST_P(RewrittenByOthers, ASetChangeTimeDoesNotHideIt) {
  // As if the clock had not moved: what the list says of the time is true of the new contents.
  write_text(file_, std::string(wanted_.size, 'x'));
  {
    Manifest manifest(open_directory(directory_.path()), directory_.path(), false);
    FileEntry entry = *manifest.find("data.0");
    entry.closed = change_time(Descriptor(open(file_.c_str(), O_RDONLY)));
    manifest.put(entry);
  }
  expect_left_alone("0", "that tierscope did not write, although its change time has not moved");
}

TEST_P(RewrittenByOthers, WhatTierscopeWroteItselfIsStillItsOwn) {
  std::uint32_t number = 0;
  for (const std::uint32_t cell : {4096U, 512U}) {  // Of the other size among its own.
    FilePool pool;
    std::string problem;
    OwnedFile* const file = pool.find(file_, cell, problem);
    ASSERT_NE(file, nullptr) << problem;
    EXPECT_EQ(file->cell, cell == 4096 ? 4096U : 0U);
    number = file->number;
    std::vector<std::byte> block(8192);
    prepare(block, 7, 0, cell);
    stamp(block, number, 512 * 5, 2);
    const Descriptor opened(file->open(O_RDWR));
    const off_t at = cell == 4096 ? 4096 : 512 * 5;
    if (cell == 4096) stamp(block, number, 4096, 2);
    ASSERT_EQ(pwrite(opened.get(), block.data(), block.size(), at), 8192);
  }
  // As after SIGKILL: nobody wrote down when it was closed.
  fs::permissions(file_, fs::perms::owner_read | fs::perms::owner_write);
  FilePool pool;
  std::string problem;
  EXPECT_NE(pool.find(file_, std::nullopt, problem), nullptr) << problem;
}

TEST_P(RewrittenByOthers, NotEvenAfterItWasLeased) {
  FilePool pool;
  const OwnedFile* const file = pool.lease(kept())[0];
  close(file->open(O_RDONLY));
  write_text(file_, "precious");
  EXPECT_NE(message_of([&] { file->open(O_RDWR); }).find("was changed by another program"),
            std::string::npos);
  EXPECT_EQ(text_in(file_), "precious");
}

TEST_P(OwnedFiles, SizesNeedNotBeWholeBlocks) {
  wanted_.size = 4 * kMiB + 12345;
  FilePool pool;
  EXPECT_EQ(fs::file_size(pool.lease(wanted_)[0]->path), wanted_.size);
}

TEST_P(OwnedFiles, AFileOfOthersIsNeitherTakenNorTouched) {
  write_text(directory_.path("data.1"), "precious");
  FilePool pool;
  const std::string message = message_of([&] { pool.lease(kept()); });
  EXPECT_NE(message.find("data.1 exists, and tierscope did not make it"), std::string::npos);
  EXPECT_EQ(text_in(directory_.path("data.1")), "precious");
  EXPECT_EQ(names_in(directory_.path()), std::vector<std::string>{"data.1"})
      << "what was made goes";
}

TEST_P(OwnedFiles, AReplacedOneIsNotTaken) {
  {
    FilePool().lease(kept());
  }
  fs::rename(directory_.path("data.0"), directory_.path("mine"));
  write_text(directory_.path("data.0"), std::string(wanted_.size, 'x'));
  FilePool pool;
  EXPECT_NE(message_of([&] { pool.lease(kept()); }).find("is left alone"), std::string::npos);
  EXPECT_EQ(text_in(directory_.path("data.0")), std::string(wanted_.size, 'x'));
}

TEST_P(OwnedFiles, TheTokenHasToBeThere) {
  {
    FilePool().lease(kept());
  }
  ASSERT_EQ(removexattr(directory_.path("data.0").c_str(), kTokenAttribute), 0);
  FilePool pool;
  EXPECT_NE(message_of([&] { pool.lease(kept()); }).find("token"), std::string::npos);
}

TEST_P(OwnedFiles, AnotherLinkToItStopsIt) {
  FilePool pool;
  const OwnedFile* const file = pool.lease(wanted_)[0];
  close(file->open(O_RDWR));
  fs::create_hard_link(file->path, directory_.path("link"));
  EXPECT_NE(message_of([&] { file->check(); }).find("a file with 2 hard links"), std::string::npos);
  EXPECT_THROW(file->open(O_RDWR), Unavailable);
}

TEST_P(OwnedFiles, AreNotRemovedWhileTheyHaveAnotherName) {
  std::string path;
  {
    FilePool pool;
    path = pool.lease(wanted_)[0]->path;
    fs::create_hard_link(path, directory_.path("link"));
  }
  EXPECT_TRUE(fs::exists(path));
  EXPECT_TRUE(fs::exists(directory_.path("link")));
  EXPECT_EQ(leftovers(directory_.path())["files"][0]["state"], "unproven");
}

TEST_P(OwnedFiles, AnotherTierscopeDoesNotTakeWhatIsInUse) {
  FilePool first;
  first.lease(kept());
  FilePool second;
  EXPECT_NE(message_of([&] { second.lease(kept()); }).find("in use"), std::string::npos);
  EXPECT_NE(second.lease(wanted_)[0]->path, first.lease(wanted_)[0]->path);
  EXPECT_EQ(clean(directory_.path())["files"][0]["state"], "in-use");
}

TEST_P(OwnedFiles, TooMuchIsRefusedWithTheNumbersBeforeAnythingIsWritten) {
  wanted_.size = std::uint64_t{1} << 50;
  FilePool pool;
  EXPECT_NE(message_of([&] { pool.lease(wanted_); }).find("5% of the file system"),
            std::string::npos);
  EXPECT_TRUE(fs::is_empty(directory_.path()));
}

TEST_P(OwnedFiles, ContentsCompressAsWanted) {
  wanted_.compressible = 100;
  FilePool pool;
  const std::string text = text_in(pool.lease(wanted_)[0]->path);
  EXPECT_GT(std::count(text.begin(), text.end(), '\0'), text.size() * 95 / 100);
}

TEST_P(OwnedFiles, LeftoversOfADeadProcessAreListedAndRemoved) {
  const pid_t child = fork();
  if (child == 0) {
    auto* const pool = new FilePool;
    pool->lease(wanted_);
    _exit(0);  // Without destructors, as after SIGKILL.
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  write_text(directory_.path("theirs"), "x");
  const auto list = leftovers(directory_.path());
  ASSERT_EQ(list["files"].size(), 2U);
  EXPECT_EQ(list["files"][0]["state"], "leftover");
  EXPECT_GE(list["files"][0]["bytes"], wanted_.size);
  EXPECT_EQ(clean(directory_.path())["files"][1]["state"], "removed");
  EXPECT_EQ(names_in(directory_.path()), std::vector<std::string>{"theirs"});
  EXPECT_FALSE(has_manifest(directory_.path()));
  EXPECT_EQ(clean(directory_.path())["files"].size(), 0U);
}

TEST_P(OwnedFiles, CleaningLeavesWhatIsNotProven) {
  {
    FilePool().lease(kept());
  }
  fs::rename(directory_.path("data.0"), directory_.path("data.9"));
  fs::create_directory(directory_.path("data.0"));
  const auto files = clean(directory_.path())["files"];
  EXPECT_EQ(files[0]["state"], "unproven");
  EXPECT_EQ(files[0]["reason"], "it is a directory");
  EXPECT_EQ(files[1]["state"], "removed");
  EXPECT_EQ(names_in(directory_.path()), (std::vector<std::string>{"data.0", "data.9"}));
  EXPECT_TRUE(has_manifest(directory_.path()));
}

TEST_P(OwnedFiles, OneFileCanHaveANameOfItsOwn) {
  FilesWanted named = wanted_;
  named.stem = "";
  named.name = "big";
  EXPECT_THROW(FilePool().lease(named), Unavailable) << "two files of one name";
  named.count = 1;
  {
    FilePool pool;
    const std::string path = pool.lease(named)[0]->path;
    EXPECT_EQ(path, fs::canonical(directory_.path("big")));
  }
  EXPECT_TRUE(fs::is_empty(directory_.path()));
}

TEST_P(OwnedFiles, AreFoundByTheirPathWhereTheyAreProven) {
  {
    FilePool().lease(kept());
  }
  write_text(directory_.path("theirs"), "x");
  FilePool pool;
  const auto found = [&](FilePool& from, const std::string& name) {
    std::string problem;
    return from.find(directory_.path(name), std::nullopt, problem);
  };
  EXPECT_EQ(found(pool, "data.0")->size, wanted_.size);
  EXPECT_EQ(found(pool, "theirs"), nullptr);
  EXPECT_EQ(found(pool, "missing"), nullptr);
  EXPECT_EQ(found(pool, "missing/too"), nullptr);
  FilePool other;
  EXPECT_THROW(found(other, "data.0"), Unavailable) << "in use";
  fs::remove(directory_.path("data.1"));
  write_text(directory_.path("data.1"), "x");
  EXPECT_EQ(found(pool, "data.1"), nullptr);
}

TEST_P(OwnedFiles, OddNamesAndSizesAreRefused) {
  for (const char* stem : {"", "../x", "a/b", ".hidden"}) {
    FilesWanted wrong = wanted_;
    wrong.stem = stem;
    EXPECT_THROW(FilePool().lease(wrong), Unavailable) << stem;
  }
  wanted_.size = 0;
  EXPECT_THROW(FilePool().lease(wanted_), Unavailable);
  wanted_.directory = directory_.path("missing");
  EXPECT_THROW(FilePool().lease(wanted_), Unavailable);
}

TEST(KernelsDirectories, HoldNoFilesOfTierscope) {
  for (const char* path : {"/dev", "/proc", "/sys", "/sys/block", "/dev/pts"}) {
    if (!fs::is_directory(path)) continue;
    const std::string said = message_of([&] { open_directory(path); });
    EXPECT_NE(said.find("no file is made there"), std::string::npos) << path << ": " << said;
  }
  EXPECT_TRUE(bool(open_directory("/dev/shm"))) << "a tmpfs of its own";
}

TEST(Space, IsJudgedByItsNumbers) {
  const Space space{.total = 1000, .free = 500};
  EXPECT_NO_THROW(check_space(space, "/x", 0, 50, false));
  EXPECT_THROW(check_space(space, "/x", 0, 51, false), Unavailable);
  EXPECT_NO_THROW(check_space(space, "/x", 0, 450, true));
  EXPECT_THROW(check_space(space, "/x", 0, 451, true), Unavailable);
  EXPECT_NO_THROW(check_space({1000, 10}, "/x", 0, 0, false));
  EXPECT_THROW(check_space({1000, 10}, "/x", 0, 1, true), Unavailable);
}

}  // namespace
}  // namespace tierscope
