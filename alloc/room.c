// Whether an arena may grow: by its capacity, and by what its nodes have free.
//
// The kernel never refuses memory on a node: once the node is full, pages go to another, or the OOM
// killer acts where the policy forbids that. So no policy forbids it, and growth is compared with
// the nodes' free memory first. Asking takes some 20 us, so an answer holds for a quarter of what
// was free, and 1 s. What was promised to arenas but not touched is still free to the kernel; it is
// counted here, and where that count matters, measured. With little left, growth is touched at once
// and its pages' nodes are read. That of strict arenas ("bind:") always is.
//
// Growth that was refused is refused again without asking the kernel, until an arena gives memory
// back on these nodes, or for a time that doubles each time.
#include <errno.h>
#include <sys/mman.h>

#include "core.h"

enum { kBatch = 4096, kShareOfGrant = 4, kShareOfTime = 10 };
static const int64_t kGrantTime = 1000000000;  // ns
static const int64_t kFirstWait = 10000000;    // ns
static const int64_t kLongestWait = 640000000;
// So much at most goes to other nodes before it is noticed.
static const size_t kTouchedTogether = UINT64_C(4) << 20;

enum room { kRoom, kLittle, kFull };

// What growth by `bytes` may take, by the node that has the least for its part.
struct free_memory {
  size_t free;
  size_t droppable;  // With files dropped.
};

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
  const int64_t start = now_ns(CLOCK_MONOTONIC);
  if (start < atomic_load(&next) && !urgent) return promised(arena, false);
  const size_t bytes = promised(arena, true);
  const int64_t end = now_ns(CLOCK_MONOTONIC);
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

static atomic_bool any_full;

static bool is_full(ts_arena* arena, size_t bytes, int64_t time) {
  return bytes >= atomic_load(&arena->full_from) && time < atomic_load(&arena->full_until);
}

void forget_full(ts_arena* arena) {
  atomic_store(&arena->full_from, SIZE_MAX);
  atomic_store(&arena->full_until, 0);
  atomic_store(&arena->full_wait, 0);
}

static void note_room(ts_arena* arena, size_t bytes) {
  if (bytes >= atomic_load(&arena->full_from)) forget_full(arena);
}

void note_full(ts_arena* arena, size_t bytes) {
  const int64_t time = now_ns(CLOCK_MONOTONIC_COARSE);
  size_t from = atomic_load(&arena->full_from);
  while (from > bytes && !atomic_compare_exchange_weak(&arena->full_from, &from, bytes)) {
  }
  if (time >= atomic_load(&arena->full_until)) {
    const int64_t wait = atomic_load(&arena->full_wait);
    const int64_t next = wait == 0 ? kFirstWait : wait < kLongestWait ? 2 * wait : wait;
    atomic_store(&arena->full_wait, next);
    atomic_store(&arena->full_until, time + next);
  }
  atomic_store(&any_full, true);
}

// Arenas on the same nodes may have room again.
static void end_waiting(ts_arena* arena) {
  serve_again(arena);
  if (!atomic_load(&any_full)) return;
  atomic_store(&any_full, false);
  for (size_t i = 0; i < kMaxArenas; ++i) {
    ts_arena* const other = &arena_table[i];
    if (!atomic_load(&other->exists) || atomic_load(&other->full_from) == SIZE_MAX) continue;
    atomic_store(&any_full, true);
    if (!share_nodes(arena, other)) continue;
    atomic_store(&other->full_until, 0);
    serve_again(other);
  }
}

static enum room room_on_nodes(ts_arena* arena, size_t bytes) {
  const int64_t time = now_ns(CLOCK_MONOTONIC_COARSE);
  if (take_grant(arena, bytes, time)) return kRoom;
  if (is_full(arena, bytes, time)) return kFull;
  struct free_memory memory;
  pthread_mutex_lock(&arena->layout);
  const bool known = read_free(&arena->policy, &memory);
  pthread_mutex_unlock(&arena->layout);
  if (!known) return kRoom;  // Nobody says: the kernel decides.
  size_t promises = promised(arena, false);
  enum room room = judge(&memory, bytes, promises);
  if (room != kRoom && promises != 0) {
    // The first time that it seems to be full, this has to be true.
    promises = measure_promised(arena, room == kFull && atomic_load(&arena->full_wait) == 0);
    room = judge(&memory, bytes, promises);
  }
  if (room == kRoom) {
    atomic_store(&arena->granted, (memory.free - bytes - promises) / kShareOfGrant);
    atomic_store(&arena->granted_until, time + kGrantTime);
  } else if (room == kFull) {
    note_full(arena, bytes);
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
  *touch = room == kLittle || atomic_load(&arena->strict);
  if (*touch) return true;
  note_room(arena, bytes);
  atomic_fetch_add(&arena->untouched, bytes);
  return true;
}

static void count_back(ts_arena* arena, size_t bytes) {
  const size_t left = atomic_fetch_sub(&arena->committed, bytes) - bytes;
  // What is touched and what is not went together: of the rest, at most all is untouched.
  size_t untouched = atomic_load(&arena->untouched);
  while (untouched > left && !atomic_compare_exchange_weak(&arena->untouched, &untouched, left)) {
  }
}

void leave_room(ts_arena* arena, size_t bytes) {
  count_back(arena, bytes);
  end_waiting(arena);
}

void refuse_room(ts_arena* arena, size_t bytes) {
  count_back(arena, bytes);
  if (arena->file < 0) note_full(arena, bytes);
}

size_t may_have_room(ts_arena* arena) {
  const size_t committed = atomic_load(&arena->committed);
  const size_t left = arena->capacity > committed ? arena->capacity - committed : 0;
  if (!is_full(arena, SIZE_MAX, now_ns(CLOCK_MONOTONIC_COARSE))) return left;
  return least(left, atomic_load(&arena->full_from) - 1);
}

// As MADV_POPULATE_WRITE, which Linux has from 5.14 on.
static bool touch_pages(uintptr_t start, uintptr_t end) {
  enum { kPopulateWrite = 23 };  // MADV_POPULATE_WRITE
  if (madvise((void*)start, end - start, kPopulateWrite) == 0) return true;
  if (errno != EINVAL) return false;
  for (uintptr_t at = start; at < end; at += page_bytes()) *(volatile char*)at = 0;
  return true;
}

static bool settle(ts_arena* arena, uintptr_t start, uintptr_t end) {
  pthread_mutex_lock(&arena->layout);
  const bool settled = settle_pages(&arena->policy, start, end) != EBUSY;
  pthread_mutex_unlock(&arena->layout);
  return settled;
}

bool populate(ts_arena* arena, uintptr_t start, uintptr_t end) {
  const int error = errno;
  bool settled = true;
  for (uintptr_t at = start; settled && at < end;) {
    const uintptr_t next = at + least(end - at, kTouchedTogether);
    settled = touch_pages(at, next) && settle(arena, at, next);
    at = next;
  }
  if (settled) note_room(arena, end - start);
  errno = error;
  return settled;
}
