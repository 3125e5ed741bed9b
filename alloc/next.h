// How a preloaded library reaches the functions that it stands in front of.
#ifndef TIERSCOPE_ALLOC_NEXT_H
#define TIERSCOPE_ALLOC_NEXT_H

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

// The next library's function of that name: the C library's, or that of an allocator that the
// program is linked with.
#define NEXT(name)                                                   \
  ({                                                                 \
    static _Atomic(void*) found;                                     \
    void* next = atomic_load_explicit(&found, memory_order_relaxed); \
    if (next == NULL) {                                              \
      next = dlsym(RTLD_NEXT, #name);                                \
      atomic_store_explicit(&found, next, memory_order_relaxed);     \
    }                                                                \
    (__typeof__(&(name)))next;                                       \
  })

// The library is built with hidden symbols; these are what it is for.
#define EXPORTED __attribute__((visibility("default")))

#endif
