// The allocator's core on one node: what a program sees of it. Node 0 is the only one that every
// machine has.
#include <errno.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "tierscope_alloc.h"

extern "C" const char* nodes_folder;

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

class Arena {
 public:
  explicit Arena(std::size_t capacity = 0, ts_when_full when_full = TS_FAIL,
                 const char* nodes = "0")
      : arena_(ts_arena_create(nullptr, nodes, capacity, when_full)) {
    if (arena_ == nullptr) ADD_FAILURE() << "no arena on " << nodes << ": " << strerror(errno);
  }
  ~Arena() { ts_arena_destroy(arena_); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  operator ts_arena*() const { return arena_; }  // NOLINT(google-explicit-constructor)

  ts_statistics statistics() const {
    ts_statistics result{};
    EXPECT_EQ(ts_arena_statistics(arena_, &result), 0);
    return result;
  }

 private:
  ts_arena* arena_;
};

int create_error(const char* name, const char* nodes, std::size_t capacity = 0, int when_full = 0) {
  errno = 0;
  ts_arena* const arena =
      ts_arena_create(name, nodes, capacity, static_cast<ts_when_full>(when_full));
  const int error = errno;
  if (arena != nullptr) ts_arena_destroy(arena);
  return error;
}

TEST(AllocCore, ArenasThatCannotBeMadeSayWhy) {
  for (const char* nodes : {"", "x", "0,", ",0", "-1", "+0", " 0", "0 ", "0,0", "0@0", "0@256",
                            "0@1,1", "1024", "0-1", "bind:", "bind:0@1", "Bind:0", "local"}) {
    EXPECT_EQ(create_error(nullptr, nodes), EINVAL) << nodes;
  }
  EXPECT_EQ(create_error(nullptr, nullptr), EINVAL);
  EXPECT_EQ(create_error(nullptr, "1023"), ENODEV);
  EXPECT_EQ(create_error("", "0"), EINVAL);
  EXPECT_EQ(create_error("a b", "0"), EINVAL);
  EXPECT_EQ(create_error(std::string(64, 'n').c_str(), "0"), EINVAL);
  EXPECT_EQ(create_error(std::string(63, 'n').c_str(), "0"), 0);
  EXPECT_EQ(create_error(nullptr, "0", 1), EINVAL);
  EXPECT_EQ(create_error(nullptr, "0", 0, 3), EINVAL);
  ts_arena* const first = ts_arena_create("first", "0", 0, TS_FAIL);
  EXPECT_EQ(create_error("first", "0"), EEXIST);
  EXPECT_EQ(ts_arena_find("first"), first);
  EXPECT_STREQ(ts_arena_name(first), "first");
  ts_arena_destroy(first);
  EXPECT_EQ(ts_arena_find("first"), nullptr);
  EXPECT_EQ(ts_arena_name(first), nullptr);
  EXPECT_EQ(ts_arena_destroy(first), -1);
}

TEST(AllocCore, SixtyFourArenasAndNoMore) {
  std::vector<ts_arena*> made;
  for (ts_arena* arena = nullptr; (arena = ts_arena_create(nullptr, "0", 0, TS_FAIL)) != nullptr;) {
    made.push_back(arena);
    ASSERT_LE(made.size(), 64U);
    std::memset(ts_malloc(arena, 5000), 1, 5000);
  }
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_GE(made.size(), 8U);
  for (ts_arena* const arena : made) EXPECT_EQ(ts_arena_destroy(arena), 0);
}

TEST(AllocCore, EveryPolicyThatOneNodeAllows) {
  for (const char* nodes : {"0", "preferred:0", "bind:0", "interleave:0", "0@3"}) {
    const Arena arena(0, TS_FAIL, nodes);
    auto* const block = static_cast<char*>(ts_malloc(arena, 3 * kMiB));
    ASSERT_NE(block, nullptr) << nodes;
    std::memset(block, 1, 3 * kMiB);
    EXPECT_EQ(ts_tier_of(block), 0) << nodes;
    EXPECT_EQ(ts_arena_move(arena, "bind:0"), 0) << nodes;
    EXPECT_EQ(ts_arena_move(arena, "0@1"), 0) << nodes;
    std::size_t bytes = 0;
    EXPECT_EQ(ts_arena_pages(arena, &bytes, 1), 0);
    EXPECT_GE(bytes, 3 * kMiB);
    EXPECT_EQ(ts_arena_move(arena, "1023"), -1);
    EXPECT_EQ(errno, ENODEV);
  }
}

TEST(AllocCore, BlocksOfEverySize) {
  const Arena arena;
  std::vector<std::pair<char*, std::size_t>> blocks;
  for (std::size_t size = 0; size < 3 * kMiB; size += 1 + size / 7) {
    errno = 7;
    auto* const block = static_cast<char*>(ts_malloc(arena, size));
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(errno, 7);
    EXPECT_GE(ts_usable_size(block), size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % (size > 8 ? 16 : 8), 0U);
    EXPECT_EQ(ts_arena_of(block), arena);
    std::memset(block, static_cast<int>(size & 0x7f), size);
    blocks.emplace_back(block, size);
  }
  for (auto [block, size] : blocks) {
    for (std::size_t i = 0; i < size; i += 997) ASSERT_EQ(block[i], static_cast<char>(size & 0x7f));
    ts_free(block);
  }
  ts_free(nullptr);
  EXPECT_EQ(ts_usable_size(nullptr), 0U);
}

TEST(AllocCore, ZeroedMemoryIsZeroAfterUse) {
  const Arena arena;
  for (const std::size_t size : {1UL, 100UL, 5000UL, 20000UL, 3 * kMiB}) {
    for (int round = 0; round < 3; ++round) {
      auto* const block = static_cast<char*>(ts_calloc(arena, size, 1));
      for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(block[i], 0) << size;
      std::memset(block, 1, ts_usable_size(block));
      ts_free(block);
    }
  }
  void* const none = ts_calloc(arena, 0, 8);
  EXPECT_NE(none, nullptr);
  ts_free(none);
  volatile std::size_t half = SIZE_MAX / 2;  // Out of the compiler's sight.
  EXPECT_EQ(ts_calloc(arena, half, 3), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(ts_malloc(arena, half + 1), nullptr);
}

TEST(AllocCore, Alignment) {
  const Arena arena;
  for (ts_arena* const where : {static_cast<ts_arena*>(arena), static_cast<ts_arena*>(nullptr)}) {
    for (std::size_t alignment = 1; alignment <= 4 * kMiB; alignment *= 2) {
      void* const block = ts_aligned_alloc(where, alignment, 33);
      ASSERT_NE(block, nullptr) << alignment;
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0U);
      ts_free(block);
    }
    errno = 0;
    EXPECT_EQ(ts_aligned_alloc(where, 48, 48), nullptr);
    EXPECT_EQ(errno, EINVAL);
    void* block = &block;
    EXPECT_EQ(ts_posix_memalign(where, &block, 4, 100), EINVAL);
    EXPECT_EQ(ts_posix_memalign(arena, &block, 64, PTRDIFF_MAX), ENOMEM);
    EXPECT_EQ(block, &block);
    EXPECT_EQ(ts_posix_memalign(where, &block, 64, 100), 0);
    ts_free(block);
  }
}

TEST(AllocCore, ReallocKeepsContentsWhereverItGoes) {
  const Arena first;
  const Arena second;
  auto* block = static_cast<char*>(ts_realloc(first, nullptr, 10));
  std::strcpy(block, "contents");
  struct {
    ts_arena* asked;
    std::size_t size;
    ts_arena* result;
  } const steps[] = {{nullptr, 100, first},
                     {first, kMiB, first},
                     {second, 50, second},
                     {nullptr, 20, second},
                     {second, 2 * kMiB, second}};
  for (const auto& step : steps) {
    block = static_cast<char*>(ts_realloc(step.asked, block, step.size));
    ASSERT_NE(block, nullptr);
    EXPECT_STREQ(block, "contents");
    EXPECT_EQ(ts_arena_of(block), step.result);
  }
  EXPECT_EQ(ts_realloc(nullptr, block, 0), nullptr);
  block = strdup("plain");
  block = static_cast<char*>(ts_realloc(nullptr, block, 5000));
  EXPECT_EQ(ts_arena_of(block), nullptr);
  block = static_cast<char*>(ts_realloc(first, block, 30));
  EXPECT_STREQ(block, "plain");
  EXPECT_EQ(ts_arena_of(block), first);
  ts_free(block);
}

// Pages move, in more mappings than one in the end, or are copied where they lie in several.
TEST(AllocCore, LargeBlocksThatGrowSideBySideKeepTheirContents) {
  for (const char* const nodes : {"0", "interleave:0", "0@3", "bind:0", "pmem:/dev/shm"}) {
    const Arena arena(0, TS_FAIL, nodes);
    std::vector<std::uint32_t*> blocks(5, nullptr);
    std::vector<std::size_t> counts(blocks.size(), 0);
    for (std::size_t step = 0; step < 150; ++step) {
      const std::size_t i = (step * 7) % blocks.size();
      const std::size_t count = counts[i] > (std::size_t{1} << 19) ? 0 : 10000 + counts[i] / 4 * 5;
      if (count == 0) {
        ts_free(blocks[i]);
        blocks[i] = nullptr;
        counts[i] = 0;
        continue;
      }
      auto* const grown =
          static_cast<std::uint32_t*>(ts_realloc(arena, blocks[i], count * sizeof(std::uint32_t)));
      ASSERT_NE(grown, nullptr);
      ASSERT_EQ(ts_arena_of(grown), static_cast<ts_arena*>(arena));
      std::size_t wrong = 0;
      for (std::size_t at = 0; at < counts[i]; ++at) wrong += grown[at] == at * 3 + i ? 0 : 1;
      ASSERT_EQ(wrong, 0) << nodes << ", step " << step;
      for (std::size_t at = counts[i]; at < count; ++at) {
        grown[at] = static_cast<std::uint32_t>(at * 3 + i);
      }
      blocks[i] = grown;
      counts[i] = count;
    }
    for (std::uint32_t* const block : blocks) ts_free(block);
  }
}

TEST(AllocCore, BlocksThatGrowLeaveMappingsToOthers) {
  const std::size_t free_pages = static_cast<std::size_t>(sysconf(_SC_AVPHYS_PAGES));
  if (free_pages < (std::size_t{8} << 30) / 4096) GTEST_SKIP() << "it needs 8 GiB of free memory";
  const Arena arena;
  std::vector<void*> blocks(18000);
  for (void*& block : blocks) {
    block = ts_aligned_alloc(arena, 4096, 128 << 10);
    ASSERT_NE(block, nullptr);
    *static_cast<char*>(block) = 1;
    block = ts_realloc(arena, block, 200 << 10);
    ASSERT_NE(block, nullptr);
  }
  std::ifstream maps("/proc/self/maps");
  const auto lines = std::count(std::istreambuf_iterator<char>(maps), {}, '\n');
  EXPECT_GT(lines, 4096);
  std::size_t allowed = 0;
  std::ifstream("/proc/sys/vm/max_map_count") >> allowed;
  EXPECT_LT(lines, allowed / 2 + 100);
  for (void* const block : blocks) ts_free(block);
}

TEST(AllocCore, AThreadsArenaIsWhatNullMeans) {
  const Arena arena;
  EXPECT_EQ(ts_thread_arena(), nullptr);
  EXPECT_EQ(ts_set_thread_arena(arena), nullptr);
  void* const block = ts_malloc(nullptr, 10);
  EXPECT_EQ(ts_arena_of(block), arena);
  std::thread([] { EXPECT_EQ(ts_thread_arena(), nullptr); }).join();
  ts_free(block);
  {
    const Arena other;
    EXPECT_EQ(ts_set_thread_arena(other), arena);
  }
  EXPECT_EQ(ts_thread_arena(), nullptr);
  void* const plain = ts_malloc(nullptr, 10);
  EXPECT_EQ(ts_arena_of(plain), nullptr);
  ts_free(plain);
}

// Fills an arena; returns the blocks.
std::vector<void*> fill(ts_arena* arena, std::size_t size, std::size_t most) {
  std::vector<void*> blocks;
  while (blocks.size() < most) {
    void* const block = ts_malloc(arena, size);
    if (block == nullptr) break;
    std::memset(block, 1, size);
    blocks.push_back(block);
  }
  return blocks;
}

TEST(AllocCore, FullArenaFailsAndServesAgainAfterFrees) {
  for (const std::size_t size : {std::size_t{100}, std::size_t{9000}, std::size_t{200000}}) {
    const Arena arena(8 * kMiB);
    const std::vector<void*> blocks = fill(arena, size, 8 * kMiB / size);
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_GE(blocks.size() * size, 6 * kMiB) << size;
    const ts_statistics full = arena.statistics();
    EXPECT_LE(full.committed, full.capacity);
    EXPECT_GE(full.failed_count, 1U);
    std::size_t bytes = 0;
    EXPECT_EQ(ts_arena_pages(arena, &bytes, 1), 0);
    EXPECT_LE(bytes, 8 * kMiB);
    for (void* const block : blocks) ts_free(block);
    void* const large = ts_malloc(arena, 7 * kMiB);
    EXPECT_NE(large, nullptr) << size;
    EXPECT_GT(arena.statistics().reclaimed, 0U);
    ts_free(large);
  }
}

// Its threads have heaps of their own, where there is more than one CPU.
TEST(AllocCore, WhatOneThreadFreesServesAnother) {
  constexpr std::size_t kCapacity = 128 * kMiB;
  for (const std::size_t size : {std::size_t{100}, std::size_t{9000}, std::size_t{196608}}) {
    const Arena arena(kCapacity);
    const std::vector<void*> blocks = fill(arena, size, kCapacity / size);
    EXPECT_GE(blocks.size() * size, kCapacity / 8 * 7) << size;
    for (std::size_t i = 0; i < blocks.size(); i += 2) ts_free(blocks[i]);
    std::vector<void*> others;
    std::thread([&] { others = fill(arena, size, kCapacity / size); }).join();
    EXPECT_GE(others.size() * size, kCapacity / 16 * 7) << size;
    for (std::size_t i = 1; i < blocks.size(); i += 2) ts_free(blocks[i]);
    for (void* const block : others) ts_free(block);
    std::thread([&] { EXPECT_NE(ts_malloc(arena, kCapacity / 8 * 7), nullptr) << size; }).join();
  }
}

TEST(AllocCore, FullArenaSpillsToPlainMemory) {
  const Arena arena(kMiB, TS_SPILL);
  const std::vector<void*> blocks = fill(arena, 10000, 200);
  EXPECT_EQ(blocks.size(), 200U);
  EXPECT_EQ(ts_arena_of(blocks.back()), nullptr);
  const ts_statistics statistics = arena.statistics();
  EXPECT_EQ(statistics.spilled, statistics.spilled_count * 10000);
  EXPECT_GE(statistics.spilled_count, 90U);
  EXPECT_EQ(statistics.failed_count, 0U);
  auto* const grown = static_cast<char*>(ts_realloc(nullptr, blocks.front(), 2 * kMiB));
  ASSERT_NE(grown, nullptr);
  EXPECT_EQ(ts_arena_of(grown), nullptr);
  EXPECT_EQ(grown[9999], 1);
  ts_free(grown);
  for (std::size_t i = 1; i < blocks.size(); ++i) ts_free(blocks[i]);
}

TEST(AllocCore, AFullArenaServesAgainWhatComesBackToIt) {
  const Arena arena(kMiB, TS_SPILL);
  constexpr std::size_t kLarge = 500000;
  std::vector<void*> blocks;
  do {
    blocks.push_back(ts_malloc(arena, 10000));
  } while (ts_arena_of(blocks.back()) == arena);
  for (int i = 0; i < 100; ++i) {
    void* const block = ts_malloc(arena, kLarge);
    EXPECT_EQ(ts_arena_of(block), nullptr);
    ts_free(block);
  }
  EXPECT_EQ(arena.statistics().spilled_count, 101U);
  EXPECT_EQ(arena.statistics().spilled, 100 * kLarge + 10000);
  for (void* const block : blocks) ts_free(block);
  void* const block = ts_malloc(arena, kLarge);
  EXPECT_EQ(ts_arena_of(block), arena);
  ts_free(block);
}

TEST(AllocCore, WhatThreadsSpilledIsCountedWhenTheyHaveEnded) {
  const Arena arena(kMiB, TS_SPILL);
  const std::vector<void*> blocks = fill(arena, 100000, 20);
  const std::size_t before = arena.statistics().spilled_count;
  std::thread([&] {
    ts_free(ts_malloc(arena, 2 * kMiB));
    EXPECT_EQ(arena.statistics().spilled_count, before + 1);
  }).join();
  EXPECT_EQ(arena.statistics().spilled_count, before + 1);
  for (void* const block : blocks) ts_free(block);
}

// Bytes of a node's arena that have pages.
std::size_t bytes_on_node_0(ts_arena* arena) {
  std::size_t bytes = 0;
  EXPECT_EQ(ts_arena_pages(arena, &bytes, 1), 0);
  return bytes;
}

TEST(AllocCore, ABoundArenaHasItsPagesWhenItAllocates) {
  const Arena preferring;
  void* const untouched = ts_malloc(preferring, 32 * kMiB);
  EXPECT_LT(bytes_on_node_0(preferring), 8 * kMiB);
  const Arena bound(0, TS_FAIL, "bind:0");
  void* const block = ts_malloc(bound, 32 * kMiB);
  EXPECT_GE(bytes_on_node_0(bound), 32 * kMiB);
  void* const range =
      ts_mmap(bound, nullptr, 8 * kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_GE(bytes_on_node_0(bound), 40 * kMiB);
  ts_munmap(range, 8 * kMiB);
  ts_free(block);
  ts_free(untouched);
}

// Makes sysfs say that node 0 has that much memory.
class PretendedNode {
 public:
  PretendedNode()
      : before_(nodes_folder), folder_(testing::TempDir() + "/nodes" + std::to_string(getpid())) {
    std::string command = "mkdir -p " + folder_ + "/node0 && echo 0 > " + folder_ + "/has_memory";
    EXPECT_EQ(std::system(command.c_str()), 0);
    set(64 * kMiB * 1024);
    nodes_folder = folder_.c_str();
  }
  ~PretendedNode() {
    nodes_folder = before_;
    std::filesystem::remove_all(folder_);
  }
  PretendedNode(const PretendedNode&) = delete;
  PretendedNode& operator=(const PretendedNode&) = delete;
  void set(std::size_t free) const {
    std::ofstream(meminfo()) << "Node 0 MemFree: " << free / 1024 << " kB\n";
  }
  std::string meminfo() const { return folder_ + "/node0/meminfo"; }

 private:
  const char* before_;
  std::string folder_;
};

TEST(AllocCore, FullNodeIsAFullArena) {
  const PretendedNode node;
  node.set(0);
  const Arena arena;
  EXPECT_EQ(ts_malloc(arena, kMiB), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(arena.statistics().committed, 0U);
  EXPECT_EQ(
      ts_mmap(arena, nullptr, kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
      MAP_FAILED);
  node.set(64 * kMiB * 1024);
  void* block = nullptr;
  for (int i = 0; i < 2000 && block == nullptr; ++i) {  // It is asked again after a while.
    usleep(10000);
    block = ts_malloc(arena, kMiB);
  }
  EXPECT_NE(block, nullptr);
  ts_free(block);
}

// Bytes of addresses that the program may write to.
std::size_t writable_bytes() {
  std::ifstream maps("/proc/self/maps");
  std::size_t sum = 0;
  for (std::string line; std::getline(maps, line);) {
    std::size_t start = 0;
    std::size_t end = 0;
    char write = '-';
    if (sscanf(line.c_str(), "%zx-%zx %*c%c", &start, &end, &write) == 3 && write == 'w') {
      sum += end - start;
    }
  }
  return sum;
}

TEST(AllocCore, AFullNodeIsAskedSeldomAndTakesNoAddresses) {
  const PretendedNode node;
  node.set(0);
  const Arena failing;
  const Arena spilling(0, TS_SPILL);
  const int watch = inotify_init1(IN_NONBLOCK);
  // Two sorts, or events that are alike would become one.
  ASSERT_GE(inotify_add_watch(watch, node.meminfo().c_str(), IN_OPEN | IN_CLOSE_NOWRITE), 0);
  const std::size_t before = writable_bytes();
  constexpr int kCalls = 4000;
  for (int i = 0; i < kCalls; ++i) {
    const std::size_t size = std::size_t{1000} << i % 10;
    EXPECT_EQ(ts_malloc(failing, size), nullptr);
    void* const block = ts_malloc(spilling, size);
    EXPECT_EQ(ts_arena_of(block), nullptr);
    ts_free(block);
  }
  // A sanitizer keeps freed blocks of malloc for a while.
  EXPECT_LT(writable_bytes(), before + 1024 * kMiB);
  std::vector<char> events(100 * kCalls);
  const auto read_bytes = read(watch, events.data(), events.size());
  EXPECT_GT(read_bytes, 0);
  EXPECT_LT(read_bytes / static_cast<ssize_t>(sizeof(inotify_event)), kCalls / 5);
  close(watch);
}

// Bytes that unnamed open files of this process take in a folder. The free space of its file system
// depends on other processes, too.
std::size_t bytes_without_name(const std::string& folder) {
  const std::string within = std::filesystem::canonical(folder).string() + '/';
  std::size_t sum = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const std::string path = std::filesystem::read_symlink(entry.path()).string();
    struct stat file{};
    if (path.starts_with(within) && stat(entry.path().c_str(), &file) == 0 && file.st_nlink == 0) {
      sum += static_cast<std::size_t>(file.st_blocks) * 512;
    }
  }
  return sum;
}

std::size_t entries(const std::string& folder) {
  const std::filesystem::directory_iterator all(folder);
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

class PmemFolder {
 public:
  PmemFolder() { std::filesystem::create_directory(path); }
  ~PmemFolder() { std::filesystem::remove_all(path); }
  PmemFolder(const PmemFolder&) = delete;
  PmemFolder& operator=(const PmemFolder&) = delete;
  const std::string path = testing::TempDir() + "/pmem" + std::to_string(getpid());
  const std::string nodes = "pmem:" + path;
};

TEST(AllocPmem, FoldersThatCannotServeSayWhy) {
  const PmemFolder folder;
  EXPECT_EQ(create_error(nullptr, "pmem:"), EINVAL);
  EXPECT_EQ(create_error(nullptr, "pmem:/nowhere"), ENOENT);
  EXPECT_EQ(create_error(nullptr, "pmem:/etc/passwd"), ENOTDIR);
  EXPECT_EQ(create_error(nullptr, "pmem:/proc"), ENOENT);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit less{.rlim_cur = kMiB, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &less);
  EXPECT_EQ(create_error(nullptr, folder.nodes.c_str()), EFBIG);
  setrlimit(RLIMIT_FSIZE, &before);
  for (int i = 0; i < 70; ++i) EXPECT_EQ(create_error(nullptr, folder.nodes.c_str()), 0);
}

TEST(AllocPmem, BlocksLieInAFileThatHasNoName) {
  const PmemFolder folder;
  {
    const Arena arena(64 * kMiB, TS_FAIL, folder.nodes.c_str());
    const std::vector<void*> blocks = fill(arena, kMiB, 40);
    ASSERT_EQ(blocks.size(), 40U);
    EXPECT_EQ(static_cast<char*>(blocks[39])[kMiB - 1], 1);
    EXPECT_GE(bytes_without_name(folder.path), 40 * kMiB);
    EXPECT_EQ(entries(folder.path), 0U);
    for (void* const block : blocks) ts_free(block);
    auto* const zeroed = static_cast<char*>(ts_calloc(arena, 50, kMiB));
    ASSERT_NE(zeroed, nullptr);
    for (std::size_t i = 0; i < 50 * kMiB; i += 512) ASSERT_EQ(zeroed[i], 0);
    EXPECT_EQ(ts_arena_move(arena, "0"), -1);
    EXPECT_EQ(errno, ENOTSUP);
    EXPECT_EQ(
        ts_mmap(arena, nullptr, kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
        MAP_FAILED);
    EXPECT_EQ(errno, ENOTSUP);
  }
  EXPECT_EQ(bytes_without_name(folder.path), 0U);
  const Arena plain(64 * kMiB);  // In the same slot.
  EXPECT_EQ(ts_arena_move(plain, folder.nodes.c_str()), -1);
  EXPECT_EQ(errno, ENOTSUP);
  void* const block = ts_malloc(plain, kMiB);
  std::memset(block, 1, kMiB);
  EXPECT_EQ(ts_tier_of(block), 0);
}

TEST(AllocPmem, AChildOfForkLeavesItsParentsBlocksAlone) {
  const PmemFolder folder;
  const Arena arena(64 * kMiB, TS_FAIL, folder.nodes.c_str());
  const Arena spilling(64 * kMiB, TS_SPILL, folder.nodes.c_str());
  const std::vector<void*> blocks = fill(arena, 1000, 1000);
  void* const freed = ts_malloc(arena, 1000);
  ts_free(freed);
  const std::vector<void*> others = fill(spilling, 100000, 10);
  const pid_t child = fork();
  if (child == 0) {
    bool good = ts_malloc(arena, 1000) == nullptr && errno == ENOMEM;
    for (void* const block : blocks) ts_free(block);
    good = good && ts_malloc(arena, 1000) == nullptr && ts_arena_of(freed) == arena;
    void* const spilled = ts_malloc(spilling, 100000);
    good = good && spilled != nullptr && ts_arena_of(spilled) == nullptr;
    good = good && ts_realloc(nullptr, others[0], 10) == nullptr && errno == ENOMEM;
    good = good && ts_arena_destroy(arena) == 0 && ts_arena_destroy(spilling) == 0;
    ts_arena* const own = ts_arena_create(nullptr, folder.nodes.c_str(), 0, TS_FAIL);
    _exit(good && ts_calloc(own, 100, 1000) != nullptr ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  for (void* const block : blocks) EXPECT_EQ(static_cast<char*>(block)[999], 1);
  for (void* const block : others) EXPECT_EQ(static_cast<char*>(block)[99999], 1);
  EXPECT_NE(ts_malloc(arena, 1000), nullptr);
}

TEST(AllocCore, RangesOfMmapCountAndMayBeUnmappedInPieces) {
  const Arena arena(16 * kMiB);
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS;
  auto* const range =
      static_cast<char*>(ts_mmap(arena, nullptr, 8 * kMiB, PROT_READ | PROT_WRITE, kFlags, -1, 0));
  ASSERT_NE(range, MAP_FAILED);
  std::memset(range, 1, 8 * kMiB);
  EXPECT_EQ(ts_arena_of(range + 5 * kMiB), arena);
  EXPECT_EQ(arena.statistics().mapped, 8 * kMiB);
  EXPECT_EQ(ts_mmap(arena, nullptr, 9 * kMiB, PROT_READ, kFlags, -1, 0), MAP_FAILED);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(ts_munmap(range + 2 * kMiB, kMiB), 0);
  EXPECT_EQ(arena.statistics().mapped, 7 * kMiB);
  EXPECT_EQ(ts_arena_of(range + 2 * kMiB), nullptr);
  EXPECT_EQ(ts_arena_of(range + 3 * kMiB), arena);
  void* const again =
      ts_mmap(nullptr, range + 4 * kMiB, kMiB, PROT_READ, kFlags | MAP_FIXED, -1, 0);
  EXPECT_EQ(again, range + 4 * kMiB);
  EXPECT_EQ(ts_arena_of(again), nullptr);
  EXPECT_EQ(arena.statistics().mapped, 6 * kMiB);
  EXPECT_EQ(ts_munmap(range, 8 * kMiB), 0);
  EXPECT_EQ(arena.statistics().committed, arena.statistics().mapped);
  EXPECT_EQ(arena.statistics().mapped, 0U);
  void* const block = ts_malloc(arena, 100);
  EXPECT_EQ(ts_munmap(block, 4096), -1);
  EXPECT_EQ(errno, EINVAL);
  ts_free(block);
}

TEST(AllocCore, BlocksMayBeFreedByOtherThreadsAndEndedOnes) {
  const Arena arena;
  std::vector<void*> blocks;
  std::thread([&] { blocks = fill(arena, 300, 20000); }).join();
  std::vector<std::thread> threads;
  for (std::size_t part = 0; part < 4; ++part) {
    threads.emplace_back([&, part] {
      for (std::size_t i = part; i < blocks.size(); i += 4) ts_free(blocks[i]);
      for (void* const block : fill(arena, 1000, 1000)) ts_free(block);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(arena.statistics().allocated, 0U);
}

TEST(AllocCore, AChildOfForkAllocatesWhileOtherThreadsDid) {
  const Arena arena(64 * kMiB, TS_SPILL);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        for (void* const block : fill(arena, 40000, 50)) ts_free(block);
        ts_statistics unused;
        ts_arena_statistics(arena, &unused);
      }
    });
  }
  for (int i = 0; i < 50; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      for (void* const block : fill(arena, 40000, 50)) ts_free(block);
      ts_arena* const own = ts_arena_create(nullptr, "0", 0, TS_FAIL);
      _exit(own != nullptr && ts_malloc(own, 100) != nullptr ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

TEST(AllocCore, StatisticsAreALineOrJson) {
  ts_arena* const arena = ts_arena_create("a\"b\\c", "0", kMiB, TS_FAIL);
  std::memset(ts_malloc(arena, 100000), 1, 100000);
  std::string printed[2];
  for (const ts_format format : {TS_TEXT, TS_JSON}) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    EXPECT_EQ(ts_print_statistics(ends[1], format), 0);
    close(ends[1]);
    char text[2000] = {0};
    EXPECT_GT(read(ends[0], text, sizeof text - 1), 0);
    close(ends[0]);
    printed[format] = text;
  }
  EXPECT_NE(printed[TS_TEXT].find("arena a\"b\\c: "), std::string::npos) << printed[TS_TEXT];
  EXPECT_NE(printed[TS_TEXT].find(" committed of 1.0 MiB, "), std::string::npos);
  EXPECT_NE(printed[TS_TEXT].find(" on node 0\n"), std::string::npos);
  EXPECT_EQ(
      printed[TS_JSON].find("{\"arenas\": [{\"name\": \"a\\\"b\\\\c\", \"capacity\": 1048576, "),
      0U)
      << printed[TS_JSON];
  EXPECT_EQ(ts_print_statistics(-1, TS_TEXT), -1);
  EXPECT_EQ(errno, EBADF);
  ts_arena_destroy(arena);
}

}  // namespace
