// What the modules of the allocator library share. See tierscope_alloc.h for what it does.
//
//   fast.c         allocating and freeing from a thread's cache
//   alloc.c        the other calls that programs make
//   threads.c      each thread's caches
//   arena.c        arenas: made, found, moved, destroyed
//   slots.c        their addresses; fork
//   hooks.c        what jemalloc asks of an arena: addresses and memory
//   room.c         whether an arena may grow: its capacity, its nodes' free memory
//   pmem.c         arenas in persistent memory
//   nodes.c        what the kernel says of nodes and pages
//   mappings.c     ts_mmap, mremap
//   statistics.c   counters, and where pages lie; report.c prints them
//   plain.c        malloc, for what is in no arena
//
// Locks, in the order in which they are taken: `table_lock` (arenas, threads' caches, mappings),
// jemalloc's own, an arena's `layout`. Allocating and freeing from a thread's cache takes none.
#ifndef TIERSCOPE_ALLOC_CORE_H
#define TIERSCOPE_ALLOC_CORE_H

#include <jemalloc/jemalloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "policy.h"
#include "tierscope_alloc.h"

enum { kMaxArenas = 64, kMaxName = 63, kMaxHeaps = 8, kMaxKinds = 256 };

// One of jemalloc's arenas. Each of ours has several, so that its threads seldom wait for each
// other.
struct heap {
  unsigned number;   // jemalloc's.
  unsigned threads;  // That allocate from it. Under table_lock.
};

// Calls that were served from plain memory, and their bytes.
struct spilled {
  atomic_size_t bytes, count;
};

struct ts_arena {
  extent_hooks_t hooks;  // First: jemalloc hands it to the hooks.
  unsigned index;        // Of its slot of addresses.
  unsigned most_heaps;
  atomic_uint heap_count;  // Those made: the first as the arena is, others with more threads.
  struct heap heaps[kMaxHeaps];
  atomic_bool exists;
  int file;          // Of an arena in persistent memory; else -1.
  atomic_bool lost;  // Its memory is the parent's, from which this process was forked.
  char name[kMaxName + 1];
  enum ts_when_full when_full;
  size_t capacity;   // SIZE_MAX: no limit.
  bool small_pages;  // No huge ones of the kernel's making.
  uintptr_t start;
  uintptr_t end;
  pthread_mutex_t layout;  // Guards `policy` and writing `top`.
  struct policy policy;
  _Atomic unsigned long nodes[kNodeWords];  // Its mask, for those without the lock.
  atomic_uintptr_t top;                     // End of the addresses that jemalloc has.
  atomic_size_t committed;                  // Bytes; those in mappings, too.
  atomic_size_t mapped;
  struct spilled spilled;  // By threads that have ended.
  atomic_size_t failed_count;
  atomic_size_t reclaimed;
  // See room.c.
  atomic_size_t untouched;  // At most so many committed bytes are not yet touched.
  atomic_size_t granted;
  _Atomic int64_t granted_until;  // ns
  atomic_bool strict;             // As the policy says.
  atomic_size_t full_from;        // Growth by so many bytes has no room; SIZE_MAX: not full.
  _Atomic int64_t full_until;     // ns; tried again then.
  _Atomic int64_t full_wait;      // ns; how long it waits that time.
  // See alloc.c. Sizes of blocks, by jemalloc's number, that it has none of.
  atomic_bool refuses;
  _Atomic uint64_t refused[kMaxKinds / 64];
  _Atomic int64_t refused_until;  // ns
};

// A thread's own. `flags` says to jemalloc which arena and cache; 0: not asked for yet. `caches`
// has those caches' addresses (tcache_t*); NULL: none at the moment.
struct thread {
  _Atomic(ts_arena*) arena;  // Other threads take it away when it is destroyed.
  void* caches[kMaxArenas];
  int flags[kMaxArenas];
  unsigned char
      heaps[kMaxArenas];  // Which of an arena's it allocates from, where `flags` is not 0.
  struct spilled spilled[kMaxArenas];
  int64_t looked;     // At the clock, ns; see alloc.c.
  unsigned not_look;  // For so many calls.
  bool begun;         // False of what stands for threads that have no own.
  struct thread* next;
  struct thread** before;
};

extern struct ts_arena arena_table[kMaxArenas] __attribute__((visibility("hidden")));
extern pthread_mutex_t table_lock;

// Slots: arena i has the addresses from slots.base + (i << slots.shift). No slots: count is 0.
extern struct slots {
  uintptr_t base;
  atomic_size_t bytes;  // Of all of them.
  unsigned shift;
  bool reserved;  // Else addresses are mapped when an arena takes them.
  _Atomic unsigned count;
} slots __attribute__((visibility("hidden")));

// The core's only thread-local variable.
extern _Thread_local struct thread* self __attribute__((visibility("hidden")));

// NULL: no memory, or the thread is ending.
struct thread* begin_thread(void);  // threads.c
static inline struct thread* this_thread(void) {
  struct thread* const thread = self;
  return thread->begun ? thread : begin_thread();
}

// The arena that a call means: the one that was asked for, else the thread's.
static inline ts_arena* chosen(ts_arena* arena) {
  return arena != NULL ? arena : atomic_load_explicit(&self->arena, memory_order_relaxed);
}

// Number of the slot that an address lies in; kMaxArenas where it is in none.
static inline size_t slot_of(const void* pointer) {
  const unsigned count = atomic_load_explicit(&slots.count, memory_order_acquire);
  const size_t slot = ((uintptr_t)pointer - slots.base) >> slots.shift;
  return slot < count ? slot : kMaxArenas;
}

static inline bool in_arena(const void* pointer) {
  return (uintptr_t)pointer - slots.base < atomic_load_explicit(&slots.bytes, memory_order_relaxed);
}

bool is_arena(const ts_arena* arena);

// Without a locked instruction, which costs as much as malloc does.
static inline void add_own(atomic_size_t* counter, size_t number) {
  const size_t before = atomic_load_explicit(counter, memory_order_relaxed);
  atomic_store_explicit(counter, before + number, memory_order_relaxed);
}

static inline void count_spilled(ts_arena* arena, struct thread* thread, size_t bytes) {
  if (thread != NULL) {
    add_own(&thread->spilled[arena->index].bytes, bytes);
    add_own(&thread->spilled[arena->index].count, 1);
  } else {
    atomic_fetch_add(&arena->spilled.bytes, bytes);
    atomic_fetch_add(&arena->spilled.count, 1);
  }
}

static inline bool is_power_of_two(size_t number) {
  return number != 0 && (number & (number - 1)) == 0;
}

// slots.c. Finds addresses for the slots, once; under table_lock.
bool reserve_slots(void);
// Makes the addresses from an arena's `top` on readable and writable, so far as they are not yet,
// and takes that back. Under its `layout`. Without reserved slots they have no policy then.
bool open_addresses(ts_arena* arena, uintptr_t start, size_t bytes);
void close_addresses(uintptr_t start, size_t bytes);
// Gives a slot's pages back, with their policies.
void empty_slot(const ts_arena* arena);

// The end of an arena's addresses that are mapped.
static inline uintptr_t open_end(const ts_arena* arena) {
  return slots.reserved ? arena->end : atomic_load(&arena->top);
}

// alloc.c. jemalloc's flags: alignment and zeroing.
void* allocate(ts_arena* arena, size_t size, int flags);
void release(void* pointer, size_t slot);
void serve_again(ts_arena* arena);  // It has something to give again: blocks or room.

// fast.c
void* fast_cache(unsigned number);  // The address of one of jemalloc's explicit caches.
// An aligned block of the calling thread's cache; NULL where it has none of that size.
void* take_aligned(const ts_arena* arena, size_t alignment, size_t size);
// Empties the calling thread's cache of an arena. False: it was empty.
bool fast_flush(struct thread* thread, size_t slot);
// Bytes of the pages that a heap keeps and does not use.
size_t fast_unused(const struct heap* heap);
// jemalloc's number of a block's size; kMaxKinds: it has none.
unsigned fast_kind(size_t size);

// Frees an arena's blocks that are larger than a slab's. No thread uses them.
void fast_free_large(const ts_arena* arena);

// threads.c. The flags of the calling thread for an arena, made where there are none yet.
int thread_flags(ts_arena* arena);
void thread_flush(const ts_arena* arena);    // Gives back what the calling thread caches of it.
void threads_forget(const ts_arena* arena);  // Takes it from all threads. Under table_lock.
struct spilled all_spilled(const ts_arena* arena);  // Under table_lock.

// hooks.c
extern const extent_hooks_t kArenaHooks;
size_t laid_bytes(void);  // Bytes of all arenas that have or may have rounds.

// room.c. Whether an arena may grow by `bytes`; counts them where it may. *touch: call populate.
// Not under the arena's `layout`. All keep errno.
bool take_room(ts_arena* arena, size_t bytes, bool* touch);
void leave_room(ts_arena* arena, size_t bytes);   // Its pages were given back.
void refuse_room(ts_arena* arena, size_t bytes);  // There were no pages for what was taken.
// Touches a fresh range and has its pages where the arena's policy says. False: some are not.
bool populate(ts_arena* arena, uintptr_t start, uintptr_t end);
size_t may_have_room(ts_arena* arena);  // The most bytes that it may find room for at present.
void note_full(ts_arena* arena, size_t bytes);  // There was no room for so many.
void forget_full(ts_arena* arena);
bool share_nodes(ts_arena* a, ts_arena* b);

static inline int64_t now_ns(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

// arena.c. One more heap of an arena. False: no memory. Under table_lock.
bool make_heap(ts_arena* arena);
extern size_t least_for_each_heap;  // Bytes of capacity; tests set it.
// Gives unused pages of an arena back to the kernel where that may make room for `wanted` bytes, or
// those of others on its nodes, and adds their bytes. False: none were given back, and the calling
// thread had nothing of it in its cache.
bool purge_arena(ts_arena* arena, size_t wanted, size_t* bytes);
bool purge_others(ts_arena* arena, size_t* bytes);

// pmem.c
bool is_pmem(const char* nodes);              // "pmem:DIRECTORY"
int pmem_open(const char* nodes, int* file);  // 0 or an errno.
int pmem_prepare(const ts_arena* arena);      // Before it is mapped. 0 or an errno.
// Over addresses of its slot. 0 or an errno.
int pmem_map(const ts_arena* arena, uintptr_t start, size_t bytes, int protection);
// Of the file's blocks. False: the file system is full. May change errno.
bool pmem_commit(const ts_arena* arena, uintptr_t start, size_t bytes);
bool pmem_decommit(const ts_arena* arena, uintptr_t start, size_t bytes);
void pmem_lose(ts_arena* arena);  // In a child of fork.

// nodes.c
struct node_memory {
  size_t free;  // Bytes, less what the kernel keeps for itself.
  size_t file;  // Bytes of files that it can drop.
};
bool read_node_memory(size_t node, struct node_memory* memory);
// 0, or ENODEV where a node does not exist, has no memory or is not allowed here.
int check_nodes(const struct policy* policy);
// Calls `visit` with the node of each page, or a negative errno. Returns 0 or an errno.
typedef void page_visitor(void* context, uintptr_t page, int node);
int visit_pages(uintptr_t start, uintptr_t end, page_visitor* visit, void* context);
// Moves the pages of a range that are not where the policy says. Returns 0, EBUSY where some stay,
// or another errno.
int settle_pages(const struct policy* policy, uintptr_t start, uintptr_t end);
// Calls `visit` with each line of a file, or its first 2047 bytes. Without stdio, which allocates:
// callers hold locks.
typedef void line_visitor(void* context, const char* line);
void read_lines(const char* path, line_visitor* visit, void* context);
// Where sysfs lists nodes; tests set it.
extern const char* nodes_folder;

// mappings.c
// Moves the pages of a block to the beginning of a larger one; both are whole pages. The first is
// then as it was before it was touched. False: they are where they were, and are to be copied.
bool move_block_pages(ts_arena* arena, void* from, size_t from_bytes, void* to, size_t to_bytes);
ts_arena* mapping_arena(const void* pointer);
// As mremap, of a range of ts_mmap; `target` where `flags` has MREMAP_FIXED.
void* remap(ts_arena* arena, void* old, size_t old_size, size_t size, int flags, void* target);
// The same of a range that begins with none: what it takes the place of is no arena's any more.
void* remap_plain(void* old, size_t old_size, size_t size, int flags, void* target);
// Forgets what was noted of a range that another way has unmapped, up to the entry of that time.
void forget_mappings(void* start, size_t size, size_t last);
size_t last_mapping(void);
// Under table_lock:
typedef int range_visitor(void* context, uintptr_t start, uintptr_t end);
int visit_mappings(const ts_arena* arena, range_visitor* visit, void* context);
void unmap_all(const ts_arena* arena);

// report.c. Bytes as a reader wants them: "1.5 GiB".
struct size_text {
  char text[32];
};
struct size_text size_text(size_t bytes);

// plain.c, or the preloaded library's own: the functions of whoever allocates for the program.
void* plain_malloc(size_t size);
void* plain_calloc(size_t count, size_t size);
void* plain_realloc(void* pointer, size_t size);
int plain_memalign(void** pointer, size_t alignment, size_t size);  // As posix_memalign.
void plain_free(void* pointer);
size_t plain_usable_size(const void* pointer);

#endif
