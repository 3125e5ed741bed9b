// ts_mmap and mremap, and moving pages: ranges of whole pages outside of the arenas' slots, each
// with its arena, in a table that is sorted by address.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core.h"

struct mapping {
  uintptr_t start;
  uintptr_t end;
  ts_arena* arena;
  bool counted;
  size_t serial;  // Number of its entry in the table, in the order of time.
};

static struct mapping* table;  // Under table_lock.
static size_t places;
static atomic_size_t used;
static atomic_size_t entries;  // Made so far.

// Index of the first mapping that ends behind an address.
static size_t first_behind(uintptr_t address) {
  size_t low = 0;
  size_t high = atomic_load(&used);
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (table[middle].end > address) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

// Makes room for one more mapping at least, and two that others may be cut into.
static bool reserve_places(void) {
  if (atomic_load(&used) + 3 <= places) return true;
  const size_t wanted = places == 0 ? 64 : 2 * places;
  const size_t bytes = wanted * sizeof *table;
  struct mapping* const larger = table == NULL ? je_mallocx(bytes, MALLOCX_TCACHE_NONE)
                                               : je_rallocx(table, bytes, MALLOCX_TCACHE_NONE);
  if (larger == NULL) return false;
  table = larger;
  places = wanted;
  return true;
}

static void insert(size_t index, struct mapping mapping) {
  const size_t count = atomic_load(&used);
  memmove(&table[index + 1], &table[index], (count - index) * sizeof *table);
  table[index] = mapping;
  atomic_store(&used, count + 1);
}

static void enter(ts_arena* arena, uintptr_t start, size_t bytes, bool counted) {
  const size_t serial = atomic_fetch_add(&entries, 1) + 1;
  insert(first_behind(start), (struct mapping){start, start + bytes, arena, counted, serial});
}

static void leave(const struct mapping* mapping, size_t bytes) {
  if (!mapping->counted) return;
  atomic_fetch_sub(&mapping->arena->mapped, bytes);
  leave_room(mapping->arena, bytes);
}

// Takes what lies in [start, end) out of the table, where its entry is not later than `last`; a
// mapping around it becomes two.
static void forget_until(uintptr_t start, uintptr_t end, size_t last) {
  size_t index = first_behind(start);
  while (index < atomic_load(&used) && table[index].start < end) {
    struct mapping* const mapping = &table[index];
    if (mapping->serial > last) {
      ++index;
      continue;
    }
    const uintptr_t from = mapping->start > start ? mapping->start : start;
    const uintptr_t to = mapping->end < end ? mapping->end : end;
    leave(mapping, to - from);
    if (mapping->start < from && to < mapping->end) {
      struct mapping rest = *mapping;
      rest.start = to;
      mapping->end = from;
      insert(index + 1, rest);
      return;
    }
    if (mapping->start < from) {
      mapping->end = from;
      ++index;
    } else if (to < mapping->end) {
      mapping->start = to;
      return;
    } else {
      const size_t count = atomic_load(&used) - 1;
      memmove(mapping, mapping + 1, (count - index) * sizeof *table);
      atomic_store(&used, count);
    }
  }
}

static void forget(uintptr_t start, uintptr_t end) { forget_until(start, end, SIZE_MAX); }

static bool touches_slots(uintptr_t start, size_t bytes) {
  const uintptr_t end = slots.base + ((size_t)atomic_load(&slots.count) << slots.shift);
  return start < end && bytes > 0 && start + (bytes - 1) >= slots.base;
}

static size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

// Bytes of the pages of a mapping.
static size_t unit_of(int flags) {
  if ((flags & MAP_HUGETLB) == 0) return page_bytes();
  const int log2 = (flags >> MAP_HUGE_SHIFT) & MAP_HUGE_MASK;
  return (size_t)1 << (log2 != 0 ? log2 : 21);
}

struct call {
  void* address;
  size_t length;
  int prot;
  int flags;
  int fd;
  off_t offset;
};

// Notes a fresh range and places it. Returns 0 or an errno. Under table_lock.
static int place(ts_arena* arena, uintptr_t start, size_t bytes, size_t unit, bool counted) {
  pthread_mutex_lock(&arena->layout);
  const int error = policy_lay(&arena->policy, start, start + bytes, unit, laid_bytes() + bytes);
  pthread_mutex_unlock(&arena->layout);
  if (error != 0 && counted) return error;  // Of files and shared memory it may be refused.
  enter(arena, start, bytes, counted);
  if (counted) atomic_fetch_add(&arena->mapped, bytes);
  return 0;
}

// Maps a range, notes it and places it. With `counted`, its bytes were taken from the arena's room.
static void* map(ts_arena* arena, const struct call* call, bool counted) {
  const size_t unit = unit_of(call->flags);
  const size_t bytes = round_up(call->length, unit);
  pthread_mutex_lock(&table_lock);
  int error = reserve_places() ? 0 : ENOMEM;
  void* result = MAP_FAILED;
  if (error == 0) {
    // Of no bytes, too: mmap says what it says. NOLINTNEXTLINE(clang-analyzer-unix.*)
    result = mmap(call->address, call->length, call->prot, call->flags, call->fd, call->offset);
    if (result == MAP_FAILED) error = errno;
  }
  if (error == 0) {
    forget((uintptr_t)result, (uintptr_t)result + bytes);
    if (arena != NULL) error = place(arena, (uintptr_t)result, bytes, unit, counted);
    if (error != 0) munmap(result, bytes);
  }
  pthread_mutex_unlock(&table_lock);
  if (error == 0) return result;
  errno = error;
  return MAP_FAILED;
}

// Maps a range that counts. False: the arena is full. A mapping that fails is a result, too.
static bool map_counted(ts_arena* arena, const struct call* call, void** result) {
  const size_t bytes = round_up(call->length, unit_of(call->flags));
  bool touch = false;
  if (!take_room(arena, bytes, &touch)) return false;
  *result = map(arena, call, true);
  if (*result == MAP_FAILED) {
    leave_room(arena, bytes);
    return true;
  }
  if (!touch || (call->prot & PROT_WRITE) == 0) return true;
  if (populate(arena, (uintptr_t)*result, (uintptr_t)*result + bytes)) return true;
  const bool fixed = (call->flags & MAP_FIXED) != 0;
  if (!fixed) ts_munmap(*result, bytes);
  note_full(arena, bytes);
  return fixed;  // What was there is gone; what is there now lies elsewhere in part.
}

static void reclaim(ts_arena* arena, size_t wanted) {
  size_t bytes = 0;
  purge_arena(arena, wanted, &bytes);
  if (arena->when_full == TS_RECLAIM) purge_others(arena, &bytes);
  atomic_fetch_add(&arena->reclaimed, bytes);
}

static void* map_private(ts_arena* arena, const struct call* call) {
  const int before = errno;
  void* result = MAP_FAILED;
  bool done = map_counted(arena, call, &result);
  if (!done) {
    reclaim(arena, call->length);
    done = map_counted(arena, call, &result);
  }
  if (!done && arena->when_full == TS_SPILL) {
    result = map(NULL, call, false);
    if (result != MAP_FAILED) {
      count_spilled(arena, this_thread(), call->length);
    }
  } else if (!done) {
    atomic_fetch_add(&arena->failed_count, 1);
    errno = ENOMEM;
  }
  if (result != MAP_FAILED) errno = before;
  return result;
}

void* ts_mmap(ts_arena* arena, void* address, size_t length, int prot, int flags, int fd,
              off_t offset) {
  const struct call call = {address, length, prot, flags, fd, offset};
  if (arena == NULL) arena = ts_thread_arena();
  const bool fixed = (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) != 0;
  if (length > PTRDIFF_MAX || (fixed && touches_slots((uintptr_t)address, length))) {
    errno = length > PTRDIFF_MAX ? ENOMEM : EINVAL;
    return MAP_FAILED;
  }
  const bool counted = (flags & MAP_ANONYMOUS) != 0 && (flags & MAP_TYPE) == MAP_PRIVATE;
  if (arena != NULL && counted && (arena->file >= 0 || atomic_load(&arena->lost))) {
    errno = ENOTSUP;  // Only mappings of files could lie there, which are not private.
    return MAP_FAILED;
  }
  if (arena != NULL && counted && length != 0) return map_private(arena, &call);
  return map(arena, &call, false);
}

int ts_munmap(void* address, size_t length) {
  const uintptr_t start = (uintptr_t)address;
  if (length > PTRDIFF_MAX || touches_slots(start, length)) {
    errno = EINVAL;
    return -1;
  }
  pthread_mutex_lock(&table_lock);
  if (!reserve_places()) {
    pthread_mutex_unlock(&table_lock);
    errno = ENOMEM;
    return -1;
  }
  const int result = munmap(address, length);
  if (result == 0) forget(start, start + round_up(length, page_bytes()));
  pthread_mutex_unlock(&table_lock);
  return result;
}

// Protection of a range.
struct protection {
  uintptr_t next;  // Known up to here.
  uintptr_t end;
  int value;
  bool mixed;  // Or it has gaps.
};

// Of /proc/self/maps: "START-END rwxp ...".
static void read_protection(void* context, const char* line) {
  struct protection* const found = context;
  char* at = NULL;
  const uintptr_t start = strtoul(line, &at, 16);
  const uintptr_t end = *at == '-' ? strtoul(at + 1, &at, 16) : 0;
  if (end <= found->next || start >= found->end || strlen(at) < 5) return;
  const int value = (at[1] == 'r' ? PROT_READ : 0) | (at[2] == 'w' ? PROT_WRITE : 0) |
                    (at[3] == 'x' ? PROT_EXEC : 0);
  if (start > found->next || (found->value >= 0 && value != found->value)) found->mixed = true;
  found->value = value;
  found->next = end;
}

// PROT_..., or -1 where it is not the same everywhere.
static int protection_of(uintptr_t start, uintptr_t end) {
  struct protection found = {.next = start, .end = end, .value = -1};
  read_lines("/proc/self/maps", read_protection, &found);
  return found.mixed || found.next < end ? -1 : found.value;
}

static bool is_writable(uintptr_t start, uintptr_t end) {
  const int protection = protection_of(start, end);
  return protection >= 0 && (protection & PROT_WRITE) != 0;
}

static bool is_zero(const char* page, size_t bytes) {
  return *page == 0 && memcmp(page, page + 1, bytes - 1) == 0;
}

// Moves a range by copying, to `target` unless that is NULL. With weights it is many mappings, of
// which the kernel moves one at a time. Returns MAP_FAILED with errno where it cannot.
static char* copy_range(ts_arena* arena, char* old, size_t old_bytes, size_t bytes, void* target) {
  const size_t kept = old_bytes < bytes ? old_bytes : bytes;
  const int protection = protection_of((uintptr_t)old, (uintptr_t)old + kept);
  if (protection < 0) {
    errno = EFAULT;  // As the kernel says of mappings that differ.
    return MAP_FAILED;
  }
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (target != NULL ? MAP_FIXED : 0);
  char* const fresh = mmap(target, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (fresh == MAP_FAILED) return MAP_FAILED;
  policy_lay(&arena->policy, (uintptr_t)fresh, (uintptr_t)fresh + bytes, 0, laid_bytes() + bytes);
  if ((protection & PROT_READ) == 0) mprotect(old, kept, protection | PROT_READ);
  const size_t page = page_bytes();
  for (size_t at = 0; at < kept; at += page) {
    if (!is_zero(old + at, page)) memcpy(fresh + at, old + at, page);
  }
  mprotect(fresh, bytes, protection);
  munmap(old, old_bytes);
  return fresh;
}

// The part of `remap` that changes mappings. Under table_lock.
static void* resize(ts_arena* arena, void* old, size_t old_bytes, size_t bytes, int flags,
                    void* target) {
  void* result = mremap(old, old_bytes, bytes, flags, target);
  pthread_mutex_lock(&arena->layout);
  const bool weighted = arena->policy.round != 0;
  if (result == MAP_FAILED && errno == EFAULT && weighted) {
    errno = ENOMEM;
    if ((flags & MREMAP_MAYMOVE) != 0) {
      result = copy_range(arena, old, old_bytes, bytes, target);
    }
  } else if (result != MAP_FAILED && weighted && bytes > old_bytes) {
    const uintptr_t start = (uintptr_t)result;
    policy_lay(&arena->policy, start + old_bytes, start + bytes, 0, laid_bytes());
  }
  pthread_mutex_unlock(&arena->layout);
  return result;
}

// Whether what is mapped at an address is counted. Under table_lock.
static bool is_counted(uintptr_t address) {
  const size_t index = first_behind(address);
  return index < atomic_load(&used) && table[index].start <= address && table[index].counted;
}

// Room for a range that grows. False: the arena is full.
static bool take_growth(ts_arena* arena, uintptr_t start, size_t growth, bool* touch) {
  pthread_mutex_lock(&table_lock);
  const bool counted = is_counted(start);
  pthread_mutex_unlock(&table_lock);
  if (!counted || growth == 0) return true;
  if (take_room(arena, growth, touch)) return true;
  reclaim(arena, growth);
  return take_room(arena, growth, touch);
}

// Bytes of a range that are an arena's. Under table_lock.
static size_t noted_bytes(uintptr_t start, uintptr_t end) {
  size_t bytes = 0;
  for (size_t i = first_behind(start); i < atomic_load(&used) && table[i].start < end; ++i) {
    const uintptr_t from = table[i].start > start ? table[i].start : start;
    bytes += (table[i].end < end ? table[i].end : end) - from;
  }
  return bytes;
}

// Notes that a range has been resized or moved, and that `growth` of it is new and the arena's.
// What was spilled stays so: the first part is the arena's. Under table_lock.
static void note_resized(ts_arena* arena, uintptr_t old, size_t old_bytes, uintptr_t start,
                         size_t bytes, size_t growth) {
  const bool counted = is_counted(old);
  const size_t noted = noted_bytes(old, old + old_bytes) + growth;
  const size_t own = noted < bytes ? noted : bytes;
  forget(old, old + old_bytes);
  forget(start, start + bytes);
  enter(arena, start, own, counted);
  if (!counted) return;
  atomic_fetch_add(&arena->mapped, own);
  atomic_fetch_add(&arena->committed, own);
}

// mremap may fail after it has unmapped what was at its target. Under table_lock.
static void forget_unmapped(uintptr_t start, size_t bytes) {
  if (msync((void*)start, bytes, MS_ASYNC) != 0 && errno == ENOMEM) forget(start, start + bytes);
}

void* remap(ts_arena* arena, void* old, size_t old_size, size_t size, int flags, void* target) {
  const int before = errno;
  const size_t page = page_bytes();
  const uintptr_t start = (uintptr_t)old;
  if (size == 0 || old_size == 0 || size > PTRDIFF_MAX || old_size > PTRDIFF_MAX ||
      start % page != 0 || touches_slots(start, old_size) ||
      ((flags & MREMAP_FIXED) != 0 && touches_slots((uintptr_t)target, size))) {
    errno = EINVAL;
    return MAP_FAILED;
  }
  const size_t old_bytes = round_up(old_size, page);
  const size_t bytes = round_up(size, page);
  const size_t growth = bytes > old_bytes ? bytes - old_bytes : 0;
  bool touch = false;
  const bool has_room = take_growth(arena, start, growth, &touch);
  if (!has_room && arena->when_full != TS_SPILL) {
    atomic_fetch_add(&arena->failed_count, 1);
    errno = ENOMEM;
    return MAP_FAILED;
  }
  pthread_mutex_lock(&table_lock);
  void* result = MAP_FAILED;
  errno = ENOMEM;
  if (reserve_places()) result = resize(arena, old, old_bytes, bytes, flags, target);
  const int error = errno;
  const bool taken = has_room && growth != 0 && is_counted(start);
  if (result != MAP_FAILED) {
    note_resized(arena, start, old_bytes, (uintptr_t)result, bytes, has_room ? growth : 0);
  } else if ((flags & MREMAP_FIXED) != 0) {
    forget_unmapped((uintptr_t)target, bytes);
  }
  if (taken) leave_room(arena, growth);  // Counted with the rest, or not needed.
  pthread_mutex_unlock(&table_lock);
  if (result == MAP_FAILED) {
    errno = error;
    return MAP_FAILED;
  }
  const uintptr_t end = (uintptr_t)result + bytes;
  if (!has_room) {
    count_spilled(arena, this_thread(), growth);
  } else if (touch && is_writable(end - growth, end)) {
    populate(arena, end - growth, end);  // Where that fails, the rest lies elsewhere.
  }
  errno = before;
  return result;
}

void* remap_plain(void* old, size_t old_size, size_t size, int flags, void* target) {
  if (atomic_load(&used) == 0) return mremap(old, old_size, size, flags, target);
  const bool fixed = (flags & MREMAP_FIXED) != 0;
  if (size > PTRDIFF_MAX || old_size > PTRDIFF_MAX ||
      (fixed && touches_slots((uintptr_t)target, size))) {
    errno = EINVAL;
    return MAP_FAILED;
  }
  const uintptr_t start = (uintptr_t)old;
  const uintptr_t end = start + round_up(old_size, page_bytes());
  const size_t bytes = round_up(size, page_bytes());
  pthread_mutex_lock(&table_lock);
  if (!reserve_places()) {
    pthread_mutex_unlock(&table_lock);
    errno = ENOMEM;
    return MAP_FAILED;
  }
  void* const result = mremap(old, old_size, size, flags, target);
  const int error = errno;
  const uintptr_t now = (uintptr_t)result;
  if (result == MAP_FAILED) {
    if (fixed) forget_unmapped((uintptr_t)target, bytes);
  } else if (now != start) {
    if ((flags & MREMAP_DONTUNMAP) == 0) forget(start, end);
    forget(now, now + bytes);
  } else if (start + bytes < end) {
    forget(start + bytes, end);
  }
  pthread_mutex_unlock(&table_lock);
  errno = error;
  return result;
}

size_t last_mapping(void) { return atomic_load(&entries); }

void forget_mappings(void* start, size_t size, size_t last) {
  if (size > PTRDIFF_MAX || atomic_load(&used) == 0) return;
  const int error = errno;
  pthread_mutex_lock(&table_lock);
  if (reserve_places()) {
    const uintptr_t end = (uintptr_t)start + round_up(size, page_bytes());
    forget_until((uintptr_t)start, end, last);
  }
  pthread_mutex_unlock(&table_lock);
  errno = error;
}

static void count_line(void* context, const char* line) {
  (void)line;
  ++*(size_t*)context;
}

// Each range of pages that was moved is a mapping by itself, and up to half of those that the
// process may have are used for them. They are counted again after so many moves, or attempts.
static bool may_move(void) {
  enum { kMoves = 4096 };
  static const size_t pieces = 2;  // Of each move.
  static atomic_int moves;
  static atomic_int refusals;
  if (atomic_fetch_sub(&moves, 1) > 0) return true;
  if (atomic_fetch_sub(&refusals, 1) > 0) return false;
  size_t mappings = 0;
  read_lines("/proc/self/maps", count_line, &mappings);
  const bool may = mappings != 0 && mappings + pieces * kMoves < most_mappings() / 2;
  atomic_store(may ? &moves : &refusals, kMoves);
  return may;
}

// What mremap may have unmapped before it failed.
static void map_again(const ts_arena* arena, void* start, size_t bytes) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (msync(start, bytes, MS_ASYNC) == 0 ||
      mmap(start, bytes, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED) {
    return;
  }
  policy_bind((uintptr_t)start, (uintptr_t)start + bytes, arena->policy.mode, arena->policy.mask);
}

// By way of other addresses: the kernel leaves a mapping at the old ones only where it moves pages
// without adding any, and what takes the place of the new ones has to be one mapping, of which
// pages can be moved again. At no time is there a gap in the arena's slot, which others might map.
static bool move_pages_of(const ts_arena* arena, void* from, size_t from_bytes, void* to,
                          size_t to_bytes) {
  enum { kKeepMapping = 4 };  // MREMAP_DONTUNMAP, which Linux has from 5.7 on.
  void* const between = mremap(from, from_bytes, from_bytes, MREMAP_MAYMOVE | kKeepMapping, NULL);
  if (between == MAP_FAILED) return false;
  const int flags = MREMAP_MAYMOVE | MREMAP_FIXED;
  if (mremap(between, from_bytes, to_bytes, flags, to) == to) return true;
  map_again(arena, to, to_bytes);
  memcpy(to, between, from_bytes);
  munmap(between, from_bytes);
  return true;
}

// Whether pages go to nodes in turn. A small block may lie on one of them, as part of a huge page;
// with more pages added to it, a large block would not have its shares.
static bool takes_turns(const struct policy* policy) {
  return policy->round != 0 || policy->mode == kModeInterleave || policy->mode == kModeWeighted;
}

bool move_block_pages(ts_arena* arena, void* from, size_t from_bytes, void* to, size_t to_bytes) {
  // What is touched already would be freed.
  if (arena->file >= 0 || atomic_load(&arena->strict) || !may_move()) return false;
  const int error = errno;
  pthread_mutex_lock(&arena->layout);
  const bool moved =
      !takes_turns(&arena->policy) && move_pages_of(arena, from, from_bytes, to, to_bytes);
  pthread_mutex_unlock(&arena->layout);
  errno = error;
  return moved;
}

ts_arena* mapping_arena(const void* pointer) {
  if (atomic_load(&used) == 0) return NULL;
  pthread_mutex_lock(&table_lock);
  const size_t index = first_behind((uintptr_t)pointer);
  const bool found = index < atomic_load(&used) && table[index].start <= (uintptr_t)pointer;
  ts_arena* const arena = found ? table[index].arena : NULL;
  pthread_mutex_unlock(&table_lock);
  return arena;
}

int visit_mappings(const ts_arena* arena, range_visitor* visit, void* context) {
  for (size_t i = 0; i < atomic_load(&used); ++i) {
    if (table[i].arena != arena) continue;
    const int error = visit(context, table[i].start, table[i].end);
    if (error != 0) return error;
  }
  return 0;
}

void unmap_all(const ts_arena* arena) {
  for (size_t i = atomic_load(&used); i-- > 0;) {
    if (table[i].arena != arena) continue;
    munmap((void*)table[i].start, table[i].end - table[i].start);
    forget(table[i].start, table[i].end);
  }
}
