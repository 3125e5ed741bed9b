// Each thread's caches: one of jemalloc's explicit caches for each arena that the thread uses, made
// at first use, taken back when the thread ends or the arena is destroyed. The cache that jemalloc
// makes by itself is not used: it mixes arenas.
#include <errno.h>

#include "core.h"

static struct thread no_thread;  // Of threads that have nothing yet.
static struct thread ended;      // Of threads whose own is gone already, and may still free.
_Thread_local struct thread* self = &no_thread;

static struct thread* threads;  // Under table_lock.
static pthread_key_t at_end;
static pthread_once_t at_end_once = PTHREAD_ONCE_INIT;
static bool has_end;

// As in MALLOCX_TCACHE: 0 is jemalloc's own choice, 1 none, n + 2 is cache n.
static unsigned cache_field(int flags) { return (unsigned)flags >> 8 & 0xfff; }

static bool has_cache(int flags) { return cache_field(flags) >= 2; }

static unsigned cache_of(int flags) { return cache_field(flags) - 2; }

static void drop_cache(struct thread* thread, size_t slot) {
  thread->caches[slot] = NULL;
  if (thread->flags[slot] != 0) --arena_table[slot].heaps[thread->heaps[slot]].threads;
  if (has_cache(thread->flags[slot])) {
    unsigned cache = cache_of(thread->flags[slot]);
    je_mallctl("tcache.destroy", NULL, NULL, &cache, sizeof cache);
    serve_again(&arena_table[slot]);
  }
  thread->flags[slot] = 0;
}

static void add_spilled(struct spilled* to, const struct spilled* from) {
  atomic_fetch_add(&to->bytes, atomic_load(&from->bytes));
  atomic_fetch_add(&to->count, atomic_load(&from->count));
}

static void end_thread(void* value) {
  struct thread* const thread = value;
  const int error = errno;
  self = &ended;
  pthread_mutex_lock(&table_lock);
  *thread->before = thread->next;
  if (thread->next != NULL) thread->next->before = thread->before;
  for (size_t i = 0; i < kMaxArenas; ++i) {
    drop_cache(thread, i);
    add_spilled(&arena_table[i].spilled, &thread->spilled[i]);
  }
  pthread_mutex_unlock(&table_lock);
  je_dallocx(thread, MALLOCX_TCACHE_NONE);
  errno = error;
}

static void make_key(void) { has_end = pthread_key_create(&at_end, end_thread) == 0; }

struct thread* begin_thread(void) {
  if (self == &ended) return NULL;
  pthread_once(&at_end_once, make_key);
  if (!has_end) return NULL;
  const int error = errno;
  struct thread* const thread = je_mallocx(sizeof *thread, MALLOCX_ZERO | MALLOCX_TCACHE_NONE);
  errno = error;
  if (thread == NULL) return NULL;
  if (pthread_setspecific(at_end, thread) != 0) {
    je_dallocx(thread, MALLOCX_TCACHE_NONE);
    return NULL;
  }
  thread->begun = true;
  pthread_mutex_lock(&table_lock);
  thread->next = threads;
  thread->before = &threads;
  if (threads != NULL) threads->before = &thread->next;
  threads = thread;
  pthread_mutex_unlock(&table_lock);
  self = thread;
  return thread;
}

// The heap with the fewest threads, a new one where all have some and there may be more.
static unsigned choose_heap(ts_arena* arena) {
  unsigned best = 0;
  for (unsigned i = 1; i < atomic_load(&arena->heap_count); ++i) {
    if (arena->heaps[i].threads < arena->heaps[best].threads) best = i;
  }
  const unsigned count = atomic_load(&arena->heap_count);
  const bool more = arena->heaps[best].threads != 0 && count < arena->most_heaps;
  return more && make_heap(arena) ? count : best;
}

// Gives a thread its heap of an arena, and a cache where there is memory for one.
static int make_flags(struct thread* thread, ts_arena* arena) {
  const int error = errno;
  unsigned cache = 0;
  size_t size = sizeof cache;
  const bool cached = je_mallctl("tcache.create", &cache, &size, NULL, 0) == 0;
  pthread_mutex_lock(&table_lock);
  const unsigned heap = choose_heap(arena);
  ++arena->heaps[heap].threads;
  const int flags = MALLOCX_ARENA(arena->heaps[heap].number) |
                    (cached ? MALLOCX_TCACHE(cache) : MALLOCX_TCACHE_NONE);
  thread->heaps[arena->index] = (unsigned char)heap;
  thread->flags[arena->index] = flags;
  pthread_mutex_unlock(&table_lock);
  errno = error;
  return flags;
}

int thread_flags(ts_arena* arena) {
  struct thread* const thread = this_thread();
  if (thread == NULL) return MALLOCX_ARENA(arena->heaps[0].number) | MALLOCX_TCACHE_NONE;
  int flags = thread->flags[arena->index];
  if (flags == 0) flags = make_flags(thread, arena);
  if (has_cache(flags)) thread->caches[arena->index] = fast_cache(cache_of(flags));
  return flags;
}

void threads_forget(const ts_arena* arena) {
  for (struct thread* thread = threads; thread != NULL; thread = thread->next) {
    drop_cache(thread, arena->index);
    thread->spilled[arena->index] = (struct spilled){0};
    ts_arena* expected = (ts_arena*)arena;
    atomic_compare_exchange_strong(&thread->arena, &expected, NULL);
  }
}

struct spilled all_spilled(const ts_arena* arena) {
  struct spilled all = {0};
  add_spilled(&all, &arena->spilled);
  for (const struct thread* thread = threads; thread != NULL; thread = thread->next) {
    add_spilled(&all, &thread->spilled[arena->index]);
  }
  return all;
}

ts_arena* ts_thread_arena(void) { return atomic_load_explicit(&self->arena, memory_order_relaxed); }

ts_arena* ts_set_thread_arena(ts_arena* arena) {
  ts_arena* const before = ts_thread_arena();
  struct thread* const thread = arena != before ? this_thread() : NULL;
  if (thread != NULL) atomic_store(&thread->arena, arena);
  return before;
}
