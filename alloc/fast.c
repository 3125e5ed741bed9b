// What programs do most: small blocks that the thread's cache of an arena has or takes. By
// jemalloc's own inline functions, as its malloc and free do it, but without counting bytes; the
// calls that have flags, mallocx and dallocx, take twice as long. The headers belong to the version
// that tools/bootstrap pins.
#include <jemalloc/internal/jemalloc_preamble.h>
// After it.
#include <jemalloc/internal/jemalloc_internal_includes.h>
#include <string.h>

#include "core.h"

_Static_assert(RTREE_HEIGHT == 2, "blocks are looked up in two steps");

void* fast_cache(unsigned number) { return tcaches_get(tsd_fetch(), number); }

bool fast_flush(struct thread* thread, size_t slot) {
  tcache_t* const cache = thread->caches[slot];
  if (cache == NULL) return false;
  bool flushed = false;
  for (szind_t kind = 0; kind < nhbins; ++kind) {
    cache_bin_t* const bin = &cache->bins[kind];
    if (cache_bin_ncached_get_local(bin, &tcache_bin_info[kind]) == 0) continue;
    flushed = true;
    if (kind < SC_NBINS) {
      tcache_bin_flush_small(tsd_fetch(), cache, bin, kind, 0);
    } else {
      tcache_bin_flush_large(tsd_fetch(), cache, bin, kind, 0);
    }
  }
  return flushed;
}

size_t fast_unused(const struct heap* heap) {
  pac_t* const pages = &arena_get(tsdn_fetch(), heap->number, false)->pa_shard.pac;
  return (ecache_npages_get(&pages->ecache_dirty) + ecache_npages_get(&pages->ecache_muzzy)) * PAGE;
}

_Static_assert(SC_NSIZES <= kMaxKinds, "a bit for each size of blocks");

unsigned fast_kind(size_t size) {
  return size <= SC_LARGE_MAXCLASS ? sz_size2index(size + (size == 0)) : kMaxKinds;
}

void fast_free_large(const ts_arena* arena) {
  tsdn_t* const thread = tsdn_fetch();
  const uintptr_t top = atomic_load(&arena->top);
  for (uintptr_t at = arena->start; at < top;) {
    emap_full_alloc_ctx_t found = {.edata = NULL};
    emap_full_alloc_ctx_try_lookup(thread, &arena_emap_global, (void*)at, &found);
    if (found.edata == NULL) {  // A gap, or within free pages that went together.
      at += PAGE;
      continue;
    }
    at = (uintptr_t)edata_past_get(found.edata);
    if (!found.slab && edata_state_get(found.edata) == extent_state_active) {
      large_dalloc(thread, found.edata);
    }
  }
}

// A block of the thread's cache; NULL where it has none of that size.
static inline void* take_cached(const struct thread* thread, const ts_arena* arena, size_t size) {
  tcache_t* const cache = thread->caches[arena->index];
  if (unlikely(cache == NULL || size > tcache_maxclass)) return NULL;
  const szind_t kind =
      likely(size <= SC_LOOKUP_MAXCLASS) ? sz_size2index_lookup(size) : sz_size2index_compute(size);
  bool found = false;
  // NOLINTNEXTLINE(clang-analyzer-security.ArrayBound): tcache_maxclass has a bin.
  void* const block = cache_bin_alloc(&cache->bins[kind], &found);
  return likely(found) ? block : NULL;
}

// Blocks of small sizes that are multiples of an alignment up to a page are aligned to it.
void* take_aligned(const ts_arena* arena, size_t alignment, size_t size) {
  if (alignment > PAGE || size > SC_SMALL_MAXCLASS) return NULL;
  const size_t bytes = sz_sa2u(size + (size == 0), alignment);
  return bytes <= SC_SMALL_MAXCLASS ? take_cached(self, arena, bytes) : NULL;
}

// A plain block, where the full arena is known to have none of that size, and the thread need not
// look whether that has changed. NULL: the long way decides.
static void* spill_small(struct thread* thread, ts_arena* arena, size_t size) {
  if (thread->not_look == 0 || size > SC_LOOKUP_MAXCLASS) return NULL;
  const szind_t kind = sz_size2index_lookup(size);
  const uint64_t kinds = atomic_load_explicit(&arena->refused[kind / 64], memory_order_relaxed);
  if ((kinds >> kind % 64 & 1) == 0) return NULL;
  void* const block = plain_malloc(size);
  if (block == NULL) return NULL;
  --thread->not_look;
  count_spilled(arena, thread, size);
  return block;
}

void* ts_malloc(ts_arena* arena, size_t size) {
  struct thread* const thread = self;
  if (arena == NULL) arena = atomic_load_explicit(&thread->arena, memory_order_relaxed);
  if (unlikely(arena == NULL)) return plain_malloc(size);
  void* block = take_cached(thread, arena, size);
  if (likely(block != NULL)) return block;
  if (atomic_load_explicit(&arena->refuses, memory_order_relaxed)) {
    block = spill_small(thread, arena, size);
    if (likely(block != NULL)) return block;
  }
  return allocate(arena, size, 0);
}

void* ts_calloc(ts_arena* arena, size_t count, size_t size) {
  arena = chosen(arena);
  if (unlikely(arena == NULL)) return plain_calloc(count, size);
  size_t bytes = 0;
  // jemalloc refuses so large a size.
  if (unlikely(__builtin_mul_overflow(count, size, &bytes))) bytes = SIZE_MAX;
  void* const block = take_cached(self, arena, bytes);
  return likely(block != NULL) ? memset(block, 0, bytes) : allocate(arena, bytes, MALLOCX_ZERO);
}

// The number of a block's size, from jemalloc's tree of pages. All that lies in an arena's slot and
// was handed out is in it, so that neither the thread nor a lock is needed to look it up.
static inline szind_t kind_of(const void* pointer) {
  rtree_t* const tree = &arena_emap_global.rtree;
  const uintptr_t key = (uintptr_t)pointer;
  rtree_leaf_elm_t* const leaf =
      atomic_load_p(&tree->root[rtree_subkey(key, 0)].child, ATOMIC_ACQUIRE);
  return rtree_leaf_elm_read(TSDN_NULL, tree, &leaf[rtree_subkey(key, 1)], true).metadata.szind;
}

void ts_free(void* pointer) {
  const size_t slot = slot_of(pointer);
  if (unlikely(slot >= kMaxArenas)) {
    plain_free(pointer);
    return;
  }
  tcache_t* const cache = self->caches[slot];
  const szind_t kind = kind_of(pointer);
  if (unlikely(cache == NULL) || unlikely(kind >= nhbins) ||
      unlikely(!cache_bin_dalloc_easy(&cache->bins[kind], pointer))) {
    release(pointer, slot);
  }
}

size_t ts_usable_size(const void* pointer) {
  if (likely(in_arena(pointer))) return sz_index2size(kind_of(pointer));
  return pointer != NULL ? plain_usable_size(pointer) : 0;
}
