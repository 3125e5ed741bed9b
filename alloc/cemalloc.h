// cemalloc.h: memory that a program gets by these functions lies where CE_ALLOC says.
//
// Names and behaviour are those of cemalloc, the library that HMSDK 1.1 and 2.0 have: link with
// -lcemalloc, or preload libcemalloc.so, and set CE_MODE and CE_ALLOC (docs/allocator.md). Programs
// that were linked with HMSDK's library run with this one unchanged.
//
// All functions may be called by several threads at a time, and after fork. A call that succeeds
// leaves errno as it was. Where the nodes are full, memory comes from others.
#ifndef CEMALLOC_H
#define CEMALLOC_H

#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

// What CE_ALLOC says, by the same names.
typedef enum {
  CE_ALLOC_HOST = 0,         // Memory is not placed.
  CE_ALLOC_CXL = 1,          // On the node of CE_CXL_NODE.
  CE_ALLOC_USERDEFINED = 2,  // By the weights of CE_INTERLEAVE_NODE.
  CE_ALLOC_BWAWARE = 3       // By the kernel's weights.
} CeAlloc;

// As the functions whose names follow cxl_, under every CE_MODE. cxl_realloc(ptr, 0) frees ptr and
// returns NULL; cxl_memalign and cxl_aligned_alloc take any size.
void* cxl_malloc(size_t size);
void* cxl_calloc(size_t nmemb, size_t size);
void* cxl_realloc(void* ptr, size_t size);
int cxl_posix_memalign(void** memptr, size_t alignment, size_t size);
void* cxl_memalign(size_t alignment, size_t size);
void* cxl_valloc(size_t size);
void* cxl_aligned_alloc(size_t alignment, size_t size);
void cxl_free(void* ptr);  // Takes what malloc returned, too.
size_t cxl_malloc_usable_size(void* ptr);

// As mmap; munmap ends it.
void* cxl_mmap(void* addr, size_t length, int prot, int flags, int fd, off_t offset);

// NOLINTBEGIN(readability-identifier-naming): HMSDK's names.

// From here on each thread's indicator says whether its malloc and mmap are placed, as under
// CE_MODE=CE_EXPLICIT_INDICATOR. Python's and Java's wrappers call it first.
void EnableExplicitIndicator(void);

// Set the calling thread's indicator, which is host in new threads. Return 0, or -1 where the
// indicator is not enabled, which is said on stderr.
int SetCxlMemory(void);
int SetHostMemory(void);

// Returns 1 if the calling thread's indicator is CXL, 0 if it is host.
int GetMemoryMode(void);

// NOLINTEND(readability-identifier-naming)

#ifdef __cplusplus
}
#endif

#endif
