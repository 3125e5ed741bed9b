// Directories of small files: made, used, removed; what a killed process left; what is not ours.
#include "storage/small_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "errors.h"
#include "scratch_directory.h"
#include "storage/leftovers.h"
#include "storage/proof.h"

namespace tierscope {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kCount = 5;
constexpr std::uint64_t kBytes = 5000;

std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

// This machine's disk, and memory.
class Small : public testing::TestWithParam<const char*> {
 protected:
  // The one directory of small files below `directory_`.
  std::string work() const {
    for (const auto& entry : fs::directory_iterator(directory_.path())) {
      if (entry.path().filename().string().starts_with("tierscope-files.")) return entry.path();
    }
    return "";
  }
  // The path of a file of this number.
  std::string path_of_file(const std::string& number) const {
    for (const auto& entry : fs::directory_iterator(work())) {
      if (entry.path().extension() == "." + number) return entry.path();
    }
    return "";
  }
  void create_all(SmallFiles& files) const {
    for (std::size_t i = 0; i < kCount; ++i) files.create(i, FileSync::kNone);
  }
  // As after SIGKILL: without destructors.
  void leave_files() const {
    const pid_t child = fork();
    if (child == 0) {
      create_all(*new SmallFiles(directory_.path(), kCount, kBytes));
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
  nlohmann::ordered_json cleaned() const { return clean(directory_.path())["files"][0]; }

  ScratchDirectory directory_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(FileSystems, Small, testing::Values("/tmp", "/dev/shm"));

TEST_P(Small, FilesAreMadeUsedAndRemoved) {
  {
    SmallFiles files(directory_.path(), kCount, kBytes);
    for (const FileSync sync : {FileSync::kNone, FileSync::kFile, FileSync::kDirectory}) {
      EXPECT_GT(files.create(0, sync), 0);
      EXPECT_EQ(fs::file_size(path_of_file("0")), kBytes);
      EXPECT_GT(files.unlink(0, sync), 0);
      EXPECT_EQ(path_of_file("0"), "");
      EXPECT_FALSE(files.exists(0));
    }
    create_all(files);
    std::vector<std::byte> buffer(kBytes + 1);
    EXPECT_GT(files.open(1), 0);
    EXPECT_GT(files.stat(1), 0);
    EXPECT_GT(files.read(1, buffer), 0);
    EXPECT_NE(buffer[0], std::byte{0});
    EXPECT_GT(files.list(), 0);
    EXPECT_EQ(fs::status(work()).permissions(), fs::perms::owner_all);
  }
  EXPECT_TRUE(fs::is_empty(directory_.path()));
}

TEST_P(Small, FilesMayBeEmpty) {
  SmallFiles files(directory_.path(), 1, 0);
  files.create(0, FileSync::kFile);
  std::vector<std::byte> buffer(1);
  EXPECT_GT(files.read(0, buffer), 0);
}

TEST_P(Small, ANameThatExistsIsNotOverwritten) {
  SmallFiles files(directory_.path(), kCount, kBytes);
  files.create(0, FileSync::kNone);
  const std::string theirs = fs::path(path_of_file("0")).replace_extension(".1");
  write_text(theirs, "precious");
  EXPECT_THROW(files.create(1, FileSync::kNone), Unavailable);
  EXPECT_EQ(text_in(theirs), "precious");
  fs::remove(theirs);
}

TEST_P(Small, WhatWasPutInAFilesPlaceIsNotUnlinked) {
  const std::string theirs = directory_.path("theirs");
  write_text(theirs, "precious");
  testing::internal::CaptureStderr();
  std::string place;
  {
    SmallFiles files(directory_.path(), kCount, kBytes);
    create_all(files);
    place = path_of_file("2");
    fs::rename(theirs, place);
    EXPECT_NE(message_of([&] { files.remove(2); }).find("another file"), std::string::npos);
    fs::remove(path_of_file("3"));
    EXPECT_NE(message_of([&] { files.remove(3); }).find("No such file"), std::string::npos);
    fs::create_hard_link(path_of_file("4"), directory_.path("link"));
    EXPECT_NE(message_of([&] { files.remove(4); }).find("2 hard links"), std::string::npos);
  }
  EXPECT_EQ(text_in(place), "precious");
  EXPECT_EQ(path_of_file("0"), "") << "the others go";
  EXPECT_NE(testing::internal::GetCapturedStderr().find("stays: "), std::string::npos);
}

TEST_P(Small, AFileThatIsNotAsItWasWrittenIsAFailure) {
  SmallFiles files(directory_.path(), kCount, kBytes);
  create_all(files);
  std::vector<std::byte> buffer(kBytes + 1);
  fs::resize_file(path_of_file("0"), kBytes - 1);
  EXPECT_NE(message_of([&] { files.read(0, buffer); }).find("has 4999 bytes, not the 5000"),
            std::string::npos);
  fs::resize_file(path_of_file("0"), kBytes + 7);
  EXPECT_THROW(files.read(0, buffer), Failure);
  files.remove(0);
  EXPECT_NE(message_of([&] { files.list(); }).find("lists 6 names, not the 7"), std::string::npos);
}

TEST_P(Small, APipeInAFilesPlaceBlocksNothing) {
  SmallFiles files(directory_.path(), kCount, kBytes);
  create_all(files);
  const std::string place = path_of_file("0");
  fs::rename(place, directory_.path("ours"));
  ASSERT_EQ(mkfifo(place.c_str(), 0600), 0);
  files.open(0);
  EXPECT_THROW(files.remove(0), Unavailable);
  fs::rename(directory_.path("ours"), place);
}

TEST_P(Small, LeftoversAreListedAndRemoved) {
  leave_files();
  const auto listed = leftovers(directory_.path())["files"][0];
  EXPECT_EQ(listed["state"], "leftover");
  EXPECT_EQ(listed["files"], kCount);
  EXPECT_GE(listed["bytes"], kCount * kBytes);
  EXPECT_EQ(cleaned()["state"], "removed");
  EXPECT_TRUE(fs::is_empty(directory_.path()));
}

TEST_P(Small, WhatIsInUseIsNotCleaned) {
  SmallFiles files(directory_.path(), kCount, kBytes);
  create_all(files);
  EXPECT_EQ(cleaned()["state"], "in-use");
  EXPECT_GT(files.list(), 0);
}

// What somebody put into a directory that a killed process left.
struct Stranger {
  const char* name;  // Of the test.
  const char* says;
  std::function<void(const std::string& directory, const std::string& file)> put;
};

TEST_P(Small, OnlyWhatIsProvenIsCleaned) {
  const Stranger strangers[] = {
      {"other name", "does not have such a name",
       [](const std::string& directory, const std::string&) {
         write_text(directory + "/mine", "precious");
       }},
      {"number beyond", "does not have such a name",
       [](const std::string&, const std::string& file) {
         fs::rename(file, fs::path(file).replace_extension(".5"));
       }},
      {"number with a zero", "does not have such a name",
       [](const std::string&, const std::string& file) {
         fs::rename(file, fs::path(file).replace_extension(".00"));
       }},
      {"readable by all", "may be used by others",
       [](const std::string&, const std::string& file) { chmod(file.c_str(), 0644); }},
      {"larger", "is larger",
       [](const std::string&, const std::string& file) { fs::resize_file(file, kBytes + 1); }},
      {"link", "is a symbolic link",
       [](const std::string&, const std::string& file) {
         fs::remove(file);
         fs::create_symlink("/etc/passwd", file);
       }},
      {"directory", "is a directory",
       [](const std::string&, const std::string& file) {
         fs::remove(file);
         fs::create_directory(file);
       }},
      {"hard link", "2 hard links",
       [](const std::string& directory, const std::string& file) {
         fs::create_hard_link(file, directory + "/../link");
       }},
  };
  for (const Stranger& stranger : strangers) {
    SCOPED_TRACE(stranger.name);
    leave_files();
    const std::string left = work();
    stranger.put(left, path_of_file("0"));
    const auto kept = cleaned();
    EXPECT_EQ(kept["state"], "leftover");
    EXPECT_NE(kept["reason"].get<std::string>().find(stranger.says), std::string::npos)
        << kept["reason"];
    const auto strangers_left =
        std::distance(fs::directory_iterator(left), fs::directory_iterator());
    EXPECT_EQ(strangers_left, 1) << "all but the stranger goes";
    fs::remove_all(left);
    fs::remove(directory_.path("link"));
    EXPECT_EQ(cleaned()["state"], "missing");
    ASSERT_TRUE(fs::is_empty(directory_.path()));
  }
}

TEST_P(Small, AnOlderFileThatWasMovedThereIsNotRemoved) {
  const std::string theirs = directory_.path("theirs");
  write_text(theirs, "precious");
  chmod(theirs.c_str(), 0600);
  usleep(20'000);  // Birth times advance with the kernel's ticks.
  leave_files();
  const std::string place = path_of_file("0");
  fs::rename(theirs, place);
  EXPECT_NE(cleaned()["reason"].get<std::string>().find("is older than the directory"),
            std::string::npos);
  EXPECT_EQ(text_in(place), "precious");
}

TEST_P(Small, ADirectoryThatIsNotTheOneThatWasMadeIsLeftAlone) {
  leave_files();
  const std::string left = work();
  chmod(left.c_str(), 0755);
  EXPECT_EQ(cleaned()["reason"], "it may be entered by other users");
  chmod(left.c_str(), 0700);
  fs::rename(left, directory_.path("moved"));
  fs::create_directory(left);
  chmod(left.c_str(), 0700);
  write_text(left + "/mine", "precious");
  EXPECT_NE(cleaned()["reason"].get<std::string>().find("is another file"), std::string::npos);
  EXPECT_EQ(text_in(left + "/mine"), "precious");
  fs::remove_all(left);
  write_text(left, "precious");
  EXPECT_EQ(cleaned()["state"], "unproven");
  EXPECT_EQ(text_in(left), "precious");
}

TEST_P(Small, RoomIsCheckedBeforeAnythingIsMade) {
  const std::string message =
      message_of([&] { check_room(directory_.path(), 1'000'000'000'000, 4096, true); });
  EXPECT_NE(message.find(directory_.path()), std::string::npos);
  EXPECT_THROW(check_room(directory_.path(), 1 << 20, std::uint64_t{1} << 30, false), Unavailable);
  EXPECT_NO_THROW(check_room(directory_.path(), 10, 4096, false));
  EXPECT_TRUE(fs::is_empty(directory_.path()));
}

TEST_P(Small, RoomOfFilesOfSizesOfTheirOwnIsThatOfAllOfThem) {
  const std::vector<std::uint64_t> few{1, 4096};
  EXPECT_NO_THROW(check_room(directory_.path(), few, false));
  const std::vector<std::uint64_t> many{1, std::uint64_t{1} << 50};
  EXPECT_THROW(check_room(directory_.path(), many, true), Unavailable);
}

// Files of sizes of their own: larger than what is written at once, no multiple of a cell, tiny.
class Sized : public Small {
 protected:
  const std::vector<std::uint64_t> sizes_{(std::uint64_t{4} << 20) + 5000, 4096, 1};
};

INSTANTIATE_TEST_SUITE_P(FileSystems, Sized, testing::Values("/tmp", "/dev/shm"));

TEST_P(Sized, EachHasItsSizeAndCellsOfItsOwn) {
  {
    SmallFiles files(directory_.path(), sizes_);
    ASSERT_EQ(files.count(), sizes_.size());
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      files.create(i, FileSync::kFile);
      EXPECT_EQ(fs::file_size(path_of_file(std::to_string(i))), sizes_[i]);
      EXPECT_EQ(files.wrong(i), std::nullopt);
    }
    EXPECT_NE(text_in(path_of_file("0")).substr(0, 4096), text_in(path_of_file("1")));
  }
  EXPECT_TRUE(fs::is_empty(directory_.path()) || work().empty());
}

TEST_P(Sized, AByteThatChangedIsFound) {
  SmallFiles files(directory_.path(), sizes_);
  files.create(0, FileSync::kNone);
  const int file = open(path_of_file("0").c_str(), O_WRONLY);
  ASSERT_EQ(pwrite(file, "!", 1, (4 << 20) + 100), 1);
  close(file);
  const auto problem = files.wrong(0);
  ASSERT_TRUE(problem);
  EXPECT_NE(problem->find(path_of_file("0")), std::string::npos);
}

TEST_P(Sized, PiecesAreWholeFilesInOrderUntilNobodyWantsMore) {
  SmallFiles files(directory_.path(), sizes_);
  files.create(0, FileSync::kNone);
  std::vector<std::byte> buffer(1 << 20);
  std::vector<std::uint64_t> offsets;
  std::uint64_t bytes = 0;
  const auto read = [&](std::size_t most) {
    offsets.clear();
    files.read_pieces(files.opened(0), 0, buffer, [&](auto piece, std::uint64_t offset) {
      offsets.push_back(offset);
      bytes += piece.size();
      return offsets.size() < most;
    });
  };
  read(100);
  EXPECT_EQ(offsets, (std::vector<std::uint64_t>{0, 1 << 20, 2 << 20, 3 << 20, 4 << 20}));
  EXPECT_EQ(bytes, sizes_[0]);
  read(2);
  EXPECT_EQ(offsets.size(), 2U);
}

TEST_P(Sized, AFileThatWasCutFails) {
  SmallFiles files(directory_.path(), sizes_);
  files.create(1, FileSync::kNone);
  fs::resize_file(path_of_file("1"), 100);
  EXPECT_NE(message_of([&] { files.wrong(1); }).find("has 100 bytes, not the 4096"),
            std::string::npos);
}

}  // namespace
}  // namespace tierscope
