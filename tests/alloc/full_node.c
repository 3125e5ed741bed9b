// A program on a node that is full, or becomes so.
//
//   full_node fill NODES MIB          allocates from an arena, which spills, and touches MIB or
//   what
//                                     there is; then as many blocks come and go as `kReplaced`
//   full_node late NODES MIB          allocates MIB, waits for a line, and touches them then
//   full_node hold NODE               takes what a node has free, by the kernel's calls alone, and
//                                     waits until stdin is closed
//
// Prints a line "ready" before it waits, and at the end a line of numbers:
//   usable    bytes of its blocks that it may use
//   resident  bytes of the process
//   spilled   calls that were served from plain memory
//   grown     bytes by which the process grew while blocks came and went
//   elsewhere bytes of the arena that lie on other nodes than those that it names
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tierscope_alloc.h"

enum { kMostBlocks = 1 << 16, kReplaced = 4000, kNodes = 64, kPreferred = 1 };
static const size_t kMiB = 1 << 20;
static const size_t kPage = 4096;

static void* blocks[kMostBlocks];
static size_t block_sizes[kMostBlocks];
static size_t count;

static void fail(const char* what) {
  perror(what);
  exit(1);
}

static size_t resident(void) {
  size_t all = 0;
  size_t pages = 0;
  FILE* const file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%zu %zu", &all, &pages) != 2) fail("/proc/self/statm");
  fclose(file);
  return pages * kPage;
}

static void touch(char* block, size_t size) {
  for (size_t at = 0; at < size; at += kPage) block[at] = 1;
  if (size != 0) block[size - 1] = 1;
}

// From 1 KiB to 1 MiB, all magnitudes alike.
static size_t size_of(size_t number) { return (size_t)1024 << number % 11; }

static void wait_for_line(void) {
  puts("ready");
  fflush(stdout);
  while (getchar() > '\n') {
  }
}

static size_t allocate(ts_arena* arena, size_t wanted, int touched) {
  size_t usable = 0;
  while (usable < wanted && count < kMostBlocks) {
    const size_t size = size_of(count);
    void* const block = ts_malloc(arena, size);
    if (block == NULL) break;
    if (touched) touch(block, size);
    block_sizes[count] = size;
    blocks[count++] = block;
    usable += ts_usable_size(block);
  }
  return usable;
}

static size_t replace(ts_arena* arena) {
  const size_t before = resident();
  for (size_t i = 0; i < kReplaced; ++i) {
    char* const block = ts_malloc(arena, size_of(i));
    if (block == NULL) fail("ts_malloc");
    touch(block, size_of(i));
    ts_free(block);
  }
  const size_t after = resident();
  return after > before ? after - before : 0;
}

// Bytes of the arena on nodes that are no number in `nodes`; weights are not asked for.
static size_t elsewhere(ts_arena* arena, const char* nodes) {
  size_t bytes[kNodes];
  if (ts_arena_pages(arena, bytes, kNodes) != 0) fail("ts_arena_pages");
  const char* at = strchr(nodes, ':');
  for (at = at != NULL ? at + 1 : nodes; at != NULL && *at != '\0';) {
    bytes[strtoul(at, NULL, 10)] = 0;
    at = strchr(at, ',');
    if (at != NULL) ++at;
  }
  size_t sum = 0;
  for (int node = 0; node < kNodes; ++node) sum += bytes[node];
  return sum;
}

static void use(const char* nodes, size_t wanted, int late) {
  ts_arena* const arena = ts_arena_create("full", nodes, 0, TS_SPILL);
  if (arena == NULL) fail(nodes);
  const size_t usable = allocate(arena, wanted, !late);
  if (late) {
    wait_for_line();
    for (size_t i = 0; i < count; ++i) touch(blocks[i], block_sizes[i]);
  }
  const size_t all = resident();
  const size_t grown = late ? 0 : replace(arena);
  struct ts_statistics statistics;
  if (ts_arena_statistics(arena, &statistics) != 0) fail("ts_arena_statistics");
  printf("%zu %zu %zu %zu %zu\n", usable, all, statistics.spilled_count, grown,
         elsewhere(arena, nodes));
}

static int is_on(char* page, int node) {
  void* address = page;
  int found = -1;
  return syscall(SYS_move_pages, 0, 1UL, &address, NULL, &found, 0) == 0 && found == node;
}

static void hold(int node) {
  const size_t most = (size_t)4 << 30;
  const unsigned long mask = 1UL << node;
  char* const range =
      mmap(NULL, most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) fail("mmap");
  if (syscall(SYS_mbind, range, most, kPreferred, &mask, 64UL, 0) != 0) fail("mbind");
  madvise(range, most, MADV_NOHUGEPAGE);
  for (size_t at = 0; at < most; at += kPage) {
    range[at] = 1;
    if (!is_on(range + at, node)) break;
  }
  wait_for_line();
}

int main(int words, char** word) {
  if (words == 3 && strcmp(word[1], "hold") == 0) {
    hold(atoi(word[2]));
  } else if (words == 4) {
    use(word[2], strtoul(word[3], NULL, 10) * kMiB, strcmp(word[1], "late") == 0);
  } else {
    return 2;
  }
  return 0;
}
