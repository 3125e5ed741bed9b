// Arenas: made, found, moved, destroyed.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "core.h"

struct ts_arena arena_table[kMaxArenas];

// Smaller arenas have no huge pages of the kernel's making: one of 2 MiB would reach well beyond
// what is counted.
static const size_t kLeastForHugePages = UINT64_C(64) << 20;

// Each heap has slabs of its own for every size of small blocks, which are partly empty: some
// 0.5 MiB.
size_t least_for_each_heap = UINT64_C(64) << 20;

// Present where a program is built with -fsanitize=address: where to look for pointers, so that
// what only an arena points to is not a leak.
// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming)
extern void __lsan_register_root_region(const void* start, size_t bytes) __attribute__((weak));
extern void __lsan_unregister_root_region(const void* start, size_t bytes) __attribute__((weak));
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)

bool is_arena(const ts_arena* arena) {
  const uintptr_t offset = (uintptr_t)arena - (uintptr_t)arena_table;
  return offset < sizeof arena_table && offset % sizeof *arena_table == 0 &&
         atomic_load(&arena->exists);
}

static ts_arena* find(const char* name) {
  for (size_t i = 0; i < kMaxArenas; ++i) {
    if (atomic_load(&arena_table[i].exists) && strcmp(arena_table[i].name, name) == 0)
      return &arena_table[i];
  }
  return NULL;
}

static bool is_name(const char* name) {
  const size_t length = strnlen(name, kMaxName + 1);
  if (length < 1 || length > kMaxName) return false;
  for (const char* at = name; *at != '\0'; ++at) {
    if (*at <= ' ' || *at > '~') return false;
  }
  return true;
}

// Lays a policy on an arena's slot; may change it to one that this kernel has. With weights, what
// lies behind `top` is laid when it is taken. Returns 0 or an errno.
static int lay_slot(const ts_arena* arena, struct policy* policy) {
  const uintptr_t top = atomic_load(&arena->top);
  uintptr_t end = policy->round != 0 ? top : open_end(arena);
  // At least a page, mapped or not, to see whether the kernel allows it.
  if (end == arena->start) end += page_bytes();
  int error = policy_lay(policy, arena->start, end, 0, top - arena->start);
  if (error == EINVAL && policy->mode == kModePreferredMany) {  // Before Linux 5.15.
    policy->mode = kModePreferred;  // The first one; pages are moved to the others.
    policy->strict = true;
    error = policy_lay(policy, arena->start, end, 0, 0);
  }
  return error == EINVAL || error == ENOSYS ? ENOTSUP : error;
}

static void set_policy(ts_arena* arena, const struct policy* policy) {
  arena->policy = *policy;
  for (size_t i = 0; i < kNodeWords; ++i) atomic_store(&arena->nodes[i], policy->mask[i]);
  atomic_store(&arena->strict, policy->strict);
  atomic_store(&arena->granted_until, 0);
  forget_full(arena);
  serve_again(arena);
}

// Returns 0 or an errno: of a text that is not a policy, or one that this machine has no nodes for.
static int read_policy(struct policy* policy, const char* nodes) {
  return policy_read(policy, nodes) ? check_nodes(policy) : EINVAL;
}

static void set_name(ts_arena* arena, const char* name) {
  static unsigned number;
  if (name != NULL) {
    memcpy(arena->name, name, strlen(name) + 1);
    return;
  }
  do {
    snprintf(arena->name, sizeof arena->name, "arena%u", ++number);
  } while (find(arena->name) != NULL);
}

// jemalloc's arena_config_t.
struct heap_config {
  extent_hooks_t* hooks;
  bool metadata_use_hooks;
};

bool make_heap(ts_arena* arena) {
  struct heap_config config = {&arena->hooks, false};
  struct heap* const heap = &arena->heaps[atomic_load(&arena->heap_count)];
  *heap = (struct heap){.threads = 0};
  size_t size = sizeof heap->number;
  const bool made = je_mallctl("experimental.arenas_create_ext", &heap->number, &size, &config,
                               sizeof config) == 0;
  if (made) atomic_fetch_add(&arena->heap_count, 1);
  return made;
}

static unsigned most_heaps(size_t bytes) {
  const size_t processors = (size_t)get_nprocs();
  size_t most = bytes / least_for_each_heap;
  if (most > processors) most = processors;
  if (most > kMaxHeaps) most = kMaxHeaps;
  return most != 0 ? (unsigned)most : 1;
}

// Where an arena's pages are to be.
struct place {
  struct policy policy;
  int file;  // In persistent memory; else -1.
};

// Returns 0 or an errno.
static int find_place(struct place* place, const char* nodes) {
  if (!is_pmem(nodes)) return read_policy(&place->policy, nodes);
  place->policy = (struct policy){.mode = kModeDefault};
  return pmem_open(nodes, &place->file);
}

static int take_place(ts_arena* arena, struct place* place) {
  arena->file = place->file;
  atomic_store(&arena->lost, false);
  int error = 0;
  if (arena->file >= 0) {
    error = pmem_prepare(arena);
    const size_t bytes = open_end(arena) - arena->start;
    if (error == 0) error = pmem_map(arena, arena->start, bytes, PROT_NONE);
  } else {
    error = lay_slot(arena, &place->policy);
  }
  if (error == 0) set_policy(arena, &place->policy);
  return error;
}

// Takes a free slot. Returns 0 or an errno. Under table_lock.
static int make(ts_arena** result, const char* name, struct place* place, size_t capacity) {
  if (name != NULL && find(name) != NULL) return EEXIST;
  if (!reserve_slots()) return ENOMEM;
  size_t slot = 0;
  while (slot < atomic_load(&slots.count) && atomic_load(&arena_table[slot].exists)) ++slot;
  if (slot == atomic_load(&slots.count)) return EAGAIN;
  ts_arena* const arena = &arena_table[slot];
  arena->capacity = capacity;
  atomic_store(&arena->top, arena->start);
  atomic_size_t* const counters[] = {
      &arena->committed,    &arena->mapped,    &arena->spilled.bytes, &arena->spilled.count,
      &arena->failed_count, &arena->reclaimed, &arena->untouched,     &arena->granted};
  for (size_t i = 0; i < sizeof counters / sizeof *counters; ++i) atomic_store(counters[i], 0);
  int error = take_place(arena, place);
  const size_t bytes = arena->end - arena->start;
  arena->hooks = kArenaHooks;
  arena->most_heaps = most_heaps(capacity < bytes ? capacity : bytes);
  atomic_store(&arena->heap_count, 0);
  if (error == 0 && !make_heap(arena)) error = ENOMEM;
  if (error != 0) {
    empty_slot(arena);
    return error;
  }
  arena->small_pages = capacity < kLeastForHugePages;
  if (arena->small_pages) {
    madvise((void*)arena->start, open_end(arena) - arena->start, MADV_NOHUGEPAGE);
  }
  if (__lsan_register_root_region) __lsan_register_root_region((void*)arena->start, bytes);
  set_name(arena, name);
  *result = arena;
  return 0;
}

ts_arena* ts_arena_create(const char* name, const char* nodes, size_t capacity,
                          enum ts_when_full when_full) {
  const int before = errno;
  struct place place = {.file = -1};
  const size_t limit = capacity != 0 ? capacity & ~(page_bytes() - 1) : SIZE_MAX;
  const bool valid =
      (name == NULL || is_name(name)) && limit != 0 && (unsigned)when_full <= (unsigned)TS_RECLAIM;
  int error = valid ? find_place(&place, nodes) : EINVAL;
  ts_arena* arena = NULL;
  if (error == 0) {
    pthread_mutex_lock(&table_lock);
    error = make(&arena, name, &place, limit);
    if (error == 0) {
      arena->when_full = when_full;
      atomic_store(&arena->exists, true);
    }
    pthread_mutex_unlock(&table_lock);
    if (error != 0 && place.file >= 0) close(place.file);
  }
  errno = error != 0 ? error : before;
  return arena;
}

static void heap_command(const struct heap* heap, const char* what) {
  char name[64];
  snprintf(name, sizeof name, "arena.%u.%s", heap->number, what);
  je_mallctl(name, NULL, NULL, NULL, 0);
}

int ts_arena_destroy(ts_arena* arena) {
  const int before = errno;
  if (!is_arena(arena)) {
    errno = EINVAL;
    return -1;
  }
  pthread_mutex_lock(&table_lock);
  threads_forget(arena);
  fast_free_large(arena);
  for (unsigned i = 0; i < atomic_load(&arena->heap_count); ++i) {
    heap_command(&arena->heaps[i], "destroy");
  }
  unmap_all(arena);
  empty_slot(arena);
  if (arena->file >= 0) close(arena->file);
  const size_t bytes = arena->end - arena->start;
  if (__lsan_unregister_root_region) __lsan_unregister_root_region((void*)arena->start, bytes);
  atomic_store(&arena->exists, false);
  pthread_mutex_unlock(&table_lock);
  errno = before;
  return 0;
}

ts_arena* ts_arena_find(const char* name) {
  pthread_mutex_lock(&table_lock);
  ts_arena* const arena = name != NULL ? find(name) : NULL;
  pthread_mutex_unlock(&table_lock);
  if (arena == NULL) errno = ENOENT;
  return arena;
}

const char* ts_arena_name(const ts_arena* arena) {
  if (is_arena(arena)) return arena->name;
  errno = EINVAL;
  return NULL;
}

struct move {
  const struct policy* policy;
  int error;
};

static int lay_mapping(void* context, uintptr_t start, uintptr_t end) {
  const struct move* const move = context;
  return policy_lay(move->policy, start, end, 0, end - start);
}

static int settle_mapping(void* context, uintptr_t start, uintptr_t end) {
  struct move* const move = context;
  const int error = settle_pages(move->policy, start, end);
  if (error != 0) move->error = error;
  return 0;
}

static int move(ts_arena* arena, struct policy* policy) {
  struct move moved = {policy, 0};
  pthread_mutex_lock(&arena->layout);
  int error = lay_slot(arena, policy);
  if (error == 0) set_policy(arena, policy);
  pthread_mutex_unlock(&arena->layout);
  if (error != 0) return error;
  error = visit_mappings(arena, lay_mapping, &moved);
  if (error != 0) return error;
  settle_mapping(&moved, arena->start, atomic_load(&arena->top));
  visit_mappings(arena, settle_mapping, &moved);
  return moved.error;
}

int ts_arena_move(ts_arena* arena, const char* nodes) {
  const int before = errno;
  struct policy policy;
  int error = EINVAL;
  if (is_arena(arena)) {
    const bool in_file = arena->file >= 0 || is_pmem(nodes);
    error = in_file ? ENOTSUP : read_policy(&policy, nodes);
  }
  if (error == 0) {
    pthread_mutex_lock(&table_lock);
    error = move(arena, &policy);
    pthread_mutex_unlock(&table_lock);
  }
  errno = error != 0 ? error : before;
  return error != 0 ? -1 : 0;
}

static size_t unused_bytes(const ts_arena* arena) {
  size_t bytes = 0;
  for (unsigned i = 0; i < atomic_load(&arena->heap_count); ++i) {
    bytes += fast_unused(&arena->heaps[i]);
  }
  return bytes;
}

bool purge_arena(ts_arena* arena, size_t wanted, size_t* bytes) {
  const size_t before = atomic_load(&arena->committed);
  if (atomic_load(&arena->lost)) return false;
  const bool flushed = fast_flush(self, arena->index);
  if (flushed) serve_again(arena);
  const size_t unused = unused_bytes(arena);
  const size_t left = may_have_room(arena);
  if (unused == 0 || (unused < wanted && left < wanted - unused)) return flushed;
  for (unsigned i = 0; i < atomic_load(&arena->heap_count); ++i) {
    if (fast_unused(&arena->heaps[i]) != 0) heap_command(&arena->heaps[i], "purge");
  }
  const size_t after = atomic_load(&arena->committed);
  *bytes += before > after ? before - after : 0;
  return true;
}

bool purge_others(ts_arena* arena, size_t* bytes) {
  bool purged = false;
  pthread_mutex_lock(&table_lock);
  for (size_t i = 0; i < kMaxArenas; ++i) {
    ts_arena* const other = &arena_table[i];
    if (other == arena || !atomic_load(&other->exists) || !share_nodes(arena, other)) continue;
    if (purge_arena(other, 0, bytes)) purged = true;
  }
  pthread_mutex_unlock(&table_lock);
  return purged;
}
