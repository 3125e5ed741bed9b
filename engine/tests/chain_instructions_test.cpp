// The instructions that chains execute, counted one by one: a child makes them, single-stepped.
#if defined(__x86_64__)
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <vector>

#include "access/chain.h"
#include "access/flush.h"
#include "sizes.h"

namespace tierscope {
namespace {

struct Executed {
  int clwb = 0;
  int clflush = 0;
  int clflushopt = 0;
  int sfence = 0;
  int mfence = 0;
  int movntdq = 0;

  bool operator==(const Executed&) const = default;
};

// Counts the instruction whose bytes these are (Intel SDM vol. 2: CLWB is 66 0F AE /6, CLFLUSHOPT
// 66 0F AE /7, CLFLUSH 0F AE /7, SFENCE 0F AE F8, MFENCE 0F AE F0, MOVNTDQ 66 0F E7, or VEX with
// the opcode E7).
void count(std::array<std::uint8_t, sizeof(long)> bytes, Executed& executed) {
  std::size_t at = 0;
  if (bytes[0] == 0xc5 && bytes[2] == 0xe7) ++executed.movntdq;
  if (bytes[0] == 0xc4 && bytes[3] == 0xe7) ++executed.movntdq;
  const bool prefixed = bytes[at] == 0x66;
  if (prefixed) ++at;
  if ((bytes[at] & 0xf0) == 0x40) ++at;  // REX
  if (bytes[at] != 0x0f) return;
  if (prefixed && bytes[at + 1] == 0xe7) ++executed.movntdq;
  if (bytes[at + 1] != 0xae) return;
  const std::uint8_t modrm = bytes[at + 2];
  const int extension = modrm >> 3 & 7;
  if (modrm == 0xf8) {
    ++executed.sfence;
  } else if (modrm == 0xf0) {
    ++executed.mfence;
  } else if (modrm >> 6 != 3 && extension == 6) {
    executed.clwb += prefixed ? 1 : 0;
  } else if (modrm >> 6 != 3 && extension == 7) {
    ++(prefixed ? executed.clflushopt : executed.clflush);
  }
}

// Steps a child through `work`; false where it may not be traced.
template <typename Work>
bool step_through(const Work& work, Executed& executed) {
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(2);
    raise(SIGSTOP);
    work();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFSTOPPED(status)) return false;
  while (WIFSTOPPED(status)) {
    user_regs_struct registers{};
    ptrace(PTRACE_GETREGS, child, nullptr, &registers);
    const long word = ptrace(PTRACE_PEEKTEXT, child, registers.rip, nullptr);
    std::array<std::uint8_t, sizeof word> bytes{};
    std::memcpy(bytes.data(), &word, sizeof word);
    count(bytes, executed);
    ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr);
    waitpid(child, &status, 0);
  }
  return true;
}

ChainOperation write_of(std::size_t size, CacheUse cache, ChainFence fence) {
  return {.access = ChainAccess::kWrite, .size = size, .cache = cache, .fence = fence};
}

// What so many chains execute; nothing where this CPU lacks the instructions, or tracing.
class ChainInstructions : public testing::Test {
 protected:
  static constexpr int kChains = 10;

  void expect(const std::vector<ChainOperation>& operations, const Executed& of_a_chain) {
    constexpr std::size_t kBytes = 64 << 10;
    std::vector<std::byte> memory(kBytes + kCacheLine);
    void* at = memory.data();
    std::size_t room = memory.size();
    auto* const base = static_cast<std::byte*>(std::align(kCacheLine, kBytes, at, room));
    fill_lines(base, 0, 0, kBytes / kCacheLine);
    const std::array regions{ChainRegion{.base = base, .bytes = kBytes}};
    const Chain chain = lay_chain(operations, true, regions);
    std::vector<ChainWalk> walks(1);
    Executed executed;
    if (!step_through([&] { run_chains(chain, walks, kChains); }, executed)) {
      GTEST_SKIP() << "no child may be traced here";
    }
    EXPECT_EQ(executed.clwb, kChains * of_a_chain.clwb);
    EXPECT_EQ(executed.clflush, kChains * of_a_chain.clflush);
    EXPECT_EQ(executed.clflushopt, kChains * of_a_chain.clflushopt);
    EXPECT_EQ(executed.sfence, kChains * of_a_chain.sfence);
    EXPECT_EQ(executed.mfence, kChains * of_a_chain.mfence);
    EXPECT_EQ(executed.movntdq, kChains * of_a_chain.movntdq);
  }
};

constexpr ChainOperation kRead{};

TEST_F(ChainInstructions, AWriteThatIsWrittenBackHasAClwbForEachLineAndItsFence) {
  if (!has_flush(Flush::kClwb)) GTEST_SKIP() << "this CPU has no CLWB";
  for (const std::size_t size : {std::size_t{8}, kCacheLine, 4 * kCacheLine}) {
    const int lines = static_cast<int>((size + kCacheLine - 1) / kCacheLine);
    const auto written = [size](ChainFence fence) {
      return write_of(size, CacheUse::kWriteBack, fence);
    };
    expect({kRead, written(ChainFence::kStores)}, {.clwb = lines, .sfence = 1});
    expect({kRead, written(ChainFence::kAll)}, {.clwb = lines, .mfence = 1});
    expect({kRead, written(ChainFence::kNone)}, {.clwb = lines});
  }
}

TEST_F(ChainInstructions, ANonTemporalWriteHasItsFence) {
  expect({kRead, write_of(kCacheLine, CacheUse::kNonTemporal, ChainFence::kStores)},
         {.sfence = 1, .movntdq = 4});
  expect({kRead, write_of(kCacheLine, CacheUse::kNonTemporal, ChainFence::kNone)}, {.movntdq = 4});
}

TEST_F(ChainInstructions, AnOrdinaryWriteHasNeither) {
  expect({kRead, write_of(kCacheLine, CacheUse::kNone, ChainFence::kNone)}, {});
}

TEST_F(ChainInstructions, AReadOfAFlushedLineWaitsForTheFlush) {
  ChainOperation read;
  read.cache = CacheUse::kFlush;
  expect({read}, {.clflush = 1, .mfence = 1});
  if (!has_flush(Flush::kClflushopt)) return;
  read.cache = CacheUse::kFlushOpt;
  expect({read}, {.clflushopt = 1, .mfence = 1});
}

}  // namespace
}  // namespace tierscope
#endif
