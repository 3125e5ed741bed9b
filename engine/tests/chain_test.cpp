// Chains: where they go, what they leave, and that what went wrong is found.
#include "access/chain.h"

#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <sys/user.h>
#endif

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <memory>
#include <set>
#include <string>

#include "access/flush.h"
#include "errors.h"
#include "sizes.h"

namespace tierscope {
namespace {

using Operations = std::vector<ChainOperation>;

constexpr ChainOperation kReadLine{};

ChainOperation write_of(std::size_t size, std::int64_t offset = 0,
                        CacheUse cache = CacheUse::kNone) {
  return {.access = ChainAccess::kWrite, .size = size, .cache = cache, .offset = offset};
}

// Filled regions, and a chain that is laid over them.
class Laid {
 public:
  explicit Laid(const Operations& operations, std::size_t bytes = 64 << 10, bool linked = true,
                std::size_t walks = 1)
      : Laid(operations, {bytes, bytes}, linked, walks) {}
  Laid(const Operations& operations, const std::vector<std::size_t>& sizes, bool linked,
       std::size_t walks)
      : sizes_(sizes), walks_(walks), replayed_(walks) {
    std::vector<ChainRegion> regions;
    for (const std::size_t bytes : sizes) {
      memory_.emplace_back(static_cast<std::byte*>(::operator new(bytes, kAlign)));
      fill_lines(memory_.back().get(), regions.size(), 0, bytes / kCacheLine);
      regions.push_back({.base = memory_.back().get(), .bytes = bytes});
    }
    chain_ = lay_chain(operations, linked, regions);
    for (std::size_t i = 0; i < walks; ++i) walks_[i].random = replayed_[i].random = 77 * i;
  }

  void run(std::uint64_t rounds) {
    run_chains(chain_, walks_, rounds);
    rounds_ += rounds;
  }
  void time(std::uint64_t rounds, std::uint64_t every, Histogram& ns) {
    time_chains(chain_, walks_, rounds, every, ns);
    rounds_ += rounds;
  }
  std::uint64_t verify(std::uint64_t step = 1) {
    const std::uint64_t bytes = replay_chains(chain_, replayed_, rounds_, step);
    rounds_ = 0;
    compare_walks(walks_, replayed_);
    for (std::uint64_t number = 0; number < memory_.size(); ++number) {
      compare_lines(memory_[number].get(), number, 0, sizes_[number] / kCacheLine, 1);
    }
    return bytes;
  }
  std::byte* region(std::size_t number) { return memory_[number].get(); }
  std::uint64_t& word(std::size_t region, std::size_t number) {
    return reinterpret_cast<std::uint64_t*>(memory_[region].get())[number];
  }
  const Chain& chain() const { return chain_; }
  void time_from(std::size_t operation) { chain_.timed_from = operation; }
  std::vector<ChainWalk>& walks() { return walks_; }

 private:
  static constexpr std::align_val_t kAlign{4096};
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete(memory, kAlign); }
  };
  std::vector<std::unique_ptr<std::byte, Free>> memory_;
  std::vector<std::size_t> sizes_;
  Chain chain_;
  std::vector<ChainWalk> walks_;
  std::vector<ChainWalk> replayed_;
  std::uint64_t rounds_ = 0;
};

const std::array kCaches{CacheUse::kNone, CacheUse::kWriteBack, CacheUse::kFlush,
                         CacheUse::kFlushOpt, CacheUse::kNonTemporal};

bool has_instructions(const Operations& operations) {
  try {
    require_instructions(operations);
    return true;
  } catch (const Unavailable& error) {
    EXPECT_EQ(error.cause(), Cause::kIsa);
    return false;
  }
}

TEST(Chain, EveryOperationEndsWhereItsReplayEnds) {
  for (std::size_t size = 8; size <= kMaxChainAccess; size *= 2) {
    for (const CacheUse cache : kCaches) {
      for (const bool linked : {true, false}) {
        const bool stream_word = size == 8 && cache == CacheUse::kNonTemporal;
        const ChainOperation read{.size = size, .cache = stream_word ? CacheUse::kNone : cache};
        const Operations both{read, write_of(size, 0, cache)};
        if (!has_instructions(both)) continue;
        Laid alone({read}, 256 << 10, linked);
        Laid written({write_of(size, 0, cache)}, 256 << 10, linked);
        Laid chain(both, 256 << 10, linked, 3);
        for (Laid* laid : {&alone, &written, &chain}) {
          laid->run(20);
          EXPECT_NO_THROW(laid->verify()) << size;
        }
      }
    }
  }
}

TEST(Chain, KeepsWithinRegionsOfDifferentSizes) {
  const ChainOperation there{.region = 1, .size = 256};
  for (const std::vector<std::size_t>& sizes : {std::vector<std::size_t>{4 << 10, 256 << 10},
                                                std::vector<std::size_t>{256 << 10, 4 << 10}}) {
    Laid laid({kReadLine, there, write_of(64, 128)}, sizes, true, 2);
    laid.run(5000);
    EXPECT_NO_THROW(laid.verify());
    const std::vector<ChainStep>& steps = laid.chain().steps;
    EXPECT_EQ(steps[0].span, sizes[0]);
    EXPECT_EQ(steps[1].span, sizes[1]);
  }
}

TEST(Chain, AtomicsReturnTheWordAndLeaveIt) {
  for (const ChainAccess access : {ChainAccess::kCompareAndSwap, ChainAccess::kFetchAndAdd}) {
    const ChainOperation atomic{.access = access, .size = 8};
    for (const Operations& operations : {Operations{atomic}, Operations{kReadLine, atomic}}) {
      Laid laid(operations, 64 << 10, true, 2);
      laid.run(1000);
      EXPECT_NE(laid.walks().front().sum, 0U);
      EXPECT_NO_THROW(laid.verify());
    }
  }
}

TEST(Chain, FencesChangeNothingOfTheWalk) {
  Laid plain({kReadLine, write_of(64, 64)});
  ChainOperation read = kReadLine;
  ChainOperation write = write_of(64, 64);
  read.fence = ChainFence::kStores;
  write.fence = ChainFence::kAll;
  Laid fenced({read, write});
  plain.run(500);
  fenced.run(500);
  EXPECT_EQ(plain.walks().front().sum, fenced.walks().front().sum);
  EXPECT_EQ(plain.walks().front().random, fenced.walks().front().random);
}

TEST(Chain, ReadsReachEverySlotAboutAsOften) {
  constexpr std::size_t kLines = 64;
  Laid laid({kReadLine}, kLines * kCacheLine);
  std::array<int, kLines> count{};
  for (int i = 0; i < 64000; ++i) {
    laid.run(1);
    ++count.at(static_cast<std::size_t>(laid.walks().front().at - laid.region(0)) / kCacheLine);
  }
  EXPECT_GT(*std::ranges::min_element(count), 800);
  EXPECT_LT(*std::ranges::max_element(count), 1200);
}

TEST(Chain, OffsetsAddToTheOperationBefore) {
  Laid laid({kReadLine, write_of(64, 512), write_of(16, -1024), write_of(64, 64)});
  const Chain& chain = laid.chain();
  EXPECT_EQ(chain_reach(std::vector<ChainOperation>{kReadLine, write_of(64, 512),
                                                    write_of(16, -1024), write_of(64, 64)},
                        0),
            512U + 512 + 64);
  EXPECT_EQ(chain.steps.front().first, laid.region(0) + 512);
  laid.run(1);
  const std::byte* const read = laid.walks().front().at - 64 + 1024 - 512;
  std::set<std::ptrdiff_t> written;  // Lines, from the one that was read.
  for (std::size_t line = 0; line < 1024; ++line) {
    const bool was = laid.word(0, line * 8 + 1) == laid.word(0, line * 8) + 1;
    if (was) written.insert(laid.region(0) + line * kCacheLine - read);
  }
  EXPECT_EQ(written, (std::set<std::ptrdiff_t>{512, -512, -448}));
  EXPECT_EQ(laid.word(0, static_cast<std::size_t>(read - 512 - laid.region(0)) / 8 + 2),
            ~(laid.word(0, static_cast<std::size_t>(read - 512 - laid.region(0)) / 8) + 2))
      << "a write of 16 bytes leaves the line's third word";
}

TEST(Chain, WritesStayInTheRegion) {
  const Operations operations{{.size = 4096}, write_of(4096, -8192), write_of(64, 4096 * 3)};
  const std::size_t least = chain_reach(operations, 0);
  Laid laid(operations, least);
  EXPECT_EQ(laid.chain().steps.front().span, 4096U);
  laid.run(100);
  EXPECT_NO_THROW(laid.verify());
}

TEST(Chain, EachRegionHasWordsOfItsOwn) {
  ChainOperation second = kReadLine;
  second.region = 1;
  Laid laid({kReadLine, second, write_of(64)});
  EXPECT_NE(laid.word(0, 0), laid.word(1, 0));
  laid.run(500);
  EXPECT_NO_THROW(laid.verify());
  EXPECT_EQ(laid.word(0, 1), ~(laid.word(0, 0) + 1)) << "nothing is written to m0";
}

TEST(Chain, TimedRoundsAreOneInSoMany) {
  Histogram ns;
  Laid laid({kReadLine}, 64 << 10, true, 2);
  laid.time(1000, 10, ns);
  EXPECT_EQ(ns.count(), 100U);
  laid.time(7, 10, ns);
  EXPECT_EQ(ns.count(), 101U);
  EXPECT_NO_THROW(laid.verify());
}

TEST(Chain, APartOfAChainIsTimedAndAllOfItIsMade) {
  ChainOperation waited = write_of(64);
  waited.fence = ChainFence::kAll;
  Laid laid({kReadLine, waited}, 64 << 10, true, 2);
  laid.time_from(1);
  Histogram ns;
  laid.time(1000, 4, ns);
  EXPECT_EQ(ns.count(), 250U);
  EXPECT_NO_THROW(laid.verify());
}

TEST(Chain, LinkedWalksDependOnTheDataAndOthersDoNot) {
  for (const bool linked : {true, false}) {
    Laid sound({kReadLine}, 64 << 10, linked);
    Laid corrupted({kReadLine}, 64 << 10, linked);
    for (std::size_t word = 0; word < 8192; word += 8) corrupted.word(0, word) ^= 1ULL << 63;
    sound.run(10);
    corrupted.run(10);
    const auto at = [](Laid& laid) { return laid.walks().front().at - laid.region(0); };
    EXPECT_EQ(at(sound) == at(corrupted), !linked);
  }
}

TEST(Chain, ACorruptedWordIsFound) {
  for (const bool linked : {true, false}) {
    Laid laid({kReadLine}, 4096, linked);
    laid.word(0, 8 * 17) ^= 1;
    laid.run(2000);
    EXPECT_THROW(laid.verify(), Failure);
    laid.word(0, 8 * 17) ^= 1;  // As it was: only the walk tells.
    Laid again({kReadLine}, 4096, linked);
    again.word(0, 8 * 17) ^= 1;
    again.run(2000);
    again.word(0, 8 * 17) ^= 1;
    EXPECT_THROW(again.verify(), Failure);
  }
  Laid further({kReadLine}, 4096);
  further.run(10);
  further.word(0, 5) ^= 1;
  EXPECT_THROW(further.verify(), Failure);
}

TEST(Chain, AWriteThatDidNotHappenIsFound) {
  Laid laid({kReadLine, write_of(256)}, 64 << 10);
  laid.run(100);
  EXPECT_EQ(laid.verify(), 100 * 8U);
  laid.run(1);
  const auto word = static_cast<std::size_t>(laid.walks().front().at - laid.region(0)) / 8 + 31;
  laid.word(0, word) = ~laid.word(0, word);  // As filled, not as written.
  EXPECT_THROW(laid.verify(), Failure);
}

TEST(Chain, AddressesTakeSomeTime) {
  Laid linked({kReadLine});
  EXPECT_GT(chain_address_ns(linked.chain()), 0);
}

// The instructions that chains execute, counted one by one: a child makes them, single-stepped.
#if defined(__x86_64__)

struct Executed {
  int clwb = 0;
  int clflush = 0;
  int clflushopt = 0;
  int sfence = 0;
  int mfence = 0;
  int streamed_bytes = 0;  // By instructions of the compiler's choice.

  bool operator==(const Executed&) const = default;
};

// Opcodes of stores of vectors past the caches: MOVNTDQ, or MOVNTPS and MOVNTPD.
bool streams(std::uint8_t opcode) { return opcode == 0xe7 || opcode == 0x2b; }

// Counts the instruction whose bytes these are (Intel SDM vol. 2: CLWB is 66 0F AE /6, CLFLUSHOPT
// 66 0F AE /7, CLFLUSH 0F AE /7, SFENCE 0F AE F8, MFENCE 0F AE F0; MOVNTDQ is 66 0F E7, MOVNTPS and
// MOVNTPD are 0F 2B, or VEX and EVEX with these opcodes, of which L says how wide they are).
void count(std::array<std::uint8_t, sizeof(long)> bytes, Executed& executed) {
  std::size_t at = 0;
  int& streamed = executed.streamed_bytes;
  if (bytes[0] == 0xc5 && streams(bytes[2])) streamed += 16 << (bytes[1] >> 2 & 1);
  if (bytes[0] == 0xc4 && streams(bytes[3])) streamed += 16 << (bytes[2] >> 2 & 1);
  if (bytes[0] == 0x62 && streams(bytes[4])) streamed += 16 << (bytes[3] >> 5 & 3);
  const bool prefixed = bytes[at] == 0x66;
  if (prefixed) ++at;
  if ((bytes[at] & 0xf0) == 0x40) ++at;  // REX
  if (bytes[at] != 0x0f) return;
  if (streams(bytes[at + 1])) streamed += 16;
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

ChainOperation fenced(ChainOperation operation, ChainFence fence) {
  operation.fence = fence;
  return operation;
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
    EXPECT_EQ(executed.streamed_bytes, kChains * of_a_chain.streamed_bytes);
  }
};

TEST_F(ChainInstructions, AWriteThatIsWrittenBackHasAClwbForEachLineAndItsFence) {
  if (!has_flush(Flush::kClwb)) GTEST_SKIP() << "this CPU has no CLWB";
  for (const std::size_t size : {std::size_t{8}, kCacheLine, 4 * kCacheLine}) {
    const int lines = static_cast<int>((size + kCacheLine - 1) / kCacheLine);
    const ChainOperation written = write_of(size, 0, CacheUse::kWriteBack);
    expect({kReadLine, fenced(written, ChainFence::kStores)}, {.clwb = lines, .sfence = 1});
    expect({kReadLine, fenced(written, ChainFence::kAll)}, {.clwb = lines, .mfence = 1});
    expect({kReadLine, written}, {.clwb = lines});
  }
}

TEST_F(ChainInstructions, ANonTemporalWriteHasItsFence) {
  expect({kReadLine, fenced(write_of(kCacheLine, 0, CacheUse::kNonTemporal), ChainFence::kStores)},
         {.sfence = 1, .streamed_bytes = 64});
  expect({kReadLine, write_of(kCacheLine, 0, CacheUse::kNonTemporal)}, {.streamed_bytes = 64});
}

TEST_F(ChainInstructions, AnOrdinaryWriteHasNeither) {
  expect({kReadLine, write_of(kCacheLine)}, {});
}

TEST_F(ChainInstructions, AReadOfAFlushedLineWaitsForTheFlush) {
  ChainOperation read;
  read.cache = CacheUse::kFlush;
  expect({read}, {.clflush = 1, .mfence = 1});
  if (!has_flush(Flush::kClflushopt)) return;
  read.cache = CacheUse::kFlushOpt;
  expect({read}, {.clflushopt = 1, .mfence = 1});
}

#endif

}  // namespace
}  // namespace tierscope
