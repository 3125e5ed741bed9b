// What jemalloc asks of an arena. It takes addresses from the arena's slot in growing steps, and
// commits them by the page as it hands them out; after it has decommitted pages (a while after they
// were freed) it keeps their addresses. jemalloc holds locks of its own meanwhile.
#include <errno.h>
#include <sys/mman.h>

#include "core.h"

static bool free_pages(const ts_arena* arena, uintptr_t start, size_t bytes) {
  if (arena->file >= 0) return pmem_decommit(arena, start, bytes);
  return !atomic_load(&arena->lost) && madvise((void*)start, bytes, MADV_DONTNEED) == 0;
}

// Gets the pages of a range for which there is room. False: there are none.
static bool take_pages(ts_arena* arena, uintptr_t start, size_t bytes, bool touch) {
  const int error = errno;
  bool done = true;
  if (arena->file >= 0) {
    done = pmem_commit(arena, start, bytes);
  } else if (touch) {
    done = populate(arena, start, start + bytes);
  }
  if (!done) {
    free_pages(arena, start, bytes);
    refuse_room(arena, bytes);
  }
  errno = error;
  return done;
}

// Commits a range that lies in readable and writable addresses. False: the arena is full.
static bool commit(ts_arena* arena, uintptr_t start, size_t bytes) {
  bool touch = false;
  return take_room(arena, bytes, &touch) && take_pages(arena, start, bytes, touch);
}

size_t laid_bytes(void) {
  size_t bytes = 0;
  for (size_t i = 0; i < kMaxArenas; ++i) {
    if (!atomic_load(&arena_table[i].exists)) continue;
    bytes += atomic_load(&arena_table[i].top) - arena_table[i].start +
             atomic_load(&arena_table[i].mapped);
  }
  return bytes;
}

// Takes the next addresses of the slot, readable, writable and placed; 0 where there are none.
static uintptr_t take_addresses(ts_arena* arena, size_t bytes, size_t alignment) {
  const int error = errno;
  pthread_mutex_lock(&arena->layout);
  const uintptr_t top = atomic_load(&arena->top);
  const uintptr_t start = (top + alignment - 1) & ~(alignment - 1);
  const bool fits = start < arena->end && bytes <= arena->end - start;
  bool ready = fits && open_addresses(arena, start, bytes);
  const bool placed = slots.reserved && arena->policy.round == 0;
  if (ready && !placed && arena->file < 0) {
    ready = policy_lay(&arena->policy, start, start + bytes, 0, laid_bytes() + bytes) == 0;
    if (!ready) close_addresses(top, start + bytes - top);
  }
  if (ready) atomic_store(&arena->top, start + bytes);
  pthread_mutex_unlock(&arena->layout);
  errno = error;
  return ready ? start : 0;
}

// The same, committed.
static uintptr_t take_committed(ts_arena* arena, size_t bytes, size_t alignment) {
  bool touch = false;
  if (!take_room(arena, bytes, &touch)) return 0;
  const uintptr_t start = take_addresses(arena, bytes, alignment);
  if (start == 0) {
    leave_room(arena, bytes);
    return 0;
  }
  if (take_pages(arena, start, bytes, touch)) return start;
  pthread_mutex_lock(&arena->layout);
  uintptr_t end = start + bytes;
  if (atomic_compare_exchange_strong(&arena->top, &end, start)) close_addresses(start, bytes);
  pthread_mutex_unlock(&arena->layout);
  return 0;
}

// NOLINTBEGIN(readability-non-const-parameter): jemalloc's types.
static void* hook_alloc(extent_hooks_t* hooks, void* wanted, size_t bytes, size_t alignment,
                        bool* zero, bool* committed, unsigned heap) {
  (void)heap;
  ts_arena* const arena = (ts_arena*)hooks;
  if (wanted != NULL) return NULL;
  // For steps it asks first without committing. Where less than the step is left it then asks for
  // what it needs, and where that is refused, too, no addresses are lost. A full arena has no
  // steps: each would take addresses, and memory to keep account of them.
  if (bytes > may_have_room(arena)) return NULL;
  const uintptr_t start = *committed ? take_committed(arena, bytes, alignment)
                                     : take_addresses(arena, bytes, alignment);
  if (start == 0) return NULL;
  *zero = true;
  return (void*)start;
}

static bool hook_commit(extent_hooks_t* hooks, void* address, size_t size, size_t offset,
                        size_t bytes, unsigned heap) {
  (void)size, (void)heap;
  return !commit((ts_arena*)hooks, (uintptr_t)address + offset, bytes);
}

static bool hook_decommit(extent_hooks_t* hooks, void* address, size_t size, size_t offset,
                          size_t bytes, unsigned heap) {
  (void)size, (void)heap;
  const int error = errno;
  const bool done = free_pages((ts_arena*)hooks, (uintptr_t)address + offset, bytes);
  errno = error;
  if (done) leave_room((ts_arena*)hooks, bytes);
  return !done;
}

static bool hook_purge(extent_hooks_t* hooks, void* address, size_t size, size_t offset,
                       size_t bytes, unsigned heap) {
  (void)size, (void)heap;
  const ts_arena* const arena = (ts_arena*)hooks;
  if (arena->file >= 0) return true;  // The file would have holes where nothing is to be missing.
  const int error = errno;
  const bool done = free_pages(arena, (uintptr_t)address + offset, bytes);
  errno = error;
  return !done;
}

static bool hook_split(extent_hooks_t* hooks, void* address, size_t size, size_t size_a,
                       size_t size_b, bool committed, unsigned heap) {
  (void)hooks, (void)address, (void)size, (void)size_a, (void)size_b, (void)committed, (void)heap;
  return false;
}

static bool hook_merge(extent_hooks_t* hooks, void* address_a, size_t size_a, void* address_b,
                       size_t size_b, bool committed, unsigned heap) {
  (void)hooks, (void)address_a, (void)size_a, (void)address_b, (void)size_b, (void)committed;
  (void)heap;
  return false;
}
// NOLINTEND(readability-non-const-parameter)

const extent_hooks_t kArenaHooks = {
    .alloc = hook_alloc,
    .commit = hook_commit,
    .decommit = hook_decommit,
    .purge_forced = hook_purge,
    .split = hook_split,
    .merge = hook_merge,
};
