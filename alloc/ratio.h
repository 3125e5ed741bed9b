// The threshold that keeps the bytes of two sides in a ratio: after memkind's dynamic threshold,
// whose documentation gives method and numbers (memkind_memtier(3), libmemtier(7)).
#ifndef TIERSCOPE_ALLOC_RATIO_H
#define TIERSCOPE_ALLOC_RATIO_H

#include "rules.h"

#ifdef __cplusplus
extern "C" {
#endif

// Begins with the line's threshold and no bytes. Call before other threads use the following.
void begin_ratio(const struct ratio_line* line);

// The side of a block of that size: 0 below the threshold, else 1. Any thread.
int side_of(size_t size);

// Counts a block that one side got (bytes > 0) or gave back (bytes < 0). After each window of
// blocks that were got, the threshold is compared with what the sides have. Any thread.
void count_on_side(int side, ptrdiff_t bytes);

struct ratio_state {
  size_t threshold;    // Bytes.
  ptrdiff_t bytes[2];  // On each side. What was allocated before the ratio began is missing, so
                       // that a side can be negative.
  size_t moves;        // How often the threshold has moved.
};

// What is counted, blocks that threads have not added up yet included. Any thread.
struct ratio_state read_ratio_state(void);

#ifdef __cplusplus
}
#endif

#endif
