// Memory policies: read from text, laid on ranges of addresses.
#ifndef TIERSCOPE_ALLOC_POLICY_H
#define TIERSCOPE_ALLOC_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  kMaxNodes = 1024,  // The kernel's most (CONFIG_NODES_SHIFT is at most 10).
  kNodeWords = kMaxNodes / (8 * sizeof(unsigned long)),
  kLeastPage = 4096,  // Of any machine.
  // Modes as in <linux/mempolicy.h>.
  kModeDefault = 0,
  kModePreferred = 1,
  kModeBind = 2,
  kModeInterleave = 3,
  kModePreferredMany = 5,
  kModeWeighted = 6,
};

struct policy {
  int mode;      // Without weights: the kernel's.
  bool strict;   // These nodes only; see room.c.
  int nodes;     // How many.
  size_t round;  // Sum of the weights; 0 without weights.
  unsigned short node[kMaxNodes];
  unsigned char weight[kMaxNodes];
  unsigned long mask[kNodeWords];
};

// Reads "0,2", or "0@3,2@1" if `weighted`, into a policy that is zeroed; its mode stays. False
// where the text is anything else.
bool policy_read_nodes(struct policy* policy, const char* text, bool weighted);

// Reads the text of ts_arena_create into *policy. False where it is none.
bool policy_read(struct policy* policy, const char* text);

// Says why an arena with a policy cannot be made, by ts_arena_create's errno.
const char* policy_reason(int error);

bool policy_has_node(const unsigned long* mask, size_t node);
void policy_add_node(unsigned long* mask, size_t node);

// Gives pages of [start, end) a policy of the kernel's and moves what was touched. Returns 0, also
// where another thread has unmapped them meanwhile, or mbind's errno.
int policy_bind(uintptr_t start, uintptr_t end, int mode, const unsigned long* mask);

// Lays a policy on [start, end), which begins and ends with a page. With weights: in rounds of
// units, as many consecutive units on each node as its weight says. A unit has `least_unit` bytes
// or more (a power of two, 0 for a page). It is a page, or more the more `data` there is: the bytes
// that have rounds or will have; so the pieces, each a mapping to the kernel, stay within
// vm.max_map_count. Where a piece goes depends on its address alone, so there is nothing to record.
// Returns 0 or mbind's errno.
int policy_lay(const struct policy* policy, uintptr_t start, uintptr_t end, size_t least_unit,
               size_t data);

// Bytes of a page of this machine.
size_t page_bytes(void);

// How many mappings a process may have (vm.max_map_count).
size_t most_mappings(void);

// Reads the beginning of a file; returns its length, 0 where it cannot be read. `text` is ended
// by a zero.
size_t read_file(const char* path, char* text, size_t size);

#endif
