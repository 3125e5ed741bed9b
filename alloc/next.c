// What the arenas' own code gets from below, not from the functions of preload.c: plain.c's
// functions, and those of mmap, mremap and munmap, which the linker has it call (--wrap) so that
// rules for mappings do not apply to the arenas' own memory.
#include "next.h"

#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "core.h"

void* plain_malloc(size_t size) { return NEXT(malloc)(size); }

void* plain_calloc(size_t count, size_t size) { return NEXT(calloc)(count, size); }

void* plain_realloc(void* block, size_t size) { return NEXT(realloc)(block, size); }

int plain_memalign(void** block, size_t alignment, size_t size) {
  return NEXT(posix_memalign)(block, alignment, size);
}

void plain_free(void* block) { NEXT(free)(block); }

size_t plain_usable_size(const void* block) { return NEXT(malloc_usable_size)((void*)block); }

// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming)
void* __wrap_mmap(void* start, size_t size, int prot, int flags, int fd, off_t offset);
void* __wrap_mremap(void* old, size_t old_size, size_t size, int flags, void* target);
int __wrap_munmap(void* start, size_t size);

void* __wrap_mmap(void* start, size_t size, int prot, int flags, int fd, off_t offset) {
  return NEXT(mmap)(start, size, prot, flags, fd, offset);
}

void* __wrap_mremap(void* old, size_t old_size, size_t size, int flags, void* target) {
  return NEXT(mremap)(old, old_size, size, flags, target);
}

int __wrap_munmap(void* start, size_t size) { return NEXT(munmap)(start, size); }
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)
