// What the halves of the preloaded allocator share: preload.c stands in front of the functions of
// blocks, preload_maps.c in front of those of mappings.
#ifndef TIERSCOPE_ALLOC_PRELOAD_H
#define TIERSCOPE_ALLOC_PRELOAD_H

// Above 0 while this thread is in the arenas' functions, whose own allocations are plain.
extern _Thread_local int inside __attribute__((visibility("hidden")));

// Evaluates a call of the arenas' functions.
#define FROM_ARENAS(call)               \
  ({                                    \
    ++inside;                           \
    const __auto_type result_ = (call); \
    --inside;                           \
    result_;                            \
  })

// Begins to place mappings, where there are rules for them.
void begin_mappings(void);

#endif
