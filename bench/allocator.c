// The cost of an allocator on the patterns by which allocators are usually compared. Compiled once
// for each interface, so that calls are direct:
//   -DUSE_ARENA     ts_* with an arena of tierscope's allocator
//   -DUSE_JEMALLOC  je_mallocx and its kin, with an arena and a thread cache of jemalloc
//   -DUSE_JE_MALLOC je_malloc and its kin, with jemalloc's own choice of both
//   none            malloc, whichever the program is linked with or preloads
//
//   allocator PATTERN THREADS [full]   prints the processor time of an operation in ns; `full`: the
//                                      arena has no room and spills to malloc
//
// Patterns, written from their public descriptions:
//   small, sizes, calloc, aligned, large   one block at a time (jemalloc's microbenchmarks)
//   fill           as many blocks as overflow a thread's cache, then all freed (jemalloc's
//                  fill_flush)
//   larson         random replacement in an array that a successor thread takes over (P. Larson,
//                  M. Krishnan, "Memory allocation for long-running server applications", 1998)
//   xmalloc        one half of the threads allocates, the other frees (C. Lever, D. Boreham,
//                  "malloc() performance in a multithreaded Linux environment", 2000)
//   sh6bench       bursts of blocks of one size, small sizes most; of a few bursts, some are freed
//                  in the order of their allocation and some in the opposite one, and some stay for
//                  long (MicroQuill, SmartHeap's test for several processors)
//   cache-scratch  blocks that one thread allocated, freed and reused by others (E. Berger et al.,
//                  "Hoard", 2000)
//   cache-thrash   each thread writes to small blocks of its own (the same)
//   realloc        random sizes that grow and shrink
//   growth         a block that grows by halves from 4 KiB to 64 MiB, and is written to
//   churn          random replacement of blocks of 20 to 600 KB, which are written to
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(USE_ARENA)
#include "tierscope_alloc.h"

static ts_arena* arena;
static void begin(int full) {
  arena = ts_arena_create("bench", "0", full ? 1 << 20 : 0, full ? TS_SPILL : TS_FAIL);
  for (size_t size = 1 << 20; full && size >= 8; size /= 2) {
    while (ts_arena_of(ts_malloc(arena, size)) != NULL) {
    }
  }
}
static void begin_thread(void) {}
static void end_thread(void) {}
static void* allocate(size_t size) { return ts_malloc(arena, size); }
static void* allocate_zero(size_t size) { return ts_calloc(arena, 1, size); }
static void* allocate_aligned(size_t to, size_t size) { return ts_aligned_alloc(arena, to, size); }
static void* resize(void* block, size_t size) { return ts_realloc(arena, block, size); }
static size_t usable(void* block) { return ts_usable_size(block); }
static void release(void* block) { ts_free(block); }
#elif defined(USE_JEMALLOC)
#include "jemalloc.h"

static unsigned arena;
static _Thread_local unsigned cache;
static _Thread_local int flags;
static void begin(int full) {
  (void)full;
  size_t length = sizeof arena;
  je_mallctl("arenas.create", &arena, &length, NULL, 0);
}
static void begin_thread(void) {
  size_t length = sizeof cache;
  je_mallctl("tcache.create", &cache, &length, NULL, 0);
  flags = MALLOCX_ARENA(arena) | MALLOCX_TCACHE(cache);
}
static void end_thread(void) { je_mallctl("tcache.destroy", NULL, NULL, &cache, sizeof cache); }
static void* allocate(size_t size) { return je_mallocx(size, flags); }
static void* allocate_zero(size_t size) { return je_mallocx(size, flags | MALLOCX_ZERO); }
static void* allocate_aligned(size_t to, size_t size) {
  return je_mallocx(size, flags | MALLOCX_ALIGN(to));
}
static void* resize(void* block, size_t size) {
  return block == NULL ? je_mallocx(size, flags) : je_rallocx(block, size, flags);
}
static size_t usable(void* block) { return je_sallocx(block, 0); }
static void release(void* block) { je_dallocx(block, flags); }
#else
#ifdef USE_JE_MALLOC
#define JEMALLOC_MANGLE
#include "jemalloc.h"
#endif
static void begin(int full) { (void)full; }
static void begin_thread(void) {}
static void end_thread(void) {}
static void* allocate(size_t size) { return malloc(size); }
static void* allocate_zero(size_t size) { return calloc(1, size); }
static void* allocate_aligned(size_t to, size_t size) { return aligned_alloc(to, size); }
static void* resize(void* block, size_t size) { return realloc(block, size); }
static size_t usable(void* block) { return malloc_usable_size(block); }
static void release(void* block) { free(block); }
#endif

enum { kMaxThreads = 64, kBlocks = 1000, kBatch = 100, kQueue = 64, kHandovers = 20 };
enum { kBursts = 5, kBurst = 50, kKeptBursts = 20, kChurned = 40, kPage = 4096 };

struct worker {
  pthread_t thread;
  int number;
  uint64_t random;
  size_t operations;
  char** blocks;  // kBlocks of them, for the patterns that keep some.
};

static int threads;

static uint64_t next_random(struct worker* worker) {  // xorshift64 (Marsaglia 2003)
  worker->random ^= worker->random << 13;
  worker->random ^= worker->random >> 7;
  return worker->random ^= worker->random << 17;
}

// Written to, as every program does; never optimized away.
static char* touched(void* block) {
  if (block == NULL) {
    fputs("allocator: out of memory\n", stderr);
    exit(1);
  }
  *(volatile char*)block = 1;
  return block;
}

static void small(struct worker* worker) {
  for (size_t i = 0; i < worker->operations; ++i) release(touched(allocate(64)));
}

static void sizes(struct worker* worker) {
  size_t sum = 0;
  char* volatile block = touched(allocate(100));  // Read each time, or one call would do.
  for (size_t i = 0; i < worker->operations; ++i) sum += usable(block);
  release(block);
  if (sum < 100 * worker->operations) exit(1);
}

static void zeroed(struct worker* worker) {
  for (size_t i = 0; i < worker->operations; ++i) release(touched(allocate_zero(256)));
}

static void aligned(struct worker* worker) {
  for (size_t i = 0; i < worker->operations; ++i) release(touched(allocate_aligned(64, 320)));
}

static void large(struct worker* worker) {
  for (size_t i = 0; i < worker->operations; ++i) release(touched(allocate(256 << 10)));
}

static void fill(struct worker* worker) {
  for (size_t i = 0; i < worker->operations; i += kBlocks) {
    for (size_t j = 0; j < kBlocks; ++j) worker->blocks[j] = touched(allocate(128));
    for (size_t j = 0; j < kBlocks; ++j) release(worker->blocks[j]);
  }
}

static void* replace(void* argument) {
  struct worker* const worker = argument;
  begin_thread();
  for (size_t i = 0; i < worker->operations / kHandovers; ++i) {
    const uint64_t random = next_random(worker);
    char** const block = &worker->blocks[random % kBlocks];
    release(*block);
    *block = touched(allocate(10 + (random >> 32) % 500));
  }
  end_thread();
  return NULL;
}

static void larson(struct worker* worker) {
  for (size_t i = 0; i < kBlocks; ++i) worker->blocks[i] = touched(allocate(10 + i % 500));
  for (int i = 0; i < kHandovers; ++i) {
    pthread_t successor;
    pthread_create(&successor, NULL, replace, worker);
    pthread_join(successor, NULL);
  }
  for (size_t i = 0; i < kBlocks; ++i) release(worker->blocks[i]);
}

static struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  size_t count;
  char* batches[kQueue][kBatch];
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void produce(struct worker* worker) {
  char* batch[kBatch];
  for (int i = 0; i < kBatch; ++i) batch[i] = touched(allocate(16 + next_random(worker) % 496));
  pthread_mutex_lock(&queue.lock);
  while (queue.count == kQueue) pthread_cond_wait(&queue.changed, &queue.lock);
  memcpy(queue.batches[queue.count++], batch, sizeof batch);
  pthread_cond_broadcast(&queue.changed);
  pthread_mutex_unlock(&queue.lock);
}

static void consume(void) {
  char* batch[kBatch];
  pthread_mutex_lock(&queue.lock);
  while (queue.count == 0) pthread_cond_wait(&queue.changed, &queue.lock);
  memcpy(batch, queue.batches[--queue.count], sizeof batch);
  pthread_cond_broadcast(&queue.changed);
  pthread_mutex_unlock(&queue.lock);
  for (int i = 0; i < kBatch; ++i) release(batch[i]);
}

static void xmalloc(struct worker* worker) {
  for (size_t i = 0; i < worker->operations; i += kBatch) {
    if (worker->number % 2 == 0 || threads == 1) produce(worker);
    if (worker->number % 2 == 1 || threads == 1) consume();
  }
}

static void cache_scratch(struct worker* worker) {
  release(worker->blocks[0]);
  for (size_t i = 0; i < worker->operations; ++i) {
    volatile char* const block = touched(allocate(8));
    for (int j = 0; j < 100; ++j) block[j % 8]++;
    release((void*)block);
  }
}

static void cache_thrash(struct worker* worker) {
  for (size_t i = 0; i < worker->operations; ++i) {
    volatile char* const block = touched(allocate(8));
    for (int j = 0; j < 100; ++j) block[j % 8]++;
    release((void*)block);
  }
}

// Frees a burst, from its beginning or from its end.
static void release_burst(char** burst, bool backwards) {
  for (int i = 0; i < kBurst; ++i) release(burst[backwards ? kBurst - 1 - i : i]);
}

static void sh6bench(struct worker* worker) {
  char** const kept = worker->blocks;  // Bursts that stay for long: the oldest is freed.
  size_t bursts = 0;
  for (size_t i = 0; i < worker->operations; i += kBursts * kBurst) {
    char* burst[kBursts][kBurst];
    for (int j = 0; j < kBursts; ++j) {
      const uint64_t random = next_random(worker);
      const size_t size = 1 + (random >> 20) % ((size_t)1 << (4 + random % 7));  // Up to 1 KiB.
      for (int k = 0; k < kBurst; ++k) burst[j][k] = touched(allocate(size));
    }
    for (int j = 0; j + 1 < kBursts; ++j) release_burst(burst[j], j % 2 == 1);
    char** const oldest = kept + bursts % kKeptBursts * kBurst;
    if (bursts++ >= kKeptBursts) release_burst(oldest, false);
    memcpy(oldest, burst[kBursts - 1], sizeof burst[0]);
  }
  for (size_t i = 0; i < kKeptBursts && i < bursts; ++i) release_burst(kept + i * kBurst, true);
}

static void growth(struct worker* worker) {
  static const size_t least = 4 << 10;
  static const size_t most = 64 << 20;
  char* block = NULL;
  size_t size = 0;
  for (size_t i = 0; i < worker->operations; ++i) {
    const size_t before = size;
    size = before == 0 ? least : before + before / 2;
    block = touched(resize(block, size));
    for (size_t at = before; at < size; at += kPage) block[at] = 1;
    if (size < most) continue;
    release(block);
    block = NULL;
    size = 0;
  }
  if (block != NULL) release(block);
}

static void churn(struct worker* worker) {
  char* blocks[kChurned] = {NULL};
  for (size_t i = 0; i < worker->operations; ++i) {
    const uint64_t random = next_random(worker);
    char** const block = &blocks[random % kChurned];
    if (*block != NULL) release(*block);
    const size_t size = 20000 + (random >> 20) % 580000;
    *block = touched(allocate(size));
    for (size_t at = 0; at < size; at += kPage) (*block)[at] = 1;
  }
  for (size_t i = 0; i < kChurned; ++i) {
    if (blocks[i] != NULL) release(blocks[i]);
  }
}

static void resizing(struct worker* worker) {
  for (size_t i = 0; i < kBlocks; ++i) worker->blocks[i] = NULL;
  for (size_t i = 0; i < worker->operations; ++i) {
    const uint64_t random = next_random(worker);
    char** const block = &worker->blocks[random % kBlocks];
    const int bits = 4 + (int)((random >> 20) % 11);  // 16 B to 32 KiB, all magnitudes alike.
    const size_t size = ((size_t)1 << bits) + ((random >> 32) & (((size_t)1 << bits) - 1));
    *block = touched(resize(*block, size));
  }
  for (size_t i = 0; i < kBlocks; ++i) {
    if (worker->blocks[i] != NULL) release(worker->blocks[i]);
  }
}

static const struct pattern {
  const char* name;
  void (*run)(struct worker*);
  size_t operations;  // Of each thread: a few tenths of a second.
} patterns[] = {
    {"small", small, 10000000},     {"sizes", sizes, 20000000},
    {"calloc", zeroed, 8000000},    {"aligned", aligned, 8000000},
    {"large", large, 200000},       {"fill", fill, 8000000},
    {"larson", larson, 4000000},    {"xmalloc", xmalloc, 4000000},
    {"realloc", resizing, 1000000}, {"cache-scratch", cache_scratch, 1000000},
    {"growth", growth, 240},        {"cache-thrash", cache_thrash, 1000000},
    {"churn", churn, 20000},        {"sh6bench", sh6bench, 8000000},
};

static const struct pattern* chosen;
static pthread_barrier_t gate;

static void* work(void* argument) {
  begin_thread();
  struct worker* const worker = argument;
  const size_t all = worker->operations;
  worker->operations = all / 10 / kBlocks * kBlocks;
  if (chosen->run != cache_scratch) chosen->run(worker);
  worker->operations = all;
  pthread_barrier_wait(&gate);
  pthread_barrier_wait(&gate);
  chosen->run(worker);
  pthread_barrier_wait(&gate);
  end_thread();
  return NULL;
}

static double processor_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void run_pattern(void) {
  static struct worker workers[kMaxThreads];
  pthread_barrier_init(&gate, NULL, (unsigned)threads + 1);
  begin_thread();
  for (int i = 0; i < threads; ++i) {
    struct worker* const worker = &workers[i];
    worker->number = i;
    worker->random = 88172645463325252ULL + (uint64_t)i;
    worker->operations = chosen->operations;
    worker->blocks = calloc(kBlocks, sizeof(char*));
    worker->blocks[0] = touched(allocate(8));
    if (chosen->run != cache_scratch) release(worker->blocks[0]);
  }
  for (int i = 0; i < threads; ++i) pthread_create(&workers[i].thread, NULL, work, &workers[i]);
  pthread_barrier_wait(&gate);
  const double start = processor_ns();
  pthread_barrier_wait(&gate);
  pthread_barrier_wait(&gate);
  const double spent = processor_ns() - start;
  for (int i = 0; i < threads; ++i) pthread_join(workers[i].thread, NULL);
  end_thread();
  printf("%.3f\n", spent / (double)chosen->operations / threads);
}

int main(int argc, char** argv) {
  const int full = argc == 4 && strcmp(argv[3], "full") == 0;
  threads = argc == 3 || full ? atoi(argv[2]) : 0;
  for (size_t i = 0; threads > 0 && i < sizeof patterns / sizeof *patterns; ++i) {
    if (strcmp(patterns[i].name, argv[1]) == 0) chosen = &patterns[i];
  }
  if (chosen == NULL || threads > kMaxThreads) {
    fputs("usage: allocator PATTERN THREADS [full] (1 to 64 threads)\n", stderr);
    return 2;
  }
  begin(full);
  run_pattern();
  return 0;
}
