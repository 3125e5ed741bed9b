// Mappings of the program that the library is preloaded into, by rules: private anonymous memory
// that it may write. See preload.c.
//
// An allocator of the program's own calls mmap under its locks, and its fork handlers take these.
// The arenas' fork handlers take the lock of ts_mmap. So that the two never wait for each other,
// threads do not call ts_mmap while another one is in fork (`forking`).
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "choose.h"
#include "core.h"
#include "next.h"
#include "preload.h"

static atomic_bool placing;
static atomic_bool forking;
static atomic_int callers;

// Whether the arenas may be asked about a mapping; ends with leave(). False: the next library is.
static bool enter(void) {
  if (inside != 0 || !atomic_load_explicit(&placing, memory_order_relaxed)) return false;
  atomic_fetch_add(&callers, 1);
  if (!atomic_load(&forking)) return true;
  atomic_fetch_sub(&callers, 1);
  return false;
}

static void leave(void) { atomic_fetch_sub(&callers, 1); }

static void before_fork(void) {
  atomic_store(&forking, true);
  while (atomic_load(&callers) > 0) sched_yield();
}

static void after_fork(void) { atomic_store(&forking, false); }

// Later than the arenas' own handlers, so that this one runs before them.
void begin_mappings(void) {
  if (!chooses_mappings()) return;
  pthread_atfork(before_fork, after_fork, after_fork);
  atomic_store(&placing, true);
}

static ts_arena* arena_for(size_t size, int prot, int flags) {
  const int kind = MAP_ANONYMOUS | MAP_PRIVATE;
  const int not = MAP_SHARED | MAP_STACK | MAP_GROWSDOWN;
  // What is only reserved takes no memory; it is looked at when it is mapped again to be used.
  const bool wanted = (flags & kind) == kind && (flags & not) == 0 && (prot & PROT_WRITE) != 0;
  return wanted ? choose_for_mapping(size) : NULL;
}

EXPORTED void* mmap(void* start, size_t size, int prot, int flags, int fd, off_t offset) {
  if (!enter()) return NEXT(mmap)(start, size, prot, flags, fd, offset);
  ts_arena* const arena = arena_for(size, prot, flags);
  // In place of what an arena may have there, which it has to forget.
  const bool known = arena != NULL || (flags & MAP_FIXED) != 0;
  void* const result = known ? FROM_ARENAS(ts_mmap(arena, start, size, prot, flags, fd, offset))
                             : NEXT(mmap)(start, size, prot, flags, fd, offset);
  leave();
  return result;
}

EXPORTED void* mmap64(void* start, size_t size, int prot, int flags, int fd, off64_t offset)
    __attribute__((alias("mmap")));

EXPORTED int munmap(void* start, size_t size) {
  if (!enter()) return NEXT(munmap)(start, size);
  const int result = FROM_ARENAS(ts_munmap(start, size));
  leave();
  return result;
}

EXPORTED void* mremap(void* old, size_t old_size, size_t size, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const bool has_target = (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) != 0;
  void* const target = has_target ? va_arg(rest, void*) : NULL;
  va_end(rest);
  if (!enter()) return NEXT(mremap)(old, old_size, size, flags, target);
  // With MREMAP_DONTUNMAP the old range stays, and the arena's.
  ts_arena* const arena = (flags & MREMAP_DONTUNMAP) != 0 ? NULL : ts_arena_of(old);
  void* const result = arena != NULL ? FROM_ARENAS(remap(arena, old, old_size, size, flags, target))
                                     : NEXT(mremap)(old, old_size, size, flags, target);
  leave();
  return result;
}
