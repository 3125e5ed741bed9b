#include "storage/in_flight.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "errors.h"
#include "scratch_directory.h"
#include "storage/descriptor.h"

namespace tierscope {
namespace {

constexpr std::size_t kBlock = 4096;
constexpr std::size_t kBlocks = 16;

class InFlightTest : public testing::TestWithParam<std::string_view> {
 protected:
  InFlightTest()
      : file_(pool_.lease({.directory = folder_.path(), .stem = "f.", .size = kBlock * kBlocks})
                  .front()),
        open_(file_->open(O_RDWR | O_CLOEXEC)) {}

  // As many buffers as a synchronous backend has, or three.
  InFlight made() {
    const auto backend = std::ranges::find(backend_kinds(), GetParam(), &BackendKind::name);
    memory_.resize((backend->synchronous ? 1 : 3) * kBlock);
    std::vector<std::byte*> buffers;
    for (std::size_t at = 0; at < memory_.size(); at += kBlock) buffers.push_back(&memory_[at]);
    return InFlight({.file = file_,
                     .descriptor = open_.get(),
                     .backend = &*backend,
                     .buffers = buffers,
                     .buffer_bytes = kBlock,
                     .writes = true,
                     .direct = false,
                     .gpu = -1});
  }

  InFlight::Operation operation(std::size_t number, std::uint32_t slot, bool write) {
    return {.data = &memory_[slot * kBlock],
            .offset = number * kBlock,
            .bytes = kBlock,
            .write = write};
  }

  ScratchDirectory folder_;
  FilePool pool_;
  OwnedFile* file_;
  Descriptor open_;
  std::vector<std::byte> memory_;
};

TEST_P(InFlightTest, CarriesOutEachOnceAndNeverMoreThanThereAreBuffers) {
  InFlight lane = made();
  std::multiset<std::size_t> ended;
  std::set<std::uint32_t> busy;
  const auto move = [&](bool write) {
    ended.clear();
    lane.carry_out(
        kBlocks,
        [&](std::size_t number, std::uint32_t slot) {
          EXPECT_TRUE(busy.insert(slot).second);
          EXPECT_LE(busy.size(), lane.depth());
          std::byte* const data = &memory_[slot * kBlock];
          std::fill_n(data, kBlock, write ? static_cast<std::byte>(number) : std::byte{0xff});
          return operation(number, slot, write);
        },
        [&](std::size_t number, std::uint32_t slot) {
          busy.erase(slot);
          ended.insert(number);
          EXPECT_EQ(memory_[slot * kBlock + kBlock - 1], static_cast<std::byte>(number));
        });
    EXPECT_TRUE(busy.empty());
    for (std::size_t number = 0; number < kBlocks; ++number) EXPECT_EQ(ended.count(number), 1);
  };
  move(true);
  move(false);
}

TEST_P(InFlightTest, OneThatDoesNotMoveAllOfItsBytesIsNamed) {
  InFlight lane = made();
  try {
    lane.carry_out(
        kBlocks + 1,
        [&](std::size_t number, std::uint32_t slot) { return operation(number, slot, false); },
        [](std::size_t number, std::uint32_t) { EXPECT_LT(number, kBlocks); });
    FAIL() << "the last one is behind the end of the file";
  } catch (const Failure& error) {
    EXPECT_EQ(std::string(error.what()),
              file_->path + ": reading at offset 65536 failed: 0 of 4096 bytes were moved");
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, InFlightTest, testing::Values("posix", "libaio", "io_uring"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace tierscope
