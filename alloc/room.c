// Whether an arena may grow: by its capacity, and by what its nodes have free.
//
// The kernel never refuses memory on a node: once the node is full, pages go to another, or the OOM
// killer acts where the policy forbids that. So growth is compared with the nodes' free memory
// first. Asking takes some 20 us, so an answer holds for a quarter of what was free, and 1 s.
// What was promised to arenas but not touched is still free to the kernel; it is counted here, and
// where that count matters, measured. With little left, growth is touched at once and its pages'
// nodes are read.
#include <errno.h>
#include <sys/mman.h>
#include <time.h>

#include "core.h"

enum { kBatch = 4096, kShareOfGrant = 4, kShareOfTime = 10 };
static const int64_t kGrantTime = 1000000000;  // ns

enum room { kRoom, kLittle, kFull };

// What growth by `bytes` may take, by the node that has the least for its part.
struct free_memory {
  size_t free;
  size_t droppable;  // With files dropped.
};

static int64_t now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

// Pages go to all nodes in fixed shares, or to any of them.
static bool read_free(const struct policy* policy, struct free_memory* result) {
  const bool shared = policy->round != 0 || policy->mode == kModeInterleave;
  *result = shared ? (struct free_memory){SIZE_MAX, SIZE_MAX} : (struct free_memory){0, 0};
  for (int i = 0; i < policy->nodes; ++i) {
    struct node_memory node;
    if (!read_node_memory(policy->node[i], &node)) return false;
    const size_t all = node.free + node.file;
    if (shared) {
      const size_t round = policy->round != 0 ? policy->round : (size_t)policy->nodes;
      const size_t weight = policy->round != 0 ? policy->weight[i] : 1;
      result->free = least(result->free, node.free / weight * round);
      result->droppable = least(result->droppable, all / weight * round);
    } else {
      result->free += node.free;
      result->droppable += all;
    }
  }
  return true;
}

bool share_nodes(ts_arena* a, ts_arena* b) {
  for (size_t word = 0; word < kNodeWords; ++word) {
    if ((atomic_load(&a->nodes[word]) & atomic_load(&b->nodes[word])) != 0) return true;
  }
  return false;
}

static void measure_untouched(ts_arena* arena) {
  const size_t page = page_bytes();
  const uintptr_t top = atomic_load(&arena->top);
  unsigned char resident[kBatch];
  size_t touched = atomic_load(&arena->mapped);
  for (uintptr_t at = arena->start; at < top; at += kBatch * page) {
    const size_t bytes = least(kBatch * page, top - at);
    if (mincore((void*)at, bytes, resident) != 0) return;
    for (size_t i = 0; i < bytes / page; ++i) touched += (resident[i] & 1) * page;
  }
  const size_t committed = atomic_load(&arena->committed);
  atomic_store(&arena->untouched, committed > touched ? committed - touched : 0);
}

// Bytes that arenas on the same nodes have been promised and may not have touched.
static size_t promised(ts_arena* arena, bool measure) {
  size_t bytes = 0;
  for (size_t i = 0; i < kMaxArenas; ++i) {
    if (!atomic_load(&arena_table[i].exists) || !share_nodes(arena, &arena_table[i])) continue;
    if (measure) measure_untouched(&arena_table[i]);
    bytes += least(atomic_load(&arena_table[i].untouched), atomic_load(&arena_table[i].committed));
  }
  return bytes;
}

// Measures it, which takes some ms for each GiB: at most a tenth of the time, unless `urgent`.
static size_t measure_promised(ts_arena* arena, bool urgent) {
  static _Atomic int64_t next;
  const int64_t start = now(CLOCK_MONOTONIC);
  if (start < atomic_load(&next) && !urgent) return promised(arena, false);
  const size_t bytes = promised(arena, true);
  const int64_t end = now(CLOCK_MONOTONIC);
  atomic_store(&next, end + (end - start) * kShareOfTime);
  return bytes;
}

static enum room judge(const struct free_memory* memory, size_t bytes, size_t promises) {
  const size_t needed = bytes + promises;
  if (memory->free / 2 >= needed) return kRoom;
  return memory->droppable >= needed ? kLittle : kFull;
}

static bool take_grant(ts_arena* arena, size_t bytes, int64_t time) {
  if (time >= atomic_load(&arena->granted_until)) return false;
  size_t granted = atomic_load(&arena->granted);
  while (granted >= bytes) {
    if (atomic_compare_exchange_weak(&arena->granted, &granted, granted - bytes)) return true;
  }
  return false;
}

static enum room room_on_nodes(ts_arena* arena, size_t bytes) {
  const int64_t time = now(CLOCK_MONOTONIC_COARSE);
  if (take_grant(arena, bytes, time)) return kRoom;
  struct free_memory memory;
  pthread_mutex_lock(&arena->layout);
  const bool known = read_free(&arena->policy, &memory);
  pthread_mutex_unlock(&arena->layout);
  if (!known) return kRoom;  // Nobody says: the kernel decides.
  size_t promises = promised(arena, false);
  enum room room = judge(&memory, bytes, promises);
  if (room != kRoom && promises != 0) {
    // The first time that it seems to be full, this has to be true.
    promises = measure_promised(arena, room == kFull && !atomic_load(&arena->found_full));
    room = judge(&memory, bytes, promises);
  }
  atomic_store(&arena->found_full, room == kFull);
  if (room == kRoom) {
    atomic_store(&arena->granted, (memory.free - bytes - promises) / kShareOfGrant);
    atomic_store(&arena->granted_until, time + kGrantTime);
  }
  return room;
}

bool take_room(ts_arena* arena, size_t bytes, bool* touch) {
  size_t committed = atomic_load_explicit(&arena->committed, memory_order_relaxed);
  do {
    if (committed > arena->capacity || bytes > arena->capacity - committed) return false;
  } while (!atomic_compare_exchange_weak(&arena->committed, &committed, committed + bytes));
  if (arena->file >= 0) return true;  // Its file system says when it is full.
  const int error = errno;
  const enum room room = room_on_nodes(arena, bytes);
  errno = error;
  if (room == kFull) {
    atomic_fetch_sub(&arena->committed, bytes);
    return false;
  }
  *touch = room == kLittle;
  if (room == kRoom) atomic_fetch_add(&arena->untouched, bytes);
  return true;
}

void leave_room(ts_arena* arena, size_t bytes) {
  const size_t left = atomic_fetch_sub(&arena->committed, bytes) - bytes;
  // What is touched and what is not went together: of the rest, at most all is untouched.
  size_t untouched = atomic_load(&arena->untouched);
  while (untouched > left && !atomic_compare_exchange_weak(&arena->untouched, &untouched, left)) {
  }
}

// As MADV_POPULATE_WRITE, which Linux has from 5.14 on.
static bool touch_pages(uintptr_t start, uintptr_t end) {
  enum { kPopulateWrite = 23 };  // MADV_POPULATE_WRITE
  if (madvise((void*)start, end - start, kPopulateWrite) == 0) return true;
  if (errno != EINVAL) return false;
  for (uintptr_t at = start; at < end; at += page_bytes()) *(volatile char*)at = 0;
  return true;
}

bool populate(ts_arena* arena, uintptr_t start, uintptr_t end) {
  const int error = errno;
  pthread_mutex_lock(&arena->layout);
  const bool settled = touch_pages(start, end) && settle_pages(&arena->policy, start, end) != EBUSY;
  pthread_mutex_unlock(&arena->layout);
  errno = error;
  return settled;
}
