// How a preloaded library reaches the functions that it stands in front of.
#ifndef TIERSCOPE_ALLOC_NEXT_H
#define TIERSCOPE_ALLOC_NEXT_H

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

// Whether this thread is in dlsym, which calls calloc before glibc 2.34, and does without the
// memory where there is none. A calloc that has to be looked up itself gives none then. Volatile:
// dlsym is declared as if it could not call back, so the compiler would drop the stores.
static _Thread_local volatile bool looking_up;

static inline void* look_up(const char* name) {
  looking_up = true;
  void* const next = dlsym(RTLD_NEXT, name);
  looking_up = false;
  return next;
}

// The next library's function of that name: the C library's, or that of an allocator that the
// program is linked with.
#define NEXT(name)                                                   \
  ({                                                                 \
    static _Atomic(void*) found;                                     \
    void* next = atomic_load_explicit(&found, memory_order_relaxed); \
    if (next == NULL) {                                              \
      next = look_up(#name);                                         \
      atomic_store_explicit(&found, next, memory_order_relaxed);     \
    }                                                                \
    (__typeof__(&(name)))next;                                       \
  })

// The library is built with hidden symbols; these are what it is for.
#define EXPORTED __attribute__((visibility("default")))

#endif
