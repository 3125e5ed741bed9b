// libtierscope-alloc-preload.so: gives the program that it is preloaded into memory from arenas, by
// rules, where the program calls malloc and its like. Everything else goes on to the C library's
// functions, or to those of an allocator that the program is linked with.
//
// Blocks are told apart by their addresses, so that free and realloc take blocks of
// any origin, and blocks from before the rules were read. What the arenas' own code allocates is
// plain memory (`inside`).
//
// TIERSCOPE_ALLOC_RULES is a file of rules, or rules; see rules.h. TIERSCOPE_ALLOC is a list of
// words: strict, statistics, sites, check. TIERSCOPE_ALLOC_JSON is a file for statistics,
// TIERSCOPE_ALLOC_HEAT is for `tierscope alloc heat` (heat.h). Where anything is wrong, one line on
// stderr says so, and all memory is plain; with `strict` the program ends with status 1 before its
// main function.
#include "preload.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "choose.h"
#include "core.h"
#include "next.h"
#include "settings.h"
#include "sites.h"

// The caller's call site.
#define CALLER __builtin_return_address(0)

static atomic_bool choosing_blocks;
_Thread_local int inside;

// What needs no choice goes on at once: blocks of less than this many bytes, and plain blocks that
// are freed, unless they are watched.
static atomic_size_t chosen_from = SIZE_MAX;
static atomic_bool watched;

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define SLOW __attribute__((noinline))

// Which of the functions below the library reaches when it calls them by their public names. Those
// of a program itself come before a preloaded library's.
enum { kReachedMalloc = 1, kReachedRealloc = 2, kReachedFree = 4 };
static atomic_bool probing;
static atomic_int reached;

static void note(int function) {
  if (atomic_load_explicit(&probing, memory_order_relaxed)) atomic_fetch_or(&reached, function);
}

static bool needs_choice(size_t size) {
  return size >= atomic_load_explicit(&chosen_from, memory_order_relaxed);
}

static bool active(void) {
  return inside == 0 && atomic_load_explicit(&choosing_blocks, memory_order_relaxed);
}

static ts_arena* arena_for(size_t size, const void* caller) {
  return active() ? FROM_ARENAS(choose(size, caller)).arena : NULL;
}

// Without a lock, as ts_arena_of would take for ranges of ts_mmap.
static ts_arena* arena_of(const void* block) {
  const size_t slot = slot_of(block);
  return inside == 0 && slot < kMaxArenas ? &arena_table[slot] : NULL;
}

static size_t usable_size(const ts_arena* arena, void* block) {
  return arena != NULL ? ts_usable_size(block) : NEXT(malloc_usable_size)(block);
}

static void* counted(void* block) {
  if (block == NULL || !active() || !counts_bytes()) return block;
  const ts_arena* const arena = arena_of(block);
  count_bytes(arena, (ptrdiff_t)usable_size(arena, block));
  return block;
}

static void count_back(const ts_arena* arena, void* block) {
  if (active() && counts_bytes()) count_bytes(arena, -(ptrdiff_t)usable_size(arena, block));
}

static SLOW void* malloc_by_choice(size_t size, const void* caller) {
  note(kReachedMalloc);
  ts_arena* const arena = arena_for(size, caller);
  return counted(arena != NULL ? FROM_ARENAS(ts_malloc(arena, size)) : NEXT(malloc)(size));
}

// What is called most goes on by one jump, without a look whether it is known where to.
static void* first_malloc(size_t size);
static void first_free(void* block);
static _Atomic(void* (*)(size_t)) next_malloc = first_malloc;
static _Atomic(void (*)(void*)) next_free = first_free;

static SLOW void* first_malloc(size_t size) {
  atomic_store(&next_malloc, NEXT(malloc));
  return atomic_load(&next_malloc)(size);
}

static SLOW void first_free(void* block) {
  atomic_store(&next_free, NEXT(free));
  atomic_load (&next_free)(block);
}

EXPORTED void* malloc(size_t size) {
  if (LIKELY(!needs_choice(size))) {
    return atomic_load_explicit(&next_malloc, memory_order_relaxed)(size);
  }
  return malloc_by_choice(size, CALLER);
}

static SLOW void free_slowly(void* block) {
  note(kReachedFree);
  if (block == NULL) return;
  const ts_arena* const arena = arena_of(block);
  count_back(arena, block);
  if (arena == NULL) {
    NEXT(free)(block);
    return;
  }
  ++inside;
  ts_free(block);
  --inside;
}

EXPORTED void free(void* block) {
  const bool plain = !atomic_load_explicit(&watched, memory_order_relaxed) && !in_arena(block);
  if (LIKELY(plain)) {
    atomic_load_explicit(&next_free, memory_order_relaxed)(block);
  } else {
    free_slowly(block);
  }
}

EXPORTED void* calloc(size_t count, size_t size) {
  if (looking_up) return NULL;
  size_t bytes = 0;
  ts_arena* const arena =
      __builtin_mul_overflow(count, size, &bytes) ? NULL : arena_for(bytes, CALLER);
  return counted(arena != NULL ? FROM_ARENAS(ts_calloc(arena, count, size))
                               : NEXT(calloc)(count, size));
}

// Moves a block of an arena to plain memory, where that has room.
static void* to_plain(void* old, size_t size) {
  void* const fresh = NEXT(malloc)(size);
  if (fresh == NULL) return FROM_ARENAS(ts_realloc(NULL, old, size));
  const size_t before = ts_usable_size(old);
  memcpy(fresh, old, before < size ? before : size);
  ++inside;
  ts_free(old);
  --inside;
  return fresh;
}

static void* resized(void* old, size_t size, const void* caller) {
  ts_arena* const from = arena_of(old);
  if (!active()) {
    return from != NULL ? FROM_ARENAS(ts_realloc(NULL, old, size)) : NEXT(realloc)(old, size);
  }
  const size_t before = counts_bytes() ? usable_size(from, old) : 0;
  const struct choice chosen = FROM_ARENAS(choose(size, caller));
  ts_arena* const to = size == 0 || chosen.may_stay ? from : chosen.arena;
  void* fresh = NULL;
  if (to != NULL) {
    fresh = FROM_ARENAS(ts_realloc(to, old, size));
  } else {
    fresh = from != NULL ? to_plain(old, size) : NEXT(realloc)(old, size);
  }
  if (counts_bytes() && (fresh != NULL || size == 0)) {
    count_bytes(from, -(ptrdiff_t)before);
    counted(fresh);
  }
  return fresh;
}

EXPORTED void* realloc(void* old, size_t size) {
  note(kReachedRealloc);
  if (old != NULL) return resized(old, size, CALLER);
  ts_arena* const arena = arena_for(size, CALLER);
  return counted(arena != NULL ? FROM_ARENAS(ts_malloc(arena, size)) : NEXT(realloc)(NULL, size));
}

EXPORTED void* reallocarray(void* old, size_t count, size_t size) {
  size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return NULL;
  }
  if (old != NULL) return resized(old, bytes, CALLER);
  ts_arena* const arena = arena_for(bytes, CALLER);
  return counted(arena != NULL ? FROM_ARENAS(ts_malloc(arena, bytes)) : NEXT(malloc)(bytes));
}

// NULL also where the C library has its own answer to such an alignment.
static ts_arena* arena_for_aligned(size_t alignment, size_t size, const void* caller) {
  return is_power_of_two(alignment) ? arena_for(size, caller) : NULL;
}

EXPORTED void* memalign(size_t alignment, size_t size) {
  ts_arena* const arena = arena_for_aligned(alignment, size, CALLER);
  return counted(arena != NULL ? FROM_ARENAS(ts_aligned_alloc(arena, alignment, size))
                               : NEXT(memalign)(alignment, size));
}

EXPORTED void* aligned_alloc(size_t alignment, size_t size) {
  ts_arena* const arena = arena_for_aligned(alignment, size, CALLER);
  return counted(arena != NULL ? FROM_ARENAS(ts_aligned_alloc(arena, alignment, size))
                               : NEXT(aligned_alloc)(alignment, size));
}

EXPORTED int posix_memalign(void** block, size_t alignment, size_t size) {
  const bool valid = alignment % sizeof(void*) == 0;
  ts_arena* const arena = valid ? arena_for_aligned(alignment, size, CALLER) : NULL;
  const int error = arena != NULL ? FROM_ARENAS(ts_posix_memalign(arena, block, alignment, size))
                                  : NEXT(posix_memalign)(block, alignment, size);
  if (error == 0) counted(*block);
  return error;
}

EXPORTED void* valloc(size_t size) {
  ts_arena* const arena = arena_for(size, CALLER);
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return counted(arena != NULL ? FROM_ARENAS(ts_aligned_alloc(arena, page, size))
                               : NEXT(valloc)(size));
}

EXPORTED void* pvalloc(size_t size) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  size_t whole = 0;
  const bool fits = !__builtin_add_overflow(size, page - 1, &whole);
  ts_arena* const arena = fits ? arena_for(size, CALLER) : NULL;
  return counted(arena != NULL ? FROM_ARENAS(ts_aligned_alloc(arena, page, whole / page * page))
                               : NEXT(pvalloc)(size));
}

EXPORTED size_t malloc_usable_size(void* block) {
  return block == NULL ? 0 : usable_size(arena_of(block), block);
}

EXPORTED int pthread_setname_np(pthread_t thread, const char* name) {
  const int error = NEXT(pthread_setname_np)(thread, name);
  forget_thread_names();
  return error;
}

EXPORTED int prctl(int option, ...) {
  unsigned long values[4];
  va_list rest;
  va_start(rest, option);
  for (int i = 0; i < 4; ++i) values[i] = va_arg(rest, unsigned long);
  va_end(rest);
  const int result = NEXT(prctl)(option, values[0], values[1], values[2], values[3]);
  if (option == PR_SET_NAME) forget_thread_names();
  return result;
}

EXPORTED int dlclose(void* handle) {
  const int error = NEXT(dlclose)(handle);
  forget_addresses();
  return error;
}

// Whether the program's calls of malloc and free come here. Called by the public names, through
// pointers that the compiler knows nothing of.
static bool reaches_us(void) {
  void* (*volatile get)(size_t) = malloc;
  void* (*volatile resize)(void*, size_t) = realloc;
  void (*volatile give)(void*) = free;
  atomic_store(&probing, true);
  atomic_store(&watched, true);
  atomic_store(&chosen_from, 0);
  give(resize(get(1), 2));
  atomic_store(&chosen_from, SIZE_MAX);
  atomic_store(&watched, false);
  atomic_store(&probing, false);
  return atomic_load(&reached) == (kReachedMalloc | kReachedRealloc | kReachedFree);
}

// Whether the sizes of plain blocks come from the allocator that they are of.
static bool knows_sizes(void) {
  Dl_info blocks;
  Dl_info sizes;
  return dladdr((void*)NEXT(malloc), &blocks) != 0 &&
         dladdr((void*)NEXT(malloc_usable_size), &sizes) != 0 &&
         blocks.dli_fbase == sizes.dli_fbase;
}

static void begin_blocks(void) {
  if (!chooses_blocks()) return;
  if (!reaches_us()) {
    complain(
        "the program has a malloc of its own, before which no library can be preloaded: its blocks "
        "are plain (rules that begin with map apply)");
  } else if (!knows_sizes()) {
    complain("the program's allocator has no malloc_usable_size: its blocks are plain");
  } else {
    atomic_store(&watched, counts_bytes());
    atomic_store(&choosing_blocks, true);
    atomic_store(&chosen_from, least_chosen());
  }
}

__attribute__((constructor)) static void begin(void) {
  const int error = errno;
  ++inside;
  const bool ready = read_settings();
  --inside;
  if (ready) {
    begin_blocks();
    begin_mappings();
  }
  errno = error;
}

__attribute__((destructor)) static void end(void) {
  ++inside;
  print_report();
  --inside;
}
