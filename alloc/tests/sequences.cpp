// Random sequences of calls of the allocator against a model of what they have to do.
//
//   alloc-sequences [--seed FIRST] [--count N]   exits with 1 at the first fault, which it prints
//
// A sequence makes arenas on random nodes with random capacities, and starts threads that call
// every function of tierscope_alloc.h, hand blocks to each other, come and go. Now and then one of
// them forks, and the child goes on. Each block holds a pattern of its own, so that overlap and
// loss are found; when all threads have ended, the counters of each arena have to be those of the
// model. A seed decides what each thread does; how threads interleave is left to chance.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tierscope_alloc.h"

extern "C" size_t least_for_each_heap;

// What the sanitizers are told. Sizes that are too large are meant; and the detector of deadlocks
// gives up on a thread that holds 64 locks, as jemalloc does around a fork.
// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming)
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __tsan_default_options() {
  return "allocator_may_return_null=1:detect_deadlocks=0:halt_on_error=1";
}
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)

namespace {

constexpr int kUnchanged = 4321;  // An errno that no call sets.
// Opened before threads begin: one that waits for another to open it finds errno changed.
const int kNowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
constexpr std::size_t kPage = 4096;
constexpr std::size_t kKiB = 1024;
constexpr std::size_t kFilledWhole = 16 * kKiB;  // Of larger blocks: this much, and of each page.
constexpr unsigned kForkedSeconds = 120;         // A child that is not done by then hangs.

std::uint64_t current_seed;  // Written while there is one thread.
thread_local int current_thread = -1;
thread_local int current_operation = -1;

[[noreturn]] __attribute__((format(printf, 1, 2))) void fault(const char* format, ...) {
  const int error = errno;
  std::array<char, 512> text{};
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  dprintf(STDERR_FILENO, "alloc-sequences: seed %llu, thread %d, operation %d: %s (errno %d)\n",
          static_cast<unsigned long long>(current_seed), current_thread, current_operation,
          text.data(), error);
  _exit(1);
}

#define CHECK(condition, ...)             \
  do {                                    \
    if (!(condition)) fault(__VA_ARGS__); \
  } while (false)

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t end) { return random() % end; }
bool one_in(Random& random, std::size_t n) { return below(random, n) == 0; }

// The thread sanitizer's own malloc says that a block of 0 bytes has one that may be used, and
// takes its use for a fault.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LEAST_BYTES 1
#endif
#endif
#ifndef LEAST_BYTES
#define LEAST_BYTES 0
#endif

// All magnitudes alike, as programs ask; 0 among them.
std::size_t random_size(Random& random) {
  const std::size_t bits = below(random, one_in(random, 8) ? 21 : 13);
  return std::max<std::size_t>(below(random, std::size_t{2} << bits), LEAST_BYTES);
}

// What a run has seen, so that one that tests nothing is noticed.
struct Seen {
  std::atomic<std::size_t> calls, failed, spilled, moved, handed_over, forked, crossed, cut;
} seen;

// --- The machine
// ----------------------------------------------------------------------------------

std::vector<int> nodes_with_memory() {
  std::ifstream file("/sys/devices/system/node/has_memory");
  std::vector<int> nodes;
  int first = 0;
  while (file >> first) {
    int last = first;
    if (file.peek() == '-') {
      file.get();
      file >> last;
    }
    for (int node = first; node <= last; ++node) nodes.push_back(node);
    if (file.peek() == ',') file.get();
  }
  if (nodes.empty()) nodes.push_back(0);
  return nodes;
}

const std::vector<int> kNodes = nodes_with_memory();

struct Nodes {
  std::string text;
  std::uint64_t mask;
  [[nodiscard]] bool bound() const { return text.starts_with("bind:"); }
};

Nodes random_nodes(Random& random) {
  const int one = kNodes[below(random, kNodes.size())];
  const int other = kNodes[below(random, kNodes.size())];
  const std::string a = std::to_string(one);
  const std::string b = std::to_string(other);
  const std::uint64_t mask = std::uint64_t{1} << one;
  const std::string both = one == other ? a : a + "," + b;
  const std::uint64_t both_mask = mask | std::uint64_t{1} << other;
  switch (below(random, 7)) {
    case 0:
      return {"bind:" + a, mask};
    case 1:
      return {"preferred:" + both, both_mask};
    case 2:
      return {"interleave:" + both, both_mask};
    case 3:
      return {one == other ? a + "@3" : a + "@2," + b + "@1", both_mask};
    default:
      return {a, mask};
  }
}

// --- The model
// ------------------------------------------------------------------------------------

struct Arena {
  ts_arena* handle;
  std::string name;
  std::size_t capacity;
  ts_when_full when_full;
  std::atomic<std::uint64_t> nodes;  // Any that its pages may lie on.
  std::atomic<bool> touches;         // It may get its pages when it allocates.
  bool in_file;
  std::atomic<std::size_t> usable{0}, mapped{0}, spilled{0}, spilled_count{0}, failed_count{0};

  Arena(Random& random, std::string with_name, const std::string& folder = "");
  [[nodiscard]] bool may_fail() const { return capacity != 0 && when_full != TS_SPILL; }
};

// With `folder` in a file there.
Arena::Arena(Random& random, std::string with_name, const std::string& folder)
    : name(std::move(with_name)), in_file(!folder.empty()) {
  const Nodes wanted = in_file ? Nodes{"pmem:" + folder, ~std::uint64_t{0}} : random_nodes(random);
  capacity = one_in(random, 3) ? 0 : (1 + below(random, 32)) * 96 * kKiB;
  when_full = std::array{TS_FAIL, TS_SPILL, TS_RECLAIM}[below(random, 3)];
  nodes = wanted.mask;
  touches = wanted.bound();
  errno = kUnchanged;
  handle = ts_arena_create(name.c_str(), wanted.text.c_str(), capacity, when_full);
  CHECK(handle != nullptr, "no arena on %s with %zu bytes", wanted.text.c_str(), capacity);
  CHECK(errno == kUnchanged, "ts_arena_create changed errno");
}

struct Block {
  char* data;
  std::size_t size;
  std::size_t usable;
  Arena* arena;  // In which it lies; null: in plain memory.
  std::uint64_t pattern;
};

// Offsets of a block that hold its pattern: all of the first bytes, then a word of each page.
template <typename Repetition>
void repetition_words(std::size_t size, Repetition repetition) {
  const std::size_t whole = std::min(size, kFilledWhole) / 8 * 8;
  for (std::size_t at = 0; at < whole; at += 8) repetition(at);
  for (std::size_t at = kFilledWhole; at + 8 <= size; at += kPage) repetition(at);
}

// Whether its last usable byte is beyond what was asked for.
bool has_spare(const Block& block) { return block.usable > block.size; }

void fill(const Block& block) {
  repetition_words(block.size, [&](std::size_t at) {
    const std::uint64_t word = block.pattern + at;
    std::memcpy(block.data + at, &word, 8);
  });
  for (std::size_t at = block.size / 8 * 8; at < block.size; ++at) {
    block.data[at] = static_cast<char>(block.pattern + at);
  }
  if (has_spare(block)) block.data[block.usable - 1] = static_cast<char>(block.pattern);
}

void check_contents(const Block& block, std::size_t size, const char* when) {
  repetition_words(size, [&](std::size_t at) {
    std::uint64_t word = 0;
    std::memcpy(&word, block.data + at, 8);
    CHECK(word == block.pattern + at, "%s: block %p of %zu bytes has lost its contents at %zu",
          when, static_cast<void*>(block.data), block.size, at);
  });
  if (size != block.size) return;  // Its last bytes are not all there.
  for (std::size_t at = size / 8 * 8; at < size; ++at) {
    CHECK(block.data[at] == static_cast<char>(block.pattern + at),
          "%s: block %p of %zu bytes has lost its contents at %zu", when,
          static_cast<void*>(block.data), block.size, at);
  }
  if (!has_spare(block)) return;
  CHECK(block.data[block.usable - 1] == static_cast<char>(block.pattern),
        "%s: block %p of %zu bytes has lost its last usable byte", when,
        static_cast<void*>(block.data), block.size);
}

void check_zero(const char* data, std::size_t size) {
  for (std::size_t at = 0; at < size; ++at) CHECK(data[at] == 0, "byte %zu is not zero", at);
}

struct Range {  // Of ts_mmap.
  char* start;
  std::vector<bool> pages;  // Those still mapped.
  Arena* arena;
  std::uint64_t pattern;
};

// Where threads leave blocks for others.
struct Mailbox {
  std::mutex lock;
  std::vector<Block> blocks;
};

// --- A thread
// -------------------------------------------------------------------------------------

class Worker {
 public:
  Worker(std::uint64_t seed, int number, std::deque<Arena>& arenas, Mailbox& mailbox)
      : random_(seed), number_(number), arenas_(arenas), mailbox_(mailbox) {}

  void run(std::size_t operations, bool forks);
  void finish();

 private:
  void operate();
  void allocate();
  void reallocate();
  void release();
  void hand_over();
  void take_over();
  void map();
  void cut();
  void refuse();
  void look_at_arena();
  void move_arena();
  void own_arena();
  void look_at_block();
  void fork_here(std::size_t operations);

  Arena* random_arena() {
    return one_in(random_, 6) ? nullptr : &arenas_[below(random_, arenas_.size())];
  }
  Arena* meant(Arena* asked) { return asked != nullptr ? asked : thread_arena_; }
  char* any_allocation(Arena* asked, std::size_t& size);
  void fell_short(Arena* arena, std::size_t size);
  Arena* lies_in(const void* data, Arena* arena, std::size_t size, const char* call);
  void keep(char* data, std::size_t size, Arena* arena);
  void free_block(std::size_t index);
  void unmap(Range& range, std::size_t first, std::size_t count);

  Random random_;
  int number_;
  std::deque<Arena>& arenas_;
  Mailbox& mailbox_;
  Arena* thread_arena_ = nullptr;
  std::vector<Block> blocks_;
  std::vector<Range> ranges_;
  bool child_ = false;  // Of fork: others' locks may be held for ever.
};

ts_arena* handle_of(const Arena* arena) { return arena == nullptr ? nullptr : arena->handle; }

// A call that returned null.
void Worker::fell_short(Arena* arena, std::size_t size) {
  CHECK(errno == ENOMEM, "%zu bytes: null", size);
  CHECK(arena != nullptr && arena->may_fail(), "%zu bytes: null, though nothing is full", size);
  ++arena->failed_count;
  ++seen.failed;
}

// The arena in which `data`, asked of `arena`, lies: that one, or none where it was spilled.
Arena* Worker::lies_in(const void* data, Arena* arena, std::size_t size, const char* call) {
  ts_arena* const found = ts_arena_of(data);
  if (found == handle_of(arena)) return arena;
  CHECK(
      found == nullptr && arena != nullptr && arena->capacity != 0 && arena->when_full == TS_SPILL,
      "%s: %p lies in another arena than asked for", call, data);
  ++arena->spilled_count;
  arena->spilled += size;
  ++seen.spilled;
  return nullptr;
}

void Worker::keep(char* data, std::size_t size, Arena* arena) {
  const std::size_t usable = ts_usable_size(data);
  CHECK(usable >= size, "%zu of %zu bytes are usable", usable, size);
  CHECK(errno == kUnchanged, "a call that succeeded changed errno");
  blocks_.push_back({data, size, usable, arena, random_()});
  if (arena != nullptr) arena->usable += usable;
  fill(blocks_.back());
}

// `size` may grow: calloc's is a product.
char* Worker::any_allocation(Arena* asked, std::size_t& size) {
  ts_arena* const arena = handle_of(asked);
  void* data = nullptr;
  std::size_t alignment = size > 8 ? 16 : 8;
  switch (below(random_, 6)) {
    case 0:
      size = (size + 2) / 3 * 3;
      data = ts_calloc(arena, size / 3, 3);
      if (data != nullptr) check_zero(static_cast<char*>(data), size);
      break;
    case 1:
      alignment = std::size_t{1} << below(random_, one_in(random_, 8) ? 19 : 13);
      data = ts_aligned_alloc(arena, alignment, size);
      break;
    case 2: {
      alignment = std::size_t{8} << below(random_, 10);
      void* const before = &alignment;
      data = before;
      const int error = ts_posix_memalign(arena, &data, alignment, size);
      CHECK(errno == kUnchanged, "ts_posix_memalign changed errno");
      CHECK((error != 0) == (data == before), "ts_posix_memalign returned %d with %p", error, data);
      if (error != 0) {
        errno = error;
        data = nullptr;
      }
      break;
    }
    case 3:
      data = ts_realloc(arena, nullptr, size);
      break;
    default:
      data = ts_malloc(arena, size);
  }
  CHECK(reinterpret_cast<std::uintptr_t>(data) % alignment == 0, "%p is not aligned to %zu", data,
        alignment);
  return static_cast<char*>(data);
}

void Worker::allocate() {
  Arena* const asked = random_arena();
  Arena* const arena = meant(asked);
  std::size_t size = random_size(random_);
  char* const data = any_allocation(asked, size);
  if (data == nullptr) return fell_short(arena, size);
  keep(data, size, lies_in(data, arena, size, "an allocation"));
}

void Worker::reallocate() {
  if (blocks_.empty()) return;
  const std::size_t index = below(random_, blocks_.size());
  const Block old = blocks_[index];
  Arena* const asked = random_arena();
  Arena* const arena = asked != nullptr ? asked : old.arena;
  const std::size_t size = random_size(random_);
  char* const data = static_cast<char*>(ts_realloc(handle_of(asked), old.data, size));
  if (data == nullptr && size != 0) {
    fell_short(arena, size);
    return check_contents(old, old.size, "after a realloc that failed");
  }
  blocks_[index] = blocks_.back();
  blocks_.pop_back();
  if (old.arena != nullptr) old.arena->usable -= old.usable;
  CHECK(errno == kUnchanged, "ts_realloc changed errno");
  CHECK((data == nullptr) == (size == 0), "ts_realloc to 0 bytes gave %p", data);
  if (size == 0) return;
  const Block moved{data, old.size, 0, nullptr, old.pattern};
  check_contents(moved, std::min(size, old.size), "after realloc");
  Arena* const now = lies_in(data, arena, size, "ts_realloc");
  seen.crossed += now != old.arena;
  keep(data, size, now);
}

void Worker::free_block(std::size_t index) {
  const Block block = blocks_[index];
  blocks_[index] = blocks_.back();
  blocks_.pop_back();
  check_contents(block, block.size, "before free");
  CHECK(ts_usable_size(block.data) == block.usable, "a block's usable size has changed");
  if (block.arena != nullptr) block.arena->usable -= block.usable;
  ts_free(block.data);
  CHECK(errno == kUnchanged, "ts_free changed errno");
}

void Worker::release() {
  if (one_in(random_, 50)) ts_free(nullptr);
  if (!blocks_.empty()) free_block(below(random_, blocks_.size()));
}

void Worker::hand_over() {
  if (blocks_.empty() || child_) return;
  const std::scoped_lock lock(mailbox_.lock);
  mailbox_.blocks.push_back(blocks_.back());
  blocks_.pop_back();
  ++seen.handed_over;
}

// Frees some, and keeps some.
void Worker::take_over() {
  if (child_) return;
  std::vector<Block> taken;
  {
    const std::scoped_lock lock(mailbox_.lock);
    taken.swap(mailbox_.blocks);
  }
  for (const Block& block : taken) {
    blocks_.push_back(block);
    if (!one_in(random_, 3)) free_block(blocks_.size() - 1);
  }
}

void Worker::map() {
  Arena* const asked = random_arena();
  Arena* const arena = meant(asked);
  const std::size_t length = 1 + below(random_, 64 * kPage);
  const std::size_t pages = (length + kPage - 1) / kPage;
  void* const start = ts_mmap(handle_of(asked), nullptr, length, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (arena != nullptr && arena->in_file) {
    CHECK(start == MAP_FAILED && errno == ENOTSUP, "a mapping %p in an arena's file", start);
    return;
  }
  if (start == MAP_FAILED) return fell_short(arena, length);
  CHECK(errno == kUnchanged, "ts_mmap changed errno");
  Range range{static_cast<char*>(start), std::vector<bool>(pages, true),
              lies_in(start, arena, length, "ts_mmap"), random_()};
  if (range.arena != nullptr) range.arena->mapped += pages * kPage;
  errno = kUnchanged;
  CHECK((ts_tier_of(start) == -1 && errno == ENOENT) ||
            (range.arena != nullptr && range.arena->touches),
        "a page that nothing touched is somewhere");
  errno = kUnchanged;
  for (std::size_t page = 0; page < pages; ++page) {
    char* const at = range.start + page * kPage;
    CHECK(at[0] == 0 && at[kPage - 1] == 0, "ts_mmap gave memory that was used");
    std::memcpy(at, &range.pattern, 8);
  }
  ranges_.push_back(std::move(range));
}

void Worker::unmap(Range& range, std::size_t first, std::size_t count) {
  CHECK(ts_munmap(range.start + first * kPage, count * kPage) == 0, "ts_munmap failed");
  CHECK(errno == kUnchanged, "ts_munmap changed errno");
  for (std::size_t page = first; page < first + count; ++page) {
    if (range.arena != nullptr && range.pages[page]) range.arena->mapped -= kPage;
    range.pages[page] = false;
  }
}

// Unmaps a part of a range, which may have holes; what is left has to be whole.
void Worker::cut() {
  if (ranges_.empty()) return;
  Range& range = ranges_[below(random_, ranges_.size())];
  const std::size_t pages = range.pages.size();
  const std::size_t first = below(random_, pages);
  std::size_t count = 0;
  while (first + count < pages && range.pages[first + count] && !one_in(random_, 16)) ++count;
  if (count != 0) unmap(range, first, count);
  seen.cut += count != 0;
  bool left = false;
  for (std::size_t page = 0; page < pages; ++page) {
    if (!range.pages[page]) continue;
    char* const at = range.start + page * kPage;
    left = true;
    CHECK(std::memcmp(at, &range.pattern, 8) == 0, "a range has lost page %zu", page);
    CHECK(ts_arena_of(at + kPage - 1) == handle_of(range.arena), "page %zu of a range is lost",
          page);
  }
  if (left) return;
  std::swap(range, ranges_.back());
  ranges_.pop_back();
}

// Calls that have to fail.
void Worker::refuse() {
  ts_arena* const arena = arenas_[below(random_, arenas_.size())].handle;
  volatile std::size_t huge =
      SIZE_MAX / 2 + 1 + below(random_, 100);  // GCC would warn of a constant.
  void* result = nullptr;
  int wanted = ENOMEM;
  switch (below(random_, 8)) {
    case 0:
      result = ts_malloc(arena, huge);
      break;
    case 1:
      result = ts_calloc(arena, huge, 2);
      break;
    case 2:
      result = ts_aligned_alloc(arena, 64, huge);
      break;
    case 3:
      wanted = EINVAL;
      result = ts_aligned_alloc(arena, 24 * below(random_, 3), 100);
      break;
    case 4:
      wanted = kUnchanged;
      CHECK(ts_posix_memalign(arena, &result, 4 + 20 * below(random_, 2), 100) == EINVAL,
            "ts_posix_memalign takes a wrong alignment");
      break;
    case 5:
      if (!blocks_.empty())
        result = ts_realloc(arena, blocks_.back().data, huge);
      else
        errno = ENOMEM;
      break;
    case 6:
      wanted = ENOENT;
      result = ts_arena_find("nobody");
      break;
    default:
      wanted = EEXIST;
      result = ts_arena_create(arenas_[0].name.c_str(), "0", 0, TS_FAIL);
  }
  CHECK(result == nullptr && errno == wanted, "a wrong call gave %p, not errno %d", result, wanted);
}

void Worker::look_at_arena() {
  Arena& arena = arenas_[below(random_, arenas_.size())];
  ts_statistics now{};
  CHECK(ts_arena_statistics(arena.handle, &now) == 0, "no statistics");
  CHECK(arena.capacity == 0 || now.committed <= arena.capacity, "%zu of %zu bytes are committed",
        now.committed, arena.capacity);
  CHECK(ts_arena_find(arena.name.c_str()) == arena.handle, "arena %s is not found",
        arena.name.c_str());
  CHECK(arena.name == ts_arena_name(arena.handle), "arena %s has another name", arena.name.c_str());
  if (one_in(random_, 8)) {
    CHECK(ts_print_statistics(kNowhere, one_in(random_, 2) ? TS_TEXT : TS_JSON) == 0,
          "not printed");
  }
  CHECK(errno == kUnchanged, "a look at an arena changed errno");
}

void Worker::move_arena() {
  Arena& arena = arenas_[below(random_, arenas_.size())];
  const Nodes to = random_nodes(random_);
  arena.nodes |= to.mask;
  if (to.bound()) arena.touches = true;
  // Other threads' pages may be in motion, or in a child's hands.
  const int error = ts_arena_move(arena.handle, to.text.c_str()) == 0 ? 0 : errno;
  if (arena.in_file) {
    CHECK(error == ENOTSUP, "an arena in a file moves to %s", to.text.c_str());
    return;
  }
  CHECK(error == 0 || error == EBUSY, "no move to %s", to.text.c_str());
  ++seen.moved;
}

// An arena of this thread's own, destroyed with all its blocks.
void Worker::own_arena() {
  const std::string name = "own" + std::to_string(number_) + (child_ ? "c" : "");
  Arena own(random_, name);
  const bool as_thread_arena = one_in(random_, 2);
  if (as_thread_arena) ts_set_thread_arena(own.handle);
  std::vector<void*> spilled;
  for (int i = 0; i < 20; ++i) {
    const std::size_t size = random_size(random_);
    errno = kUnchanged;
    void* const data = ts_malloc(as_thread_arena ? nullptr : own.handle, size);
    if (data == nullptr) {
      fell_short(&own, size);
      continue;
    }
    std::memset(data, i, size);
    if (lies_in(data, &own, size, "ts_malloc") == nullptr) spilled.push_back(data);
  }
  errno = kUnchanged;
  CHECK(ts_arena_destroy(own.handle) == 0, "not destroyed");
  CHECK(ts_thread_arena() == (as_thread_arena ? nullptr : handle_of(thread_arena_)),
        "a thread has an arena that was destroyed");
  if (as_thread_arena) ts_set_thread_arena(handle_of(thread_arena_));
  for (void* data : spilled) ts_free(data);
  CHECK(errno == kUnchanged, "destroying an arena changed errno");
  CHECK(ts_arena_find(name.c_str()) == nullptr && errno == ENOENT, "a destroyed arena is found");
}

void Worker::look_at_block() {
  if (blocks_.empty()) return;
  const Block& block = blocks_[below(random_, blocks_.size())];
  check_contents(block, block.size, "while kept");
  CHECK(ts_arena_of(block.data) == handle_of(block.arena), "a block has changed its arena");
  if (block.size < 8 || block.arena == nullptr) return;
  const int node = ts_tier_of(block.data);
  CHECK(node >= 0, "no node of a block that was written to");
  CHECK((block.arena->nodes.load() >> node & 1) != 0, "a block lies on node %d", node);
  CHECK(errno == kUnchanged, "a look at a block changed errno");
}

void Worker::operate() {
  errno = kUnchanged;
  ++seen.calls;
  switch (below(random_, 40)) {
    case 0:
      return refuse();
    case 1:
      return look_at_arena();
    case 2:
      return one_in(random_, 10) ? move_arena() : look_at_block();
    case 3:
      return one_in(random_, 4) ? own_arena() : look_at_block();
    case 4:
      return map();
    case 5:
      return cut();
    case 6:
      return take_over();
    case 7:
    case 8:
      return hand_over();
    case 9: {
      CHECK(ts_thread_arena() == handle_of(thread_arena_), "the thread's arena is another");
      Arena* const before = thread_arena_;
      thread_arena_ = random_arena();
      CHECK(ts_set_thread_arena(handle_of(thread_arena_)) == handle_of(before),
            "not the one before");
      return;
    }
    case 10:
    case 11:
    case 12:
    case 13:
      return look_at_block();
    case 14:
    case 15:
    case 16:
    case 17:
    case 18:
      return reallocate();
    default:
      return blocks_.size() < 40 || one_in(random_, 2) ? allocate() : release();
  }
}

// The child has this thread alone and goes on with it.
void Worker::fork_here(std::size_t operations) {
  const pid_t child = fork();
  CHECK(child >= 0, "no fork");
  if (child == 0) {
    child_ = true;
    alarm(kForkedSeconds);
    run(operations, false);
    finish();
    _exit(0);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child, "no child");
  CHECK(status == 0, "the child ended with status %#x", static_cast<unsigned>(status));
  ++seen.forked;
}

void Worker::run(std::size_t operations, bool forks) {
  current_thread = number_;
  const std::size_t fork_at = forks ? below(random_, operations) : operations;
  for (std::size_t i = 0; i < operations; ++i) {
    current_operation = static_cast<int>(i);
    if (i == fork_at) fork_here(operations / 2);
    operate();
  }
  errno = kUnchanged;
  ts_set_thread_arena(nullptr);
  thread_arena_ = nullptr;
}

// Frees everything; for a thread that comes after the others.
void Worker::finish() {
  errno = kUnchanged;
  take_over();
  while (!blocks_.empty()) free_block(blocks_.size() - 1);
  for (Range& range : ranges_) {
    for (std::size_t page = 0; page < range.pages.size(); ++page) {
      if (range.pages[page]) unmap(range, page, 1);
    }
  }
  ranges_.clear();
}

// --- A sequence
// -----------------------------------------------------------------------------------

// With all threads ended, so that no cache holds a block.
void check_counters(Arena& arena) {
  ts_statistics now{};
  CHECK(ts_arena_statistics(arena.handle, &now) == 0, "no statistics");
  CHECK(arena.capacity == 0 || now.committed <= arena.capacity, "%zu of %zu bytes are committed",
        now.committed, arena.capacity);
  CHECK(now.capacity == arena.capacity, "the capacity is %zu, not %zu", now.capacity,
        arena.capacity);
  CHECK(now.allocated == arena.usable, "%zu bytes are allocated, not %zu", now.allocated,
        arena.usable.load());
  CHECK(now.mapped == arena.mapped, "%zu bytes are mapped, not %zu", now.mapped,
        arena.mapped.load());
  CHECK(now.committed >= now.allocated + now.mapped, "%zu bytes are committed, %zu + %zu in use",
        now.committed, now.allocated, now.mapped);
  CHECK(now.spilled == arena.spilled && now.spilled_count == arena.spilled_count,
        "%zu calls spilled %zu bytes, not %zu and %zu", now.spilled_count, now.spilled,
        arena.spilled_count.load(), arena.spilled.load());
  CHECK(now.failed_count == arena.failed_count, "%zu calls failed, not %zu", now.failed_count,
        arena.failed_count.load());
  std::array<std::size_t, 64> per_node{};
  CHECK(ts_arena_pages(arena.handle, per_node.data(), per_node.size()) == 0, "pages are not found");
  std::size_t pages = 0;
  for (std::size_t node = 0; node < per_node.size(); ++node) {
    pages += per_node[node];
    CHECK(per_node[node] == 0 || (arena.nodes.load() >> node & 1) != 0, "%zu bytes on node %zu",
          per_node[node], node);
  }
  // Arenas without a limit may have huge pages, which reach beyond what is counted.
  CHECK(arena.capacity == 0 || pages <= now.committed, "%zu bytes lie in memory, %zu are committed",
        pages, now.committed);
}

template <typename Each>
void on_threads(std::deque<Worker>& workers, Each each) {
  std::vector<std::thread> threads;
  threads.reserve(workers.size());
  for (std::size_t i = 0; i < workers.size(); ++i) {
    threads.emplace_back([&, i] { each(workers[i], i); });
  }
  for (std::thread& thread : threads) thread.join();
}

const std::string kFolder = std::filesystem::temp_directory_path();

void run_sequence(std::uint64_t seed) {
  current_seed = seed;
  Random random(seed);
  // Small arenas with several heaps, too, which is too little for good service.
  least_for_each_heap = (seed % 2 == 0 ? 64 : 64 * kKiB) * kKiB;
  std::deque<Arena> arenas;
  const bool pmem = seed % 8 == 7;
  for (std::size_t i = 0; i < 1 + seed % 3; ++i) {
    const bool in_file = pmem && i == 0;
    arenas.emplace_back(random, "arena" + std::to_string(i), in_file ? kFolder : "");
  }
  Mailbox mailbox;
  std::deque<Worker> workers;
  for (std::size_t i = 0; i < 1 + below(random, 4); ++i) {
    workers.emplace_back(random(), static_cast<int>(i), arenas, mailbox);
  }
  for (int round = 0; round < 2; ++round) {
    const std::size_t operations = 20 + below(random, 150);
    // A child has no access to blocks in a file.
    const bool forks = !pmem && one_in(random, 6);
    const std::size_t forker = forks ? below(random, workers.size()) : SIZE_MAX;
    on_threads(workers,
               [&](Worker& worker, std::size_t i) { worker.run(operations, i == forker); });
    for (Arena& arena : arenas) check_counters(arena);
  }
  on_threads(workers, [](Worker& worker, std::size_t) { worker.finish(); });
  for (Arena& arena : arenas) {
    check_counters(arena);
    CHECK(arena.usable == 0 && arena.mapped == 0, "the model holds something");
    void* const half = ts_malloc(arena.handle, arena.capacity / 2);
    CHECK(half != nullptr && ts_arena_of(half) == arena.handle,
          "an empty arena of %zu bytes has no room for half of them", arena.capacity);
    ts_free(half);
    CHECK(ts_arena_destroy(arena.handle) == 0, "not destroyed");
  }
}

int usage() {
  std::fputs("usage: alloc-sequences [--seed FIRST] [--count N]\n", stderr);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t first = 1;
  std::uint64_t count = 300;
  for (int i = 1; i < argc; i += 2) {
    const std::string option = argv[i];
    if (i + 1 == argc || (option != "--seed" && option != "--count")) return usage();
    (option == "--seed" ? first : count) = std::strtoull(argv[i + 1], nullptr, 10);
  }
  for (std::uint64_t seed = first; seed < first + count; ++seed) run_sequence(seed);
  std::printf(
      "%llu sequences from seed %llu: %zu calls, of which %zu found an arena full and %zu spilled; "
      "%zu blocks handed over, %zu moved to another arena; %zu arenas moved; %zu ranges cut; "
      "%zu forks\n",
      static_cast<unsigned long long>(count), static_cast<unsigned long long>(first),
      seen.calls.load(), seen.failed.load(), seen.spilled.load(), seen.handed_over.load(),
      seen.crossed.load(), seen.moved.load(), seen.cut.load(), seen.forked.load());
  const bool all = seen.failed != 0 && seen.spilled != 0 && seen.handed_over != 0 &&
                   seen.crossed != 0 && seen.moved != 0 && seen.cut != 0 && seen.forked != 0;
  if (count >= 100 && !all) fault("something was never tried");
  return 0;
}
