// The calls that programs make, but for what fast.c does.
#include <errno.h>
#include <string.h>

#include "core.h"

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define SLOW __attribute__((noinline, cold))

static const size_t kMaxSize = PTRDIFF_MAX;
static const int64_t kRefusalTime = 10000000;  // ns
static const size_t kMovedFrom = 128 << 10;    // Bytes; as glibc's, which then moves pages, too.
enum { kCallsPerLook = 64 };

// jemalloc has no blocks of no bytes.
static size_t at_least_one(size_t size) { return size + (size == 0); }

static inline bool is_lost(const ts_arena* arena) {
  return atomic_load_explicit(&arena->lost, memory_order_relaxed);
}

static SLOW int flags_first(ts_arena* arena) { return thread_flags(arena); }

static inline int flags_of(ts_arena* arena) {
  const struct thread* const thread = self;
  return LIKELY(thread->caches[arena->index] != NULL) ? thread->flags[arena->index]
                                                      : flags_first(arena);
}

// A full arena that spills is not asked again for a size that it had no block of, until it gets
// something back or for a while: what other threads keep in their caches comes back unseen. A call
// of the clock costs as much as malloc, so a thread that calls often seldom looks.

void serve_again(ts_arena* arena) {
  if (LIKELY(!atomic_load_explicit(&arena->refuses, memory_order_relaxed))) return;
  atomic_store(&arena->refuses, false);
  for (size_t i = 0; i < kMaxKinds / 64; ++i) atomic_store(&arena->refused[i], 0);
}

// What jemalloc is asked for, and what is tried again after pages were given back.
struct request {
  void* old;  // NULL: a new block.
  size_t size;
  int flags;  // Alignment and zeroing.
};

static inline size_t alignment_of(const struct request* request) {
  return (size_t)1 << (request->flags & 63);
}

// kMaxKinds where it says nothing of other requests: it needs a rare position.
static inline unsigned kind_of(const struct request* request) {
  const size_t alignment = alignment_of(request);
  if (alignment > kLeastPage) return kMaxKinds;
  return fast_kind((request->size + alignment - 1) & ~(alignment - 1));
}

static void refuse(ts_arena* arena, const struct request* request) {
  const unsigned kind = kind_of(request);
  if (kind == kMaxKinds) return;
  atomic_fetch_or(&arena->refused[kind / 64], UINT64_C(1) << kind % 64);
  atomic_store(&arena->refused_until, now_ns(CLOCK_MONOTONIC_COARSE) + kRefusalTime);
  atomic_store(&arena->refuses, true);
}

static inline bool is_over(ts_arena* arena, struct thread* thread) {
  if (thread != NULL && thread->not_look != 0) {
    --thread->not_look;
    return false;
  }
  const int64_t time = now_ns(CLOCK_MONOTONIC_COARSE);
  if (thread != NULL) {
    thread->not_look = time == thread->looked ? kCallsPerLook : 0;
    thread->looked = time;
  }
  return time >= atomic_load(&arena->refused_until);
}

static inline bool is_refused(ts_arena* arena, struct thread* thread,
                              const struct request* request) {
  const unsigned kind = kind_of(request);
  if (kind == kMaxKinds) return false;
  const uint64_t kinds = atomic_load_explicit(&arena->refused[kind / 64], memory_order_relaxed);
  if ((kinds >> kind % 64 & 1) == 0) return false;
  if (!is_over(arena, thread)) return true;
  serve_again(arena);
  return false;
}

static void* try_with(int flags, const struct request* request) {
  const size_t size = at_least_one(request->size);
  if (request->old != NULL) return je_rallocx(request->old, size, flags | request->flags);
  return je_mallocx(size, flags | request->flags);
}

static void* try(ts_arena* arena, const struct request* request) {
  return try_with(flags_of(arena), request);
}

// Free blocks in slabs, and addresses, that other threads' heaps have.
static void* try_other_heaps(ts_arena* arena, const struct request* request) {
  const unsigned count = atomic_load(&arena->heap_count);
  void* result = NULL;
  for (unsigned i = 0; count > 1 && i < count && result == NULL; ++i) {
    result = try_with(MALLOCX_ARENA(arena->heaps[i].number) | MALLOCX_TCACHE_NONE, request);
  }
  return result;
}

static SLOW void* reclaim_and_try(ts_arena* arena, const struct request* request) {
  size_t bytes = 0;
  void* result = purge_arena(arena, request->size, &bytes) ? try(arena, request) : NULL;
  if (result == NULL) result = try_other_heaps(arena, request);
  if (result == NULL && arena->when_full == TS_RECLAIM && purge_others(arena, &bytes)) {
    result = try(arena, request);
  }
  atomic_fetch_add(&arena->reclaimed, bytes);
  return result;
}

static inline void* plain(const struct request* request) {
  const size_t alignment = alignment_of(request);
  if (alignment <= sizeof(void*)) {
    const bool zero = (request->flags & MALLOCX_ZERO) != 0;
    return zero ? plain_calloc(1, request->size) : plain_malloc(request->size);
  }
  void* result = NULL;
  return plain_memalign(&result, alignment, request->size) == 0 ? result : NULL;
}

static void* failed(void) {
  errno = ENOMEM;
  return NULL;
}

// Serves a request from plain memory. NULL: it has none.
static inline void* spill(ts_arena* arena, struct thread* thread, const struct request* request) {
  void* const result = plain(request);
  if (result == NULL) return NULL;
  if (request->old != NULL) {
    const size_t bytes = je_sallocx(request->old, 0);
    memcpy(result, request->old, bytes < request->size ? bytes : request->size);
    ts_free(request->old);
  }
  count_spilled(arena, thread, request->size);
  return result;
}

// NULL: it is not known to be in vain to ask the arena, or there is no memory.
static __attribute__((noinline)) void* spill_again(ts_arena* arena, size_t size, int flags) {
  const int error = errno;
  const struct request request = {NULL, size, flags};
  struct thread* const thread = this_thread();
  if (!is_refused(arena, thread, &request)) return NULL;
  void* const result = spill(arena, thread, &request);
  errno = error;
  return result;
}

// The thread has no cache yet, or the arena is full.
static SLOW void* allocate_slowly(ts_arena* arena, const struct request* request) {
  const int error = errno;
  if (request->size > kMaxSize) return failed();
  const bool lost = is_lost(arena);
  if (lost && request->old != NULL) return failed();  // Its contents are not there.
  void* result = lost ? NULL : reclaim_and_try(arena, request);
  if (result == NULL && arena->when_full == TS_SPILL) {
    if (!lost) refuse(arena, request);
    result = spill(arena, this_thread(), request);
  }
  if (result == NULL) {
    atomic_fetch_add(&arena->failed_count, 1);
    return failed();
  }
  errno = error;
  return result;
}

void* allocate(ts_arena* arena, size_t size, int flags) {
  void* result = NULL;
  if (UNLIKELY(atomic_load_explicit(&arena->refuses, memory_order_relaxed))) {
    result = spill_again(arena, size, flags);
    if (LIKELY(result != NULL)) return result;
  }
  if (LIKELY(!is_lost(arena))) result = je_mallocx(at_least_one(size), flags_of(arena) | flags);
  if (LIKELY(result != NULL)) return result;
  return allocate_slowly(arena, &(struct request){NULL, size, flags});
}

void release(void* pointer, size_t slot) {
  ts_arena* const arena = &arena_table[slot];
  if (UNLIKELY(is_lost(arena))) return;
  je_dallocx(pointer, flags_of(arena));
  serve_again(arena);
}

static int align_flag(size_t alignment) { return MALLOCX_LG_ALIGN(__builtin_ctzll(alignment)); }

void* ts_aligned_alloc(ts_arena* arena, size_t alignment, size_t size) {
  if (!is_power_of_two(alignment)) {
    errno = EINVAL;
    return NULL;
  }
  arena = chosen(arena);
  if (arena != NULL) {
    void* const block = take_aligned(arena, alignment, size);
    return LIKELY(block != NULL) ? block : allocate(arena, size, align_flag(alignment));
  }
  void* result = NULL;
  const size_t least = alignment < sizeof(void*) ? sizeof(void*) : alignment;
  if (plain_memalign(&result, least, size) != 0) return failed();
  return result;
}

int ts_posix_memalign(ts_arena* arena, void** pointer, size_t alignment, size_t size) {
  if (!is_power_of_two(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  const int error = errno;
  void* const result = ts_aligned_alloc(arena, alignment, size);
  errno = error;
  if (result == NULL) return ENOMEM;
  *pointer = result;
  return 0;
}

// Moves a block from one arena to another, or between one and plain memory.
static void* move_block(ts_arena* arena, void* pointer, size_t size) {
  const size_t slot = slot_of(pointer);
  if (slot < kMaxArenas && is_lost(&arena_table[slot])) return failed();
  void* const result = ts_malloc(arena, size);
  if (result == NULL) return NULL;
  const size_t bytes = ts_usable_size(pointer);
  memcpy(result, pointer, bytes < size ? bytes : size);
  ts_free(pointer);
  return result;
}

// Grows a block of many pages, which move to the new one rather than that they are copied.
static SLOW void* grow_large(ts_arena* home, void* pointer, size_t before, size_t size) {
  const int flags = flags_of(home);
  if (je_xallocx(pointer, size, 0, flags) >= size) return pointer;
  void* const fresh = je_mallocx(size, flags | MALLOCX_ALIGN(page_bytes()));
  if (fresh == NULL) return NULL;
  const size_t page = page_bytes();
  const bool whole = (uintptr_t)pointer % page == 0 && before % page == 0;
  if (!whole || !move_block_pages(home, pointer, before, fresh, ts_usable_size(fresh))) {
    memcpy(fresh, pointer, before);
  }
  je_dallocx(pointer, flags);
  return fresh;
}

static void* resize(ts_arena* home, void* pointer, size_t size) {
  if (UNLIKELY(size > kMovedFrom) && size <= kMaxSize) {
    const size_t before = ts_usable_size(pointer);
    if (before >= kMovedFrom && before < size) return grow_large(home, pointer, before, size);
  }
  return je_rallocx(pointer, size, flags_of(home));
}

void* ts_realloc(ts_arena* arena, void* pointer, size_t size) {
  if (pointer == NULL) return ts_malloc(arena, size);
  if (size == 0) {
    ts_free(pointer);
    return NULL;
  }
  const size_t slot = slot_of(pointer);
  ts_arena* const home = slot < kMaxArenas ? &arena_table[slot] : NULL;
  if (arena != NULL && arena != home) return move_block(arena, pointer, size);
  if (home == NULL) return plain_realloc(pointer, size);
  void* result = NULL;
  if (LIKELY(!is_lost(home))) result = resize(home, pointer, size);
  if (LIKELY(result != NULL)) {
    serve_again(home);
    return result;
  }
  return allocate_slowly(home, &(struct request){pointer, size, 0});
}
