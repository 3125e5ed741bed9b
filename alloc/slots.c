// The addresses of arenas: slots of one reserved range, so that a pointer's arena is found by a
// shift. And what has to be in order around a fork.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
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

// The most bytes that may be reserved: half of what a limit leaves; little where each byte of
// address space costs a tool that watches the program.
static size_t reservable(void) {
  size_t bytes = kMaxArenas * kSlotBytes;
  struct rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur / 2 < bytes) bytes = limit.rlim_cur / 2;
  const char* const preloaded = getenv("LD_PRELOAD");
  const bool watched =
      __tsan_acquire != NULL || (preloaded != NULL && strstr(preloaded, "/vgpreload_core") != NULL);
  const size_t watchable = UINT64_C(64) << 30;
  return watched && bytes > watchable ? watchable : bytes;
}

bool reserve_slots(void) {
  if (atomic_load(&slots.count) != 0) return true;
  const size_t most = reservable();
  for (size_t slot = kSlotBytes; slot >= kLeastSlotBytes; slot /= 2) {
    const unsigned count = slot >= UINT64_C(1) << 30 ? kMaxArenas : kFewArenas;
    if (slot > most / count) continue;
    void* const base = mmap(NULL, count * slot + kAlignment, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) continue;
    slots.base = ((uintptr_t)base + kAlignment - 1) & ~(kAlignment - 1);
    slots.shift = (unsigned)__builtin_ctzll(slot);
    for (unsigned i = 0; i < count; ++i) {  // Once: other threads read them without a lock.
      arena_table[i].index = i;
      arena_table[i].start = slots.base + i * slot;
      arena_table[i].end = arena_table[i].start + slot;
    }
    atomic_store(&slots.count, count);
    return true;
  }
  errno = ENOMEM;
  return false;
}
