// tierscope_alloc.h: memory of a program's choice on memory tiers of its choice.
//
// An arena is a heap whose pages lie on named NUMA nodes, with a capacity and a rule for the time
// when it is full. Link with -ltierscope-alloc, or open libtierscope-alloc.so with dlopen;
// `tierscope alloc flags` prints the options. The library replaces no function of the C library.
//
// Threads: every function may be called by any number of threads at a time, with the exceptions
// that are named where they apply. No function is async-signal-safe.
// Fork: a child may use every function, as with malloc; it has its own copy of all arenas but those
// in persistent memory (below). Pages' policies are inherited. vfork children must call none of
// them. Errors: no function prints (ts_print_statistics excepted) or ends the program. A call that
// succeeds leaves errno as it was.
// Sizes are in bytes. Memory from an arena is zeroed only where a function says so.
//
// Machines: Linux, 64 bits. Placement needs a kernel with NUMA policies (CONFIG_NUMA).
#ifndef TIERSCOPE_ALLOC_H
#define TIERSCOPE_ALLOC_H

#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#define TS_API __attribute__((visibility("default")))
#define TS_ALLOCATES(...) __attribute__((malloc, alloc_size(__VA_ARGS__)))
#else
#define TS_API
#define TS_ALLOCATES(...)
#endif

typedef struct ts_arena ts_arena;

// What a call does that finds its arena full, after unused pages of the arena itself were given
// back. Full means: the capacity is reached, or the arena's nodes have no free memory for it.
enum ts_when_full {
  TS_FAIL,    // It returns NULL, errno ENOMEM.
  TS_SPILL,   // It takes plain memory, as from malloc (ts_arena_of returns NULL for it).
  TS_RECLAIM  // It takes unused pages of the other arenas on the same nodes back, then fails.
};

// Makes an arena.
//
// name: 1 to 63 printable ASCII characters without blanks; unique in the program. NULL: the library
//   chooses one ("arena1").
// nodes: where pages go, NUMA nodes in decimal (0 to 1023):
//   "2"                preferred: node 2 while it has free memory, then the arena is full
//   "0,2"              the same with several nodes, in the kernel's order of distance
//                      (MPOL_PREFERRED_MANY, Linux 5.15; on older kernels as bind:0,2)
//   "preferred:0,2"    the same, written out
//   "bind:0,2"         only there: pages are touched as they are allocated, and what does not get
//                      them on these nodes finds the arena full. The kernel is told to prefer the
//                      nodes, not to bind: its OOM killer would act where they are full. Pages that
//                      are copied after a fork, or swapped in, may lie elsewhere then.
//   "interleave:0,2"   pages in turn
//   "0@2,2@1"          two thirds to node 0, one third to node 2: weights from 1 to 255, in rounds
//                      of 2 + 1 pages (larger units for arenas of many GiB). On every kernel.
//   "weighted:0,2"     pages by the kernel's own weights (MPOL_WEIGHTED_INTERLEAVE, Linux 6.9)
//   "pmem:DIR"         persistent memory used as volatile: a file without a name in the directory
//                      DIR, which is on a file system with DAX (elsewhere it is the page cache that
//                      holds the pages). Nothing of it outlives the arena. It is full when its
//                      capacity is reached or the file system is full. ts_mmap cannot map private
//                      memory there, and ts_arena_move moves neither from nor to it. A child of
//                      fork has no access to its blocks: it may free them, not use or resize them,
//                      and finds the arena full.
// capacity: the most bytes of memory that the arena holds, rounded down to pages; 0: no limit of
//   its own. From 64 MiB on, the kernel may give huge pages, of which one can reach beyond what is
//   counted. Counted are pages that the arena has in use or keeps for reuse, and ranges of ts_mmap.
//   An arena never holds more than its share of the address space, 256 GiB as a rule (less under
//   RLIMIT_AS or with small address spaces), whatever the capacity.
//
// Returns NULL with errno EINVAL (name, nodes or when_full is none of the above, capacity smaller
// than a page), ENODEV (a node does not exist or has no memory), EEXIST (the name is in use),
// EAGAIN (64 arenas exist), ENOTSUP (this kernel has no such policy), EPERM (a sandbox forbids
// memory policies) or ENOMEM.
// With "pmem:DIR" also with what open says of DIR (ENOENT, ENOTDIR, EACCES, EROFS), ENOTSUP (its
// file system cannot allocate blocks of a file ahead and give them back; ext4, xfs and tmpfs can),
// ENOSPC, or EFBIG (RLIMIT_FSIZE is below the address space of an arena).
TS_API ts_arena* ts_arena_create(const char* name, const char* nodes, size_t capacity,
                                 enum ts_when_full when_full);

// Frees an arena and all of its memory, ranges of ts_mmap included; its pointers must not be used
// any more. No other thread may use the arena or its pointers during the call. Threads whose arena
// it was have none afterwards. What was spilled stays. Returns 0, or -1 with errno EINVAL (no
// arena).
TS_API int ts_arena_destroy(ts_arena* arena);

// Returns the arena of that name, or NULL with errno ENOENT.
TS_API ts_arena* ts_arena_find(const char* name);

// Returns the arena's name; valid until it is destroyed. NULL with errno EINVAL: no arena.
TS_API const char* ts_arena_name(const ts_arena* arena);

// Moves an arena to other nodes: pages that it has, and those to come. `nodes` is as in
// ts_arena_create, but pmem. Other threads may go on using the arena. Takes time: about 1 s for
// some GiB. Returns 0, or -1 with errno EINVAL, ENODEV, ENOTSUP or EPERM (nothing has changed),
// ENOMEM (too many mappings; some pages and some of those to come follow the old rule) or EBUSY
// (pages to come follow the new rule, but some pages stay where they are: the new nodes are full,
// or pages are pinned). ts_arena_pages says where they lie.
TS_API int ts_arena_move(ts_arena* arena, const char* nodes);

// Returns the calling thread's arena: what NULL means as `arena` in the functions below. NULL,
// as in a new thread: plain malloc. Never fails.
TS_API ts_arena* ts_thread_arena(void);

// Sets the calling thread's arena (NULL: none) and returns the one before. Threads that it starts
// do not inherit it. Never fails.
TS_API ts_arena* ts_set_thread_arena(ts_arena* arena);

// The following are as malloc, calloc, aligned_alloc and posix_memalign, from `arena`; where it is
// NULL, from the calling thread's arena, else from plain malloc. A size of 0 gives a pointer of its
// own. Pointers are aligned for any type that fits: by 16, by 8 up to 8 bytes. NULL with errno
// ENOMEM: as TS_FAIL and TS_RECLAIM say, or the size is larger than PTRDIFF_MAX, or count x size
// is.
TS_API void* ts_malloc(ts_arena* arena, size_t size) TS_ALLOCATES(2);
TS_API void* ts_calloc(ts_arena* arena, size_t count, size_t size) TS_ALLOCATES(2, 3);

// alignment: a power of two, else NULL with errno EINVAL. Any size, not only multiples of it.
TS_API void* ts_aligned_alloc(ts_arena* arena, size_t alignment, size_t size) TS_ALLOCATES(3);

// alignment: a power of two and a multiple of sizeof(void*). Returns 0, EINVAL or ENOMEM, and
// leaves errno and, where it fails, *pointer as they were.
TS_API int ts_posix_memalign(ts_arena* arena, void** pointer, size_t alignment, size_t size);

// Resizes `pointer`, which is of any arena or of malloc; the result lies in `arena`, and is copied
// where it was elsewhere. `arena` NULL: it stays in the arena, or in plain memory, where it is;
// where it is full, as its rule says. `pointer` NULL: as ts_malloc. `size` 0 with a pointer: frees
// it and returns NULL. Otherwise NULL with errno ENOMEM means that `pointer` is as it was.
TS_API void* ts_realloc(ts_arena* arena, void* pointer, size_t size);

// Frees a block of any arena or of malloc; NULL is allowed. Keeps errno. Not for ranges of ts_mmap.
TS_API void ts_free(void* pointer);

// Returns the bytes that may be used of a block, at least as many as were asked for; 0 for NULL.
TS_API size_t ts_usable_size(const void* pointer);

// As mmap and munmap, with the range placed on the arena's nodes before it is touched and counted
// against its capacity as a whole. Placed and counted are private anonymous mappings; others
// (files, MAP_SHARED) are placed where the kernel allows it and are not counted. `arena` NULL: the
// thread's, else plain mmap. Returns MAP_FAILED with mmap's errno, or ENOMEM where the arena is
// full (TS_SPILL: it is mapped without placement, and counted as spilled), or ENOTSUP where it is
// in persistent memory.
TS_API void* ts_mmap(ts_arena* arena, void* address, size_t length, int prot, int flags, int fd,
                     off_t offset);

// Unmaps whole ranges or parts of them, of ts_mmap or of mmap. Returns 0, or -1 with munmap's
// errno; EINVAL also for addresses of blocks from ts_malloc.
TS_API int ts_munmap(void* address, size_t length);

// Returns the arena of a block, or of an address in a range of ts_mmap; NULL where it is of none
// (plain memory, spilled). Keeps errno.
TS_API ts_arena* ts_arena_of(const void* pointer);

// Returns the NUMA node on which the page of an address lies now, or -1 with errno ENOENT (nothing
// has touched the page, or it is swapped out), EFAULT (not mapped) or EPERM (a sandbox forbids it).
TS_API int ts_tier_of(const void* pointer);

struct ts_statistics {
  size_t capacity;       // As given to ts_arena_create, rounded; 0: no limit.
  size_t committed;      // Bytes that count against the capacity, `mapped` included.
  size_t allocated;      // Of these, bytes in blocks that the program or threads' caches hold.
  size_t mapped;         // Bytes in ranges of ts_mmap.
  size_t spilled;        // Bytes asked for by calls that were served from plain memory instead,
  size_t spilled_count;  // and such calls, since the arena was made.
  size_t failed_count;   // Calls that failed because the arena was full.
  size_t reclaimed;      // Bytes that calls which found it full gave back to the kernel.
};

// Fills *result. Counters are exact once the threads that use the arena are at rest. Returns 0, or
// -1 with errno EINVAL (no arena).
TS_API int ts_arena_statistics(ts_arena* arena, struct ts_statistics* result);

// Sets bytes_per_node[n] for n from 0 to nodes - 1 to the bytes of the arena's memory, blocks and
// ranges of ts_mmap, that lie on node n now. Asks the kernel about each page, which takes about
// 0.1 to 1 s for each GiB. Returns 0, or -1 with errno EINVAL (no arena), ERANGE (a page lies on a
// node >= nodes; the others are counted), EPERM (a sandbox forbids it) or ENOMEM.
TS_API int ts_arena_pages(ts_arena* arena, size_t* bytes_per_node, size_t nodes);

enum ts_format { TS_TEXT, TS_JSON };

// Writes the statistics of all arenas and where their pages lie to a file descriptor: a line for
// each arena and node (TS_TEXT), or one JSON object in a line (TS_JSON). Returns 0, or -1 with
// errno EINVAL or as of write.
TS_API int ts_print_statistics(int file, enum ts_format format);

#ifdef __cplusplus
}
#endif

#endif
