// Counters of arenas, and where their pages lie.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core.h"

ts_arena* ts_arena_of(const void* pointer) {
  const size_t slot = slot_of(pointer);
  return slot < kMaxArenas ? &arena_table[slot] : mapping_arena(pointer);
}

static void keep_node(void* context, uintptr_t page, int node) {
  (void)page;
  *(int*)context = node;
}

int ts_tier_of(const void* pointer) {
  const int before = errno;
  const uintptr_t page = (uintptr_t)pointer & ~(page_bytes() - 1);
  int node = -ENOENT;
  const int error = visit_pages(page, page + 1, keep_node, &node);
  // Of a page that nothing touched, some kernels (6.1) say that it is not mapped.
  unsigned char unused;
  if (node == -EFAULT && mincore((void*)page, 1, &unused) == 0) node = -ENOENT;
  errno = error != 0 ? error : node < 0 ? -node : before;
  return error != 0 || node < 0 ? -1 : node;
}

// The sum over an arena's heaps.
static size_t read_counter(const ts_arena* arena, const char* what) {
  size_t sum = 0;
  for (unsigned i = 0; i < atomic_load(&arena->heap_count); ++i) {
    char name[64];
    size_t value = 0;
    size_t size = sizeof value;
    snprintf(name, sizeof name, "stats.arenas.%u.%s", arena->heaps[i].number, what);
    je_mallctl(name, &value, &size, NULL, 0);
    sum += value;
  }
  return sum;
}

static void read_statistics(const ts_arena* arena, struct ts_statistics* result) {
  uint64_t epoch = 1;
  je_mallctl("epoch", NULL, NULL, &epoch, sizeof epoch);
  result->capacity = arena->capacity != SIZE_MAX ? arena->capacity : 0;
  result->committed = atomic_load(&arena->committed);
  result->mapped = atomic_load(&arena->mapped);
  result->allocated =
      read_counter(arena, "small.allocated") + read_counter(arena, "large.allocated");
  const struct spilled spilled = all_spilled(arena);
  result->spilled = spilled.bytes;
  result->spilled_count = spilled.count;
  result->failed_count = atomic_load(&arena->failed_count);
  result->reclaimed = atomic_load(&arena->reclaimed);
}

int ts_arena_statistics(ts_arena* arena, struct ts_statistics* result) {
  if (!is_arena(arena)) {
    errno = EINVAL;
    return -1;
  }
  const int before = errno;
  pthread_mutex_lock(&table_lock);
  read_statistics(arena, result);
  pthread_mutex_unlock(&table_lock);
  errno = before;
  return 0;
}

struct counting {
  size_t* bytes;
  size_t nodes;
  bool others;
};

static void count_page(void* context, uintptr_t page, int node) {
  (void)page;
  struct counting* const counting = context;
  if (node < 0) return;
  if ((size_t)node < counting->nodes) {
    counting->bytes[node] += page_bytes();
  } else {
    counting->others = true;
  }
}

static int count_range(void* context, uintptr_t start, uintptr_t end) {
  return visit_pages(start, end, count_page, context);
}

int ts_arena_pages(ts_arena* arena, size_t* bytes_per_node, size_t nodes) {
  if (!is_arena(arena)) {
    errno = EINVAL;
    return -1;
  }
  const int before = errno;
  struct counting counting = {bytes_per_node, nodes, false};
  memset(bytes_per_node, 0, nodes * sizeof *bytes_per_node);
  pthread_mutex_lock(&table_lock);
  int error = count_range(&counting, arena->start, atomic_load(&arena->top));
  if (error == 0) error = visit_mappings(arena, count_range, &counting);
  pthread_mutex_unlock(&table_lock);
  if (error == 0 && counting.others) error = ERANGE;
  errno = error != 0 ? error : before;
  return error != 0 ? -1 : 0;
}
