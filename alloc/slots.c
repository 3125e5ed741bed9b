// The addresses of arenas: slots of one range, so that a pointer's arena is found by a shift. And
// what has to be in order around a fork.
//
// The range is reserved, as nothing else may be mapped there. Where the process may have so much
// address space only (`ulimit -v`), it is not: it lies in the middle of the largest gap between the
// mappings that there are, of which each third is larger than the limit, so that none that the
// kernel chooses addresses for reaches it. Addresses are then mapped as an arena takes them.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "core.h"

enum { kFewArenas = 8 };                               // Where addresses are scarce.
static const size_t kSlotBytes = UINT64_C(256) << 30;  // Where they are not.
static const size_t kLeastSlotBytes = UINT64_C(16) << 20;
static const size_t kAlignment = UINT64_C(2) << 20;  // Of huge pages.

struct slots slots;
pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

// jemalloc's settings (je_malloc_conf): its own arenas serve its bookkeeping only, and the caches
// that it makes by itself are not used, so that nothing is to be collected in them every 64 KiB.
const char* je_malloc_conf = "narenas:1,tcache_gc_incr_bytes:1099511627776";

// Present where a program is built with -fsanitize=thread.
// NOLINTNEXTLINE(bugprone-reserved-identifier, readability-identifier-naming)
extern void __tsan_acquire(void* address) __attribute__((weak));

// Under table_lock, so that arenas neither come nor go.
static void lock_layouts(void) {
  for (size_t i = 0; i < kMaxArenas; ++i) {
    if (atomic_load(&arena_table[i].exists)) pthread_mutex_lock(&arena_table[i].layout);
  }
}

static void unlock_layouts(void) {
  for (size_t i = 0; i < kMaxArenas; ++i) {
    if (atomic_load(&arena_table[i].exists)) pthread_mutex_unlock(&arena_table[i].layout);
  }
}

static void lock_arenas(void) { pthread_mutex_lock(&table_lock); }

static void unlock_arenas(void) { pthread_mutex_unlock(&table_lock); }

static void begin_child(void) {
  for (size_t i = 0; i < kMaxArenas; ++i) {
    ts_arena* const arena = &arena_table[i];
    if (atomic_load(&arena->exists) && arena->file >= 0) pmem_lose(arena);
  }
  unlock_arenas();
}

// Handlers run before a fork in the opposite order of their registration, and locks are taken in
// the order that core.h gives: so jemalloc, which registers its own when it starts, comes between.
__attribute__((constructor(101))) static void begin(void) {
  for (size_t i = 0; i < kMaxArenas; ++i) pthread_mutex_init(&arena_table[i].layout, NULL);
  pthread_atfork(lock_layouts, unlock_layouts, unlock_layouts);
  je_mallctl("version", NULL, NULL, NULL, 0);
  pthread_atfork(lock_arenas, unlock_arenas, begin_child);
}

// Whether a tool watches the program that each byte of address space costs something.
static bool is_watched(void) {
  const char* const preloaded = getenv("LD_PRELOAD");
  return __tsan_acquire != NULL ||
         (preloaded != NULL && strstr(preloaded, "/vgpreload_core") != NULL);
}

struct gap {
  uintptr_t most;    // The kernel maps nothing beyond.
  uintptr_t before;  // Where the last mapping ends.
  uintptr_t start;   // Of the largest.
  size_t bytes;
};

// A line of /proc/self/maps: "START-END ...".
static void look_for_gap(void* context, const char* line) {
  struct gap* const gap = context;
  char* at = NULL;
  const uintptr_t start = strtoul(line, &at, 16);
  if (*at != '-' || start > gap->most) return;
  if (start > gap->before && start - gap->before > gap->bytes) {
    gap->start = gap->before;
    gap->bytes = start - gap->before;
  }
  gap->before = strtoul(at + 1, NULL, 16);
}

static void make_slots(uintptr_t base, size_t slot, unsigned count) {
  slots.base = (base + kAlignment - 1) & ~(kAlignment - 1);
  slots.shift = (unsigned)__builtin_ctzll(slot);
  for (unsigned i = 0; i < count; ++i) {  // Once: other threads read them without a lock.
    arena_table[i].index = i;
    arena_table[i].start = slots.base + i * slot;
    arena_table[i].end = arena_table[i].start + slot;
  }
  atomic_store(&slots.count, count);
  atomic_store(&slots.bytes, count * slot);
}

// Finds addresses that nothing will be mapped at in a process that may have `limit` bytes of them.
static bool find_slots(size_t limit) {
  struct gap gap = {.most = getauxval(AT_EXECFN)};  // At the end of the first thread's stack.
  read_lines("/proc/self/maps", look_for_gap, &gap);
  const size_t third = gap.bytes / 3;
  if (third < limit) return false;
  for (size_t slot = kSlotBytes; slot >= kLeastSlotBytes; slot /= 2) {
    if (kMaxArenas * slot + kAlignment > third) continue;
    make_slots(gap.start + third, slot, kMaxArenas);
    return true;
  }
  return false;
}

static bool reserve(size_t most) {
  for (size_t slot = kSlotBytes; slot >= kLeastSlotBytes; slot /= 2) {
    const unsigned count = slot >= UINT64_C(1) << 30 ? kMaxArenas : kFewArenas;
    if (slot > most / count) continue;
    void* const base = mmap(NULL, count * slot + kAlignment, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) continue;
    slots.reserved = true;
    make_slots((uintptr_t)base, slot, count);
    return true;
  }
  return false;
}

bool reserve_slots(void) {
  if (atomic_load(&slots.count) != 0) return true;
  const size_t watchable = UINT64_C(64) << 30;
  size_t most = is_watched() ? watchable : kMaxArenas * kSlotBytes;
  struct rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    if (!is_watched() && find_slots(limit.rlim_cur)) return true;
    if (limit.rlim_cur / 2 < most) most = limit.rlim_cur / 2;
  }
  if (reserve(most)) return true;
  errno = ENOMEM;
  return false;
}

bool open_addresses(ts_arena* arena, uintptr_t start, size_t bytes) {
  if (slots.reserved) return mprotect((void*)start, bytes, PROT_READ | PROT_WRITE) == 0;
  const uintptr_t top = atomic_load(&arena->top);
  const size_t all = start + bytes - top;
  if (arena->file >= 0) return pmem_map(arena, top, all, PROT_READ | PROT_WRITE) == 0;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
  void* const mapped = mmap((void*)top, all, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (mapped == MAP_FAILED) return false;
  if (mapped != (void*)top) {  // Before Linux 4.17.
    munmap(mapped, all);
    return false;
  }
  if (arena->small_pages) madvise(mapped, all, MADV_NOHUGEPAGE);
  return true;
}

void close_addresses(uintptr_t start, size_t bytes) {
  if (!slots.reserved) munmap((void*)start, bytes);
}

void empty_slot(const ts_arena* arena) {
  const size_t bytes = open_end(arena) - arena->start;
  if (!slots.reserved) {
    if (bytes != 0) munmap((void*)arena->start, bytes);
    return;
  }
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (mmap((void*)arena->start, bytes, PROT_NONE, flags, -1, 0) == MAP_FAILED) {
    madvise((void*)arena->start, bytes, MADV_DONTNEED);
  }
}
