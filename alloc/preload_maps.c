// Mappings of the program that the library is preloaded into, by rules: private anonymous memory
// that it may write. See preload.c.
//
// An allocator of the program's own calls mmap under its locks, and its fork handlers take these.
// The arenas' fork handlers take the lock of ts_mmap. So that the two never wait for each other,
// threads do not call ts_mmap while another one is in fork (`forking`); the ranges that they unmap
// or replace meanwhile are noted without a lock (`missed`), and forgotten before anything else is
// asked.
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

enum { kMissed = 512 };  // Ranges during one fork; further ones are not noted.
static struct {
  atomic_uintptr_t start;  // 0: free.
  atomic_size_t last;      // The entry of that time.
  atomic_size_t size;      // 0: not written yet.
} missed[kMissed];
static atomic_int missed_count;
static pthread_mutex_t missed_lock = PTHREAD_MUTEX_INITIALIZER;  // Of the callers who forget them.

static void forget_missed(void) {
  pthread_mutex_lock(&missed_lock);
  for (size_t i = 0; i < kMissed && atomic_load(&missed_count) != 0; ++i) {
    const size_t size = atomic_load(&missed[i].size);
    if (size == 0) continue;
    ++inside;
    forget_mappings((void*)atomic_load(&missed[i].start), size, atomic_load(&missed[i].last));
    --inside;
    atomic_store(&missed[i].size, 0);
    atomic_store(&missed[i].start, 0);
    atomic_fetch_sub(&missed_count, 1);
  }
  pthread_mutex_unlock(&missed_lock);
}

// Before a range is unmapped without asking the arenas.
static void miss(void* start, size_t size) {
  if (inside != 0 || size == 0 || !atomic_load_explicit(&placing, memory_order_relaxed)) return;
  const size_t last = last_mapping();
  atomic_fetch_add(&missed_count, 1);
  for (size_t i = 0; i < kMissed; ++i) {
    uintptr_t unused = 0;
    // A range that is mapped and unmapped again, which is not noted then, is one.
    if (atomic_load(&missed[i].size) == size && atomic_load(&missed[i].last) == last &&
        atomic_load(&missed[i].start) == (uintptr_t)start) {
      break;
    }
    if (!atomic_compare_exchange_strong(&missed[i].start, &unused, (uintptr_t)start)) continue;
    atomic_store(&missed[i].last, last);
    atomic_store(&missed[i].size, size);
    return;
  }
  atomic_fetch_sub(&missed_count, 1);
}

// Whether the arenas may be asked about a mapping; ends with leave(). False: the next library is.
static bool enter(void) {
  if (inside != 0 || !atomic_load_explicit(&placing, memory_order_relaxed)) return false;
  atomic_fetch_add(&callers, 1);
  if (!atomic_load(&forking)) {
    if (atomic_load(&missed_count) != 0) forget_missed();
    return true;
  }
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
  if (!enter()) {
    if ((flags & MAP_FIXED) != 0) miss(start, size);
    return NEXT(mmap)(start, size, prot, flags, fd, offset);
  }
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
  if (!enter()) {
    miss(start, size);
    return NEXT(munmap)(start, size);
  }
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
  if (!enter()) {
    if ((flags & MREMAP_DONTUNMAP) == 0) miss(old, old_size);
    if ((flags & MREMAP_FIXED) != 0) miss(target, size);
    return NEXT(mremap)(old, old_size, size, flags, target);
  }
  // With MREMAP_DONTUNMAP the old range stays, and the arena's.
  ts_arena* const arena = (flags & MREMAP_DONTUNMAP) != 0 ? NULL : ts_arena_of(old);
  void* const result = arena != NULL ? FROM_ARENAS(remap(arena, old, old_size, size, flags, target))
                                     : FROM_ARENAS(remap_plain(old, old_size, size, flags, target));
  leave();
  return result;
}
