// Arenas in persistent memory: a file without a name on a file system, mapped over the arena's
// slot. On fsdax the pages are the memory module's own. Blocks of the file are allocated before
// jemalloc gets their addresses, since a write to a mapped file ends the program (SIGBUS) when the
// file system is full.
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core.h"

static const char kWord[] = "pmem:";

bool is_pmem(const char* nodes) {
  return nodes != NULL && strncmp(nodes, kWord, sizeof kWord - 1) == 0;
}

static int open_unnamed(const char* folder) {
  const int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return file;
  char path[4096];
  const int length = snprintf(path, sizeof path, "%s/tierscope-XXXXXX", folder);
  if (length < 0 || (size_t)length >= sizeof path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  const int named = mkostemp(path, O_CLOEXEC);
  if (named >= 0) unlink(path);
  return named;
}

static int change(int file, int mode, off_t start, size_t bytes) {
  int result = 0;
  do {
    result = fallocate(file, mode, start, (off_t)bytes);
  } while (result != 0 && errno == EINTR);
  return result != 0 ? errno : 0;
}

static int punch(int file, off_t start, size_t bytes) {
  return change(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, start, bytes);
}

int pmem_open(const char* nodes, int* file) {
  const char* const folder = nodes + sizeof kWord - 1;
  if (*folder == '\0') return EINVAL;
  const int opened = open_unnamed(folder);
  if (opened < 0) return errno;
  *file = opened;
  return 0;
}

// What the library needs of the file system, tried on the first page.
int pmem_prepare(const ts_arena* arena) {
  const size_t bytes = arena->end - arena->start;
  struct rlimit limit;
  // Beyond it, the kernel would end the program (SIGXFSZ).
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes) return EFBIG;
  if (ftruncate(arena->file, (off_t)bytes) != 0) return errno;
  int error = change(arena->file, 0, 0, page_bytes());
  if (error == 0) error = punch(arena->file, 0, page_bytes());
  return error == EOPNOTSUPP ? ENOTSUP : error;
}

static off_t offset_of(const ts_arena* arena, uintptr_t start) {
  return (off_t)(start - arena->start);
}

int pmem_map(const ts_arena* arena, uintptr_t start, size_t bytes, int protection) {
  if (bytes == 0) return 0;
  // Without MAP_SYNC: nothing in the file outlives the program, and MAP_SYNC has the file system
  // write its journal when a page is first written to.
  const int flags = MAP_SHARED | (slots.reserved ? MAP_FIXED : MAP_FIXED_NOREPLACE);
  const off_t offset = offset_of(arena, start);
  void* const mapped = mmap((void*)start, bytes, protection, flags, arena->file, offset);
  if (mapped == MAP_FAILED) return errno;
  if (mapped != (void*)start) {  // Before Linux 4.17.
    munmap(mapped, bytes);
    return EEXIST;
  }
  // A child would write to the same pages.
  return madvise(mapped, bytes, MADV_DONTFORK) == 0 ? 0 : errno;
}

bool pmem_commit(const ts_arena* arena, uintptr_t start, size_t bytes) {
  return change(arena->file, 0, offset_of(arena, start), bytes) == 0;
}

bool pmem_decommit(const ts_arena* arena, uintptr_t start, size_t bytes) {
  return punch(arena->file, offset_of(arena, start), bytes) == 0;
}

void pmem_lose(ts_arena* arena) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  const size_t bytes = open_end(arena) - arena->start;
  if (bytes != 0 && mmap((void*)arena->start, bytes, PROT_NONE, flags, -1, 0) == MAP_FAILED) {
    munmap((void*)arena->start, bytes);  // Not the parent's blocks, whatever else.
  }
  close(arena->file);
  arena->file = -1;
  atomic_store(&arena->lost, true);
  self->caches[arena->index] = NULL;
}
