#include "access/block_writes.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "errors.h"

namespace tierscope {
namespace {

constexpr std::size_t kWrittenBlock = 256;
constexpr std::uint64_t kWrittenBlocks = 12;
constexpr std::uint64_t kKey = std::uint64_t{7} << 48;

// Blocks between two that nobody may touch.
class Blocks : public testing::Test {
 protected:
  BlockWalk walk(bool random, std::size_t offset = 0) {
    return {data(), offset, kWrittenBlock, kWrittenBlocks, random, kKey};
  }
  std::byte* data() { return reinterpret_cast<std::byte*>(words_.data()) + kWrittenBlock; }
  std::uint64_t& word(std::size_t number) { return words_[kWrittenBlock / 8 + number]; }
  std::uint64_t outside() { return words_.front() | words_.back(); }

 private:
  struct alignas(64) Line {
    std::uint64_t words[8];
  };
  std::vector<Line> lines_ = std::vector<Line>((kWrittenBlocks + 2) * kWrittenBlock / 64);
  std::span<std::uint64_t> words_{lines_.front().words, lines_.size() * 8};
};

// Whether a process survives writing a block this way: qemu 7.2 announces DC CVAP to programs that
// it emulates and then refuses it.
bool survives(const BlockWrite& how) {
  const pid_t child = fork();
  if (child == 0) {
    struct alignas(64) {
      std::byte bytes[2 * kWrittenBlock];
    } memory{};
    BlockWalk walk{memory.bytes, 0, kWrittenBlock, 2, false, kKey};
    block_writer(how).write(walk, 1);
    _exit(0);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status);
}

std::vector<BlockWrite> ways() {
  std::vector<BlockWrite> found{{}, {.non_temporal = true}, {.non_temporal = true, .fence = true}};
  for (const auto& [name, flush] : kFlushNames) {
    const BlockWrite way{.flush = flush, .fence = true};
    if (has_flush(flush) && (flush != Flush::kCvap || survives(way))) found.push_back(way);
  }
  return found;
}

TEST_F(Blocks, EveryWayWritesTheWordsThatTheWalkNames) {
  for (const BlockWrite& how : ways()) {
    const BlockWriter writer = block_writer(how);
    BlockWalk blocks = walk(false, 4096);
    std::fill_n(data(), kWrittenBlocks * kWrittenBlock, std::byte{0});
    writer.write(blocks, kWrittenBlocks - 1);
    EXPECT_EQ(blocks.compare(1), (kWrittenBlocks - 1) * kWrittenBlock) << how.text();
    EXPECT_EQ(word(0), kKey + 512) << how.text();
    EXPECT_EQ(word(33), kKey + 545) << how.text();
    EXPECT_EQ(word((kWrittenBlocks - 1) * kWrittenBlock / 8), 0U) << how.text();
    EXPECT_EQ(outside(), 0U) << how.text();
  }
}

TEST_F(Blocks, TimedBlocksAreWrittenAndCountedOnceEach) {
  for (const BlockWrite& how : ways()) {
    const BlockWriter writer = block_writer(how);
    BlockWalk blocks = walk(false);
    Histogram ns;
    std::fill_n(data(), kWrittenBlocks * kWrittenBlock, std::byte{0});
    writer.time(blocks, kWrittenBlocks, ns);
    EXPECT_EQ(ns.count(), kWrittenBlocks);
    EXPECT_EQ(blocks.compare(1), kWrittenBlocks * kWrittenBlock) << how.text();
  }
}

TEST_F(Blocks, SequentialOrderBeginsAgain) {
  BlockWalk blocks = walk(false);
  for (std::uint64_t i = 0; i < kWrittenBlocks; ++i)
    EXPECT_EQ(blocks.next(), data() + i * kWrittenBlock);
  EXPECT_EQ(blocks.next(), data());
  EXPECT_EQ(blocks.taken(), kWrittenBlocks + 1);
}

TEST_F(Blocks, RandomOrderComesToEveryBlockInAPeriod) {
  BlockWalk blocks = walk(true);
  std::set<std::byte*> seen;
  for (int i = 0; i < 16; ++i) seen.insert(blocks.next());
  EXPECT_EQ(seen.size(), kWrittenBlocks);
  EXPECT_EQ(*seen.begin(), data());
  EXPECT_EQ(*seen.rbegin(), data() + (kWrittenBlocks - 1) * kWrittenBlock);
}

TEST_F(Blocks, AWrongWordIsFoundInAnyOrder) {
  const BlockWriter writer = block_writer(BlockWrite{});
  for (const bool random : {false, true}) {
    BlockWalk blocks = walk(random);
    writer.write(blocks, 100);
    EXPECT_GE(blocks.compare(1), kWrittenBlocks * kWrittenBlock);
    for (const std::size_t at :
         {std::size_t{0}, std::size_t{100}, kWrittenBlocks * kWrittenBlock / 8 - 1}) {
      word(at) ^= 1;
      EXPECT_THROW(static_cast<void>(blocks.compare(1)), Failure) << at;
      word(at) ^= 1;
    }
  }
}

TEST_F(Blocks, ASampleComparesThatManyFewer) {
  const BlockWriter writer = block_writer(BlockWrite{});
  BlockWalk blocks = walk(false);
  writer.write(blocks, kWrittenBlocks);
  EXPECT_EQ(blocks.compare(4), kWrittenBlocks / 4 * kWrittenBlock);
}

TEST(BlockWriter, AMissingInstructionIsNamed) {
#if defined(__x86_64__)
  constexpr Flush kForeign = Flush::kCvap;
#else
  constexpr Flush kForeign = Flush::kClwb;
#endif
  try {
    static_cast<void>(block_writer({.flush = kForeign, .fence = true}));
    FAIL() << "no CPU has both";
  } catch (const Unavailable& error) {
    EXPECT_EQ(error.cause(), Cause::kIsa);
    EXPECT_TRUE(std::string(error.what()).starts_with("this CPU has no instruction "));
  }
}

TEST(BlockWrite, SaysWhatRan) {
  EXPECT_EQ((BlockWrite{.non_temporal = true}).text(), "16-byte non-temporal stores");
  EXPECT_TRUE((BlockWrite{.flush = Flush::kClwb, .fence = true})
                  .text()
                  .starts_with("16-byte stores, clwb of each line, "));
}

}  // namespace
}  // namespace tierscope
