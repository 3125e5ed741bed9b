// File systems and kernels that lack what the safest way needs: system calls are made to fail by
// seccomp, in a child process.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <vector>

#include "errors.h"
#include "scratch_directory.h"
#include "storage/leftovers.h"
#include "storage/owned_files.h"

namespace tierscope {
namespace {

// From here on this system call fails with the error; where `flag` is not 0, only with all of that
// flag in its third argument.
void make_fail(long call, int error, std::uint32_t flag = 0) {
  const auto argument = static_cast<std::uint32_t>(offsetof(seccomp_data, args[2]));
  std::vector<sock_filter> filter{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 4),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, flag),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, flag, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    _exit(3);
  }
}

// Whether `work` says so in a child process.
bool in_child(const std::function<bool()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      _exit(work() ? 0 : 1);
    } catch (const std::exception& error) {
      fprintf(stderr, "%s\n", error.what());
      _exit(2);
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0;
}

class LackingKernel : public testing::Test {
 protected:
  FilesWanted wanted(bool keep) const {
    return {.directory = directory_.path(),
            .stem = "data.",
            .count = 2,
            .size = 65536,
            .keep = keep,
            .cell = 4096};
  }
  bool empty() const { return std::filesystem::is_empty(directory_.path()); }
  // As on NFS: no files without names, no rename that never replaces, neither attributes nor
  // handles.
  static void be_poor() {
    make_fail(SYS_openat, EOPNOTSUPP, O_TMPFILE);
    make_fail(SYS_renameat2, EINVAL);
    make_fail(SYS_fsetxattr, EOPNOTSUPP);
    make_fail(SYS_fgetxattr, EOPNOTSUPP);
    make_fail(SYS_name_to_handle_at, EOPNOTSUPP);
    make_fail(SYS_fallocate, EOPNOTSUPP);
  }

  ScratchDirectory directory_;
};

TEST_F(LackingKernel, FilesAreMadeKeptUsedAgainAndRemoved) {
  EXPECT_TRUE(in_child([&] {
    be_poor();
    {
      FilePool().lease(wanted(false));
    }
    if (!empty()) return false;
    {
      FilePool().lease(wanted(true));
    }
    bool written = false;
    {
      FilePool pool;
      pool.report_to([&](auto, auto, auto, auto) { written = true; });
      pool.lease(wanted(true));
    }
    const auto files = clean(directory_.path())["files"];
    return !written && files.size() == 2 && files[0]["state"] == "removed" && empty();
  }));
}

TEST_F(LackingKernel, LeftoversOfAnInterruptedFillAreProven) {
  EXPECT_TRUE(in_child([&] {
    be_poor();
    FilePool pool;
    pool.report_to([](auto, auto, auto, auto) { _exit(0); });
    pool.lease(wanted(false));
    return false;
  }));
  EXPECT_TRUE(in_child([&] {
    be_poor();
    const auto files = clean(directory_.path())["files"];
    return files.size() == 1 && files[0]["state"] == "removed" && empty();
  }));
}

TEST_F(LackingKernel, AFileOfOthersIsNotReplaced) {
  write_text(directory_.path("data.1"), "precious");
  EXPECT_TRUE(in_child([&] {
    be_poor();
    try {
      FilePool().lease(wanted(true));
    } catch (const Unavailable&) {
      return true;
    }
    return false;
  }));
  EXPECT_EQ(text_in(directory_.path("data.1")), "precious");
  EXPECT_FALSE(std::filesystem::exists(directory_.path("data.0")));
}

TEST_F(LackingKernel, WithoutOpenat2NothingIsMade) {
  EXPECT_TRUE(in_child([&] {
    make_fail(SYS_openat2, ENOSYS);
    try {
      FilePool().lease(wanted(false));
    } catch (const Unavailable& error) {
      return error.cause() == Cause::kKernel && !error.remedy().empty();
    }
    return false;
  }));
  EXPECT_TRUE(empty());
}

TEST_F(LackingKernel, AFullDiskIsNamedAndWhatWasMadeIsRemoved) {
  for (const long call : {SYS_fallocate, SYS_pwrite64}) {
    EXPECT_TRUE(in_child([&] {
      make_fail(call, ENOSPC);
      try {
        FilePool().lease(wanted(true));
      } catch (const Unavailable& error) {
        return std::string(error.what()).find("space ran out") != std::string::npos && empty();
      }
      return false;
    }));
  }
}

// A fault of the drive is none of the file system's being full.
TEST_F(LackingKernel, AFaultOfTheDriveIsAFailure) {
  EXPECT_TRUE(in_child([&] {
    make_fail(SYS_pwrite64, EIO);
    try {
      FilePool().lease(wanted(true));
    } catch (const Failure& error) {
      return error.cause() == Cause::kStorage && empty();
    }
    return false;
  }));
}

}  // namespace
}  // namespace tierscope
