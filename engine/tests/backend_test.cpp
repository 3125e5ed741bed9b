#include "storage/backend.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>

namespace tierscope {
namespace {

constexpr std::size_t kBlock = 4096;
constexpr std::size_t kBlocks = 16;
constexpr double kForever = std::numeric_limits<double>::infinity();

// A file in memory whose blocks are filled with their numbers, and a backend with two buffers.
class BackendTest : public testing::TestWithParam<std::string_view> {
 protected:
  BackendTest() : file_(memfd_create("backend-test", MFD_CLOEXEC)) {
    for (std::size_t block = 0; block < kBlocks; ++block) {
      const std::string data(kBlock, static_cast<char>(block));
      EXPECT_EQ(write(file_, data.data(), kBlock), kBlock);
    }
    make();
  }
  void make() {
    for (const BackendKind& kind : backend_kinds()) {
      if (kind.name == GetParam()) backend_ = kind.make(io_);
    }
  }
  ~BackendTest() override {
    backend_.reset();
    close(file_);
  }

  std::int64_t carry_out(const IoRequest& request) {
    std::array<Completion, 2> done{};
    backend_->submit({&request, 1});
    EXPECT_EQ(backend_->reap(done, 1, kForever), 1);
    EXPECT_EQ(done[0].slot, request.slot);
    return done[0].result;
  }

  IoRequest request(std::size_t block, bool write) const {
    return {.offset = block * kBlock, .bytes = kBlock, .slot = 1, .file = 0, .write = write};
  }

  int file_;
  alignas(kBlock) std::array<std::byte, 2 * kBlock> memory_{};
  std::array<std::byte*, 2> buffers_{memory_.data(), memory_.data() + kBlock};
  std::array<std::uint64_t, 1> sizes_{kBlock * kBlocks};
  ThreadIo io_{.files = {&file_, 1},
               .sizes = sizes_,
               .buffers = buffers_,
               .buffer_bytes = kBlock,
               .writes = true};
  std::unique_ptr<Backend> backend_;
};

TEST_P(BackendTest, ReadsTheBlockAskedFor) {
  EXPECT_EQ(carry_out(request(7, false)), kBlock);
  EXPECT_EQ(buffers_[1][0], std::byte{7});
  EXPECT_EQ(buffers_[1][kBlock - 1], std::byte{7});
  EXPECT_EQ(buffers_[0][0], std::byte{0});
}

TEST_P(BackendTest, WritesTheBlockAskedFor) {
  std::fill_n(buffers_[1], kBlock, std::byte{0xaa});
  EXPECT_EQ(carry_out(request(3, true)), kBlock);
  std::array<std::byte, 3 * kBlock> found{};
  ASSERT_EQ(pread(file_, found.data(), found.size(), 2 * kBlock), found.size());
  EXPECT_EQ(found[kBlock - 1], std::byte{2});
  EXPECT_EQ(found[kBlock], std::byte{0xaa});
  EXPECT_EQ(found[2 * kBlock - 1], std::byte{0xaa});
  EXPECT_EQ(found[2 * kBlock], std::byte{4});
}

TEST_P(BackendTest, AFileThatWasTruncatedIsSeen) {
  EXPECT_EQ(carry_out(request(7, false)), kBlock);
  ASSERT_EQ(ftruncate(file_, 4 * kBlock), 0);
  const bool mapped = GetParam() == "mmap" || GetParam() == "pmem";
  const std::int64_t expected = mapped ? -EFAULT : 0;
  EXPECT_EQ(carry_out(request(7, false)), expected);
  EXPECT_EQ(carry_out(request(8, false)), expected);  // As often as it happens.
  EXPECT_EQ(carry_out(request(3, false)), kBlock);
}

using PersistentBackendTest = BackendTest;

TEST_P(PersistentBackendTest, StoresPastTheCachesWhateverTheAlignment) {
  io_.non_temporal = io_.drain = true;
  make();
  std::fill_n(buffers_[1], kBlock, std::byte{0xaa});
  for (const auto [offset, bytes] : {std::pair{3 * kBlock, 512U}, {5 * kBlock + 7, 999U}}) {
    EXPECT_EQ(carry_out({.offset = offset, .bytes = bytes, .slot = 1, .file = 0, .write = true}),
              bytes);
    std::array<std::byte, 1024> found{};
    ASSERT_EQ(pread(file_, found.data(), bytes + 1, static_cast<off_t>(offset)), bytes + 1);
    EXPECT_EQ(std::ranges::count(found, std::byte{0xaa}), bytes);
  }
  backend_->sync(0, true);
}

TEST_P(PersistentBackendTest, AFileInMemoryIsNotMappedSynchronously) {
  EXPECT_FALSE(maps_synchronously(file_));
}

INSTANTIATE_TEST_SUITE_P(All, PersistentBackendTest, testing::Values("pmem"));

using SpaceBackendTest = BackendTest;

TEST_P(SpaceBackendTest, ChangesBlocksAndKeepsTheSize) {
  const auto blocks_held = [&] {
    struct stat found{};
    EXPECT_EQ(fstat(file_, &found), 0);
    EXPECT_EQ(found.st_size, kBlocks * kBlock);
    return found.st_blocks * 512;
  };
  const bool punches = GetParam() == "punch-hole";
  if (!punches) {
    ASSERT_EQ(fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 3 * kBlock, kBlock), 0);
  }
  const auto before = blocks_held();
  EXPECT_EQ(carry_out(request(3, true)), kBlock);
  EXPECT_EQ(blocks_held(), punches ? before - kBlock : before + kBlock);
  std::array<std::byte, 2> found{std::byte{1}, std::byte{1}};
  ASSERT_EQ(pread(file_, found.data(), 2, 4 * kBlock - 1), 2);
  EXPECT_EQ(found[0], std::byte{0});
  EXPECT_EQ(found[1], std::byte{4});
}

INSTANTIATE_TEST_SUITE_P(All, SpaceBackendTest,
                         testing::Values("fallocate", "fallocate-keep", "punch-hole"),
                         [](const auto& parameter) {
                           std::string name(parameter.param);
                           std::erase(name, '-');
                           return name;
                         });

using NullBackendTest = BackendTest;

TEST_P(NullBackendTest, EndsOperationsAndMovesNothing) {
  EXPECT_EQ(carry_out(request(7, false)), kBlock);
  EXPECT_EQ(buffers_[1][0], std::byte{0});
  std::fill_n(buffers_[1], kBlock, std::byte{0xaa});
  EXPECT_EQ(carry_out(request(3, true)), kBlock);
  std::byte found{};
  ASSERT_EQ(pread(file_, &found, 1, 3 * kBlock), 1);
  EXPECT_EQ(found, std::byte{3});
}

using TruncateBackendTest = BackendTest;

TEST_P(TruncateBackendTest, EndsTheFileAtTheOffsetUntilItIsDestroyed) {
  struct stat found{};
  ASSERT_EQ(fstat(file_, &found), 0);
  const off_t size = found.st_size;
  for (const std::size_t block : {3, 7}) {
    EXPECT_EQ(carry_out(request(block, true)), kBlock);
    ASSERT_EQ(fstat(file_, &found), 0);
    EXPECT_EQ(found.st_size, static_cast<off_t>(block * kBlock));
  }
  std::byte cut{1};
  ASSERT_EQ(pread(file_, &cut, 1, 5 * kBlock), 1);
  EXPECT_EQ(cut, std::byte{0});
  backend_.reset();
  ASSERT_EQ(fstat(file_, &found), 0);
  EXPECT_EQ(found.st_size, size);
}

INSTANTIATE_TEST_SUITE_P(All, TruncateBackendTest, testing::Values("ftruncate"));

INSTANTIATE_TEST_SUITE_P(All, NullBackendTest, testing::Values("null"));

INSTANTIATE_TEST_SUITE_P(All, BackendTest,
                         testing::Values("posix", "sync", "pvsync", "pvsync2", "splice", "libaio",
                                         "posixaio", "io_uring", "mmap", "pmem"),
                         [](const auto& parameter) { return std::string(parameter.param); });

}  // namespace
}  // namespace tierscope
