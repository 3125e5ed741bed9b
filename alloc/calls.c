// The calls by which a program gets memory: each does what the C library does, and has the result
// placed. See place.c.
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "next.h"
#include "place.h"

// glibc's own: names of its malloc and of the break that no other library replaces.
// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming)
extern void* __libc_malloc(size_t size) __attribute__((weak));
extern void* __curbrk __attribute__((weak));
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)

enum {
  kArenas = 4096,        // A power of two; further arenas are not placed.
  kArenaStep = 1 << 18,  // Bytes of an arena that are placed at once.
  kIsMapped = 2,         // Bits in the size of glibc's chunks (malloc.c, "chunk").
  kIsOfArena = 4,
  kSizeBits = 7,
  kMappedFrom = 128 << 10,     // Bytes of blocks that glibc maps, at first; and at most, for ever.
  kMappedFromMost = 32 << 20,  // DEFAULT_MMAP_THRESHOLD_MAX
  kKept = 32 << 20,            // Bytes at the heap's end that stay with the program.
};
static const uintptr_t kArenaBytes = UINT64_C(1) << 26;  // HEAP_MAX_SIZE on 64-bit machines.

static struct {
  atomic_uintptr_t start;  // 0: free.
  atomic_uintptr_t placed;
} arena_table[kArenas];

static atomic_uintptr_t placed_break;

static uintptr_t current_break(void) {
  if (&__curbrk != NULL && __curbrk != NULL) return (uintptr_t)__curbrk;
  return (uintptr_t)NEXT(sbrk)(0);
}

static bool of_glibc;  // The program's malloc; others map memory by calls that are seen below.

// What glibc gives back at the heap's end loses its place, which costs many system calls each time
// that the heap grows there again. So it keeps more. That is a fixed limit, with which glibc no
// longer raises the size from which it maps blocks when such a block is freed: `free` does, below.
static atomic_int mapped_from;  // 0: glibc is left as it is.

static void keep_heap(void) {
  const char* const tunables = getenv("GLIBC_TUNABLES");
  const bool set_already = (tunables != NULL && strstr(tunables, "glibc.malloc.") != NULL) ||
                           getenv("MALLOC_TRIM_THRESHOLD_") != NULL ||
                           getenv("MALLOC_MMAP_THRESHOLD_") != NULL ||
                           getenv("MALLOC_MMAP_MAX_") != NULL || getenv("MALLOC_TOP_PAD_") != NULL;
  if (set_already || !of_glibc) return;
  const bool kept = NEXT(mallopt)(M_TRIM_THRESHOLD, kKept) != 0;
  if (kept) atomic_store(&mapped_from, kMappedFrom);
}

// As glibc does by itself: blocks up to the size of one that was freed come from the heap.
static void raise_mapped_from(size_t size) {
  int from = atomic_load(&mapped_from);
  while (from != 0 && size > (size_t)from && size <= kMappedFromMost) {
    if (!atomic_compare_exchange_weak(&mapped_from, &from, (int)size)) continue;
    NEXT(mallopt)(M_MMAP_THRESHOLD, (int)size);
    if (2 * size > kKept) NEXT(mallopt)(M_TRIM_THRESHOLD, (int)(2 * size));
    return;
  }
}

void begin_break(void) {
  atomic_store(&placed_break, current_break());
  of_glibc = &__libc_malloc != NULL && NEXT(malloc) == &__libc_malloc;
  keep_heap();
}

// Places what the break has grown by since it was looked at last.
static void look_at_break(void) {
  const uintptr_t now = current_break();
  uintptr_t placed = atomic_load_explicit(&placed_break, memory_order_relaxed);
  if (now == placed || !atomic_compare_exchange_strong(&placed_break, &placed, now)) return;
  if (now > placed) place_range(placed, now - placed, 0);
}

// Places an arena of glibc's as far as chunks have come from it. The whole of it, 64 MiB, is
// reserved; most threads use little.
static void look_at_arena(uintptr_t end) {
  const uintptr_t start = (end - 1) / kArenaBytes * kArenaBytes;
  size_t slot = (size_t)(start / kArenaBytes);
  for (size_t tried = 0; tried < kArenas; ++tried, ++slot) {
    uintptr_t owner =
        atomic_load_explicit(&arena_table[slot % kArenas].start, memory_order_relaxed);
    if (owner == 0 &&
        atomic_compare_exchange_strong(&arena_table[slot % kArenas].start, &owner, start)) {
      owner = start;
    }
    if (owner == start) break;
    if (tried + 1 == kArenas) return;
  }
  atomic_uintptr_t* const mark = &arena_table[slot % kArenas].placed;
  uintptr_t placed = atomic_load_explicit(mark, memory_order_relaxed);
  if (end <= placed) return;
  uintptr_t stop = (end + kArenaStep - 1) / kArenaStep * kArenaStep;
  if (atomic_compare_exchange_strong(mark, &placed, stop)) {
    place_range(placed > start ? placed : start, stop - (placed > start ? placed : start), 0);
  }
}

// Has what malloc got from the kernel for this chunk placed.
static void* look_at_chunk(void* chunk) {
  if (chunk == NULL || !placing()) return chunk;
  look_at_break();
  if (!of_glibc) return chunk;
  const size_t field = ((const size_t*)chunk)[-1];
  const size_t size = field & ~(size_t)kSizeBits;
  const uintptr_t start = (uintptr_t)chunk - 2 * sizeof(size_t);
  if ((field & kIsMapped) != 0) {
    const size_t before = ((const size_t*)chunk)[-2];
    place_range(start - before, before + size, 0);
  } else if ((field & kIsOfArena) != 0) {
    look_at_arena(start + size);
  }
  return chunk;
}

EXPORTED void* malloc(size_t size) { return look_at_chunk(NEXT(malloc)(size)); }

EXPORTED void* calloc(size_t count, size_t size) {
  if (looking_up) return NULL;
  return look_at_chunk(NEXT(calloc)(count, size));
}

EXPORTED void free(void* chunk) {
  const bool raises = atomic_load_explicit(&mapped_from, memory_order_relaxed) != 0;
  const size_t field = raises && chunk != NULL ? ((const size_t*)chunk)[-1] : 0;
  if ((field & kIsMapped) == 0) {
    NEXT(free)(chunk);
    return;
  }
  NEXT(free)(chunk);
  raise_mapped_from(field & ~(size_t)kSizeBits);
}

EXPORTED void* realloc(void* old, size_t size) { return look_at_chunk(NEXT(realloc)(old, size)); }

EXPORTED void* reallocarray(void* old, size_t count, size_t size) {
  return look_at_chunk(NEXT(reallocarray)(old, count, size));
}

EXPORTED void* memalign(size_t alignment, size_t size) {
  return look_at_chunk(NEXT(memalign)(alignment, size));
}

EXPORTED void* aligned_alloc(size_t alignment, size_t size) {
  return look_at_chunk(NEXT(aligned_alloc)(alignment, size));
}

EXPORTED int posix_memalign(void** chunk, size_t alignment, size_t size) {
  const int error = NEXT(posix_memalign)(chunk, alignment, size);
  if (error == 0) look_at_chunk(*chunk);
  return error;
}

EXPORTED void* valloc(size_t size) { return look_at_chunk(NEXT(valloc)(size)); }

EXPORTED void* pvalloc(size_t size) { return look_at_chunk(NEXT(pvalloc)(size)); }

EXPORTED int brk(void* end) {
  const int result = NEXT(brk)(end);
  if (placing()) look_at_break();
  return result;
}

EXPORTED void* sbrk(intptr_t bytes) {
  void* const before = NEXT(sbrk)(bytes);
  if (placing() && bytes != 0) look_at_break();
  return before;
}

// Pages of a mapping: a unit cannot be smaller than those of MAP_HUGETLB.
static size_t hugetlb_bytes(int flags) {
  if ((flags & MAP_HUGETLB) == 0) return 0;
  const int log2 = (flags >> MAP_HUGE_SHIFT) & MAP_HUGE_MASK;
  return (size_t)1 << (log2 != 0 ? log2 : 21);
}

static void* look_at_mapping(void* start, size_t size, int prot, int flags) {
  const bool wanted = (flags & MAP_ANONYMOUS) != 0 && (flags & (MAP_STACK | MAP_GROWSDOWN)) == 0;
  if (start == MAP_FAILED || !placing() || !wanted) return start;
  if ((prot & PROT_WRITE) != 0) {
    place_range((uintptr_t)start, size, hugetlb_bytes(flags));
  } else {
    mark_range((uintptr_t)start, size);
  }
  return start;
}

EXPORTED void* mmap(void* start, size_t size, int prot, int flags, int fd, off_t offset) {
  return look_at_mapping(NEXT(mmap)(start, size, prot, flags, fd, offset), size, prot, flags);
}

EXPORTED void* mmap64(void* start, size_t size, int prot, int flags, int fd, off64_t offset) {
  return look_at_mapping(NEXT(mmap64)(start, size, prot, flags, fd, offset), size, prot, flags);
}

// Memory that was reserved becomes usable.
EXPORTED int mprotect(void* start, size_t size, int prot) {
  const int result = NEXT(mprotect)(start, size, prot);
  if (result == 0 && placing() && (prot & PROT_WRITE) != 0 && is_ours((uintptr_t)start)) {
    place_range((uintptr_t)start, size, 0);
  }
  return result;
}

// The kernel resizes within one mapping only; a range of several pieces is copied instead.
static void* resized_by_copy(void* old, size_t old_size, size_t size, int flags) {
  if (size <= old_size) {
    return munmap((char*)old + size, old_size - size) == 0 ? old : MAP_FAILED;
  }
  if ((flags & MREMAP_MAYMOVE) == 0) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  void* const fresh = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (fresh == MAP_FAILED) return MAP_FAILED;
  memcpy(fresh, old, old_size);
  munmap(old, old_size);
  return fresh;
}

EXPORTED void* mremap(void* old, size_t old_size, size_t size, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  void* const target =
      (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) != 0 ? va_arg(rest, void*) : NULL;
  va_end(rest);
  const bool ours = placing() && old_size != 0 && is_ours((uintptr_t)old);
  void* const result = NEXT(mremap)(old, old_size, size, flags, target);
  if (!ours) return result;
  if (result != MAP_FAILED) {
    if (size > old_size) place_range((uintptr_t)result, size, 0);
    return result;
  }
  const bool in_pieces = errno == EFAULT || errno == EINVAL;
  if (!in_pieces || (flags & ~MREMAP_MAYMOVE) != 0) return MAP_FAILED;
  return resized_by_copy(old, old_size, size, flags);
}
