// hmalloc.h: memory that a program gets by these functions lies where hmctl says.
//
// Names and behaviour are those of HMSDK's hmalloc.h: link with -lhmalloc, and start the program by
// `tierscope hmctl` (or HMSDK's hmctl) with a policy and nodes. Started without, these functions
// are malloc's and mmap's. Programs that were linked with HMSDK's library run with this one
// unchanged.
//
// All of them may be called by several threads at a time, and after fork. A call that succeeds
// leaves errno as it was.
#ifndef HMALLOC_H
#define HMALLOC_H

#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

// As malloc and calloc: NULL with errno ENOMEM where there is no memory, and a pointer of its own
// for a size of 0. Under -m (bind), also where the nodes have no memory left; under the other
// policies, memory then comes from other nodes.
void* hmalloc(size_t size);
void* hcalloc(size_t nmemb, size_t size);

// As realloc, for pointers of hmalloc and of malloc. hrealloc(NULL, size) is hmalloc(size).
// hrealloc(ptr, 0) frees ptr and returns NULL.
void* hrealloc(void* ptr, size_t size);

// Frees what any function of this header but hmmap returned, and what malloc did. Keeps errno.
void hfree(void* ptr);

// alignment: a power of two, else NULL with errno EINVAL. Any size, not only multiples of it.
void* haligned_alloc(size_t alignment, size_t size);

// alignment: a power of two and a multiple of sizeof(void *). Returns 0, EINVAL or ENOMEM, leaves
// errno as it was, and sets *memptr to NULL where it fails.
int hposix_memalign(void** memptr, size_t alignment, size_t size);

// As mmap and munmap. Where memory cannot be placed, the result is MAP_FAILED, too, never NULL.
void* hmmap(void* addr, size_t length, int prot, int flags, int fd, off_t offset);
int hmunmap(void* addr, size_t length);

// Bytes that may be used of a block, at least as many as were asked for; 0 for NULL.
size_t hmalloc_usable_size(void* ptr);

#ifdef __cplusplus
}
#endif

#endif
