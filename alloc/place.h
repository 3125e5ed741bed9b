// What the two halves of libtierscope-place.so share: place.c says where memory goes, calls.c sees
// where it comes from.
#ifndef TIERSCOPE_ALLOC_PLACE_H
#define TIERSCOPE_ALLOC_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Whether memory is to be placed; false until the library's constructor has read how.
bool placing(void);

// Gives a mapped range its policy and moves what was touched. Units of weighted rounds have
// `least_unit` bytes or more (a power of two, 0 for a page). Keeps errno; any thread, any time.
void place_range(uintptr_t start, size_t size, size_t least_unit);

// Marks a range that is only reserved, so that `is_ours` finds it when it becomes usable.
void mark_range(uintptr_t start, size_t size);

// Whether the page has the policy that this library gives.
bool is_ours(uintptr_t page);

// Says once for the whole program, on stderr, what is not placed; `error` is an errno or 0.
void complain(const char* what, int error);

// Takes the break as it is for placed.
void begin_break(void);

#endif
