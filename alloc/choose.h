// Which arena a block or a mapping comes from, by the rules.
#ifndef TIERSCOPE_ALLOC_CHOOSE_H
#define TIERSCOPE_ALLOC_CHOOSE_H

#include <stdbool.h>
#include <stddef.h>

#include "rules.h"

// What TIERSCOPE_ALLOC asks for, and other variables.
struct wishes {
  bool strict, statistics, sites, check;
  bool heat;  // An arena for each call site, whatever the rules; TIERSCOPE_ALLOC_HEAT asks for it.
};

// Makes the arenas of the rules. Returns false with a line in `message` where one cannot be made;
// none is left then. `source` is what the message calls the rules.
bool make_arenas(const struct rules* rules, const char* source, char message[kMaxMessage]);

// Begins to choose by rules whose arenas are made. Call once, before the following; the rules stay
// in use.
void begin_choosing(const struct rules* rules, struct wishes wishes);

// Whether rules apply to the calling thread at the moment. NULL: to all threads.
extern bool (*follows_rules)(void);

// Whether any rule is about blocks, or their sites are counted; and about mappings.
bool chooses_blocks(void);
bool chooses_mappings(void);

// Whether live bytes are counted, for a ratio.
bool counts_bytes(void);
// The smallest size that a rule may take into an arena, or that is counted; SIZE_MAX: there is
// none.
size_t least_chosen(void);

struct choice {
  ts_arena* arena;  // NULL: plain malloc.
  bool may_stay;    // A block of another arena that is resized need not move here.
};

// The choice for a block that `caller` (a return address) asks for.
struct choice choose(size_t size, const void* caller);

// The arena for a private anonymous mapping, NULL for plain mmap.
ts_arena* choose_for_mapping(size_t size);

// Counts a block's bytes for the ratio: got (bytes > 0) or given back. `arena` is NULL for plain
// memory.
void count_bytes(const ts_arena* arena, ptrdiff_t bytes);

// A thread has got another name.
void forget_thread_names(void);

// Whether rules have taken anything; without statistics, whether call sites have got 1 MiB.
bool has_taken(void);

// Prints what was asked for, to a file descriptor.
void report(int file);

// Prints the same as members of a JSON object, a comma before each; no line ends.
void report_json(int file);

#endif
