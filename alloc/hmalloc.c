// libhmalloc.so: the functions of HMSDK's hmalloc.h, over one arena.
//
// hmctl tells it by environment: HMALLOC_JEMALLOC=1 (placement is on), HMALLOC_MPOL_MODE (a mode as
// in <linux/mempolicy.h>) and HMALLOC_NODEMASK (a decimal number of any length; bit N: node N). An
// environment that it cannot follow is said in one line on stderr; memory is then malloc's, or the
// program ends with status 1 if TIERSCOPE_ALLOC has the word "strict".
// The library is built with hidden symbols; these are what it is for.
#pragma GCC visibility push(default)
#include "hmalloc.h"
#pragma GCC visibility pop

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policy.h"
#include "text.h"
#include "tierscope_alloc.h"

enum {
  kNodes = 1024,  // As many as ts_arena_create takes.
  kPreferred = 1,
  kWeighted = 6,
};

static const char* const kPrefixes[] = {
    [kPreferred] = "", "bind:", "interleave:", NULL, "preferred:", [kWeighted] = "weighted:",
};
enum { kModes = sizeof kPrefixes / sizeof *kPrefixes };

static ts_arena* pool;  // NULL: plain malloc.

static void refuse(const char* name, const char* value, const char* what) {
  const bool strict = has_word(secure_getenv("TIERSCOPE_ALLOC"), "strict");
  dprintf(STDERR_FILENO, "libhmalloc: %s%s%.64s: %s%s\n", name, value != NULL ? "=" : "",
          value != NULL ? value : " is not set", what, strict ? "" : "; memory is not placed");
  if (strict) _exit(EXIT_FAILURE);
}

// Reads a decimal number of any length as bits; false where it is none, or has a bit >= kNodes.
static bool read_mask(const char* text, bool* bits) {
  enum { kWords = kNodes / 32 };
  uint32_t words[kWords] = {0};
  if (*text == '\0') return false;
  for (; *text != '\0'; ++text) {
    if (*text < '0' || *text > '9') return false;
    uint64_t carry = (uint64_t)(*text - '0');
    for (int i = 0; i < kWords; ++i) {
      carry += (uint64_t)words[i] * 10;
      words[i] = (uint32_t)carry;
      carry >>= 32;
    }
    if (carry != 0) return false;
  }
  for (int node = 0; node < kNodes; ++node) bits[node] = (words[node / 32] >> (node % 32) & 1) != 0;
  return true;
}

// Writes a mode and nodes as ts_arena_create takes them; false where no node is set.
static bool write_nodes(char* text, size_t size, int mode, const bool* bits) {
  size_t length = (size_t)snprintf(text, size, "%s", kPrefixes[mode]);
  bool any = false;
  for (int node = 0; node < kNodes && length < size; ++node) {
    if (!bits[node]) continue;
    length += (size_t)snprintf(text + length, size - length, any ? ",%d" : "%d", node);
    any = true;
    if (mode == kPreferred) break;  // The kernel, too, takes the first node of this mode's mask.
  }
  return any;
}

static ts_arena* create(int mode, char* nodes) {
  // A bound program is told that its nodes are full; the kernel's other modes use other nodes then.
  const enum ts_when_full when_full = mode == 2 ? TS_FAIL : TS_SPILL;
  ts_arena* const arena = ts_arena_create("hmalloc", nodes, 0, when_full);
  if (arena != NULL || errno != ENOTSUP || mode != kWeighted) return arena;
  dprintf(STDERR_FILENO,
          "libhmalloc: HMALLOC_MPOL_MODE=6: this kernel has no weighted interleave "
          "(Linux 6.9); pages go to the nodes in turn\n");
  char even[8 * kNodes];
  snprintf(even, sizeof even, "interleave:%s", strchr(nodes, ':') + 1);
  return ts_arena_create("hmalloc", even, 0, when_full);
}

__attribute__((constructor)) static void begin(void) {
  const char* const on = secure_getenv("HMALLOC_JEMALLOC");
  const char* const mode_text = secure_getenv("HMALLOC_MPOL_MODE");
  const char* const mask_text = secure_getenv("HMALLOC_NODEMASK");
  if (on == NULL || strcmp(on, "1") != 0) return;
  if (mode_text == NULL && mask_text == NULL) return;  // hmctl without a policy.
  const int error = errno;
  char* end = NULL;
  const long mode = mode_text != NULL ? strtol(mode_text, &end, 10) : 0;
  bool bits[kNodes];
  char nodes[8 * kNodes];
  if (mode_text == NULL || *end != '\0' || mode < 1 || mode >= kModes || kPrefixes[mode] == NULL) {
    refuse("HMALLOC_MPOL_MODE", mode_text,
           "it takes 1 (preferred), 2 (bind), 3 (interleave), 5 (preferred-many) or 6 "
           "(weighted interleave)");
  } else if (mask_text == NULL || !read_mask(mask_text, bits) ||
             !write_nodes(nodes, sizeof nodes, (int)mode, bits)) {
    refuse("HMALLOC_NODEMASK", mask_text,
           "it takes a decimal number whose bits are nodes (5: nodes 0 and 2), below 2^1024");
  } else {
    pool = create((int)mode, nodes);
    if (pool == NULL) refuse("HMALLOC_NODEMASK", mask_text, policy_reason(errno));
  }
  errno = error;
}

__attribute__((destructor)) static void finish(void) {
  if (pool != NULL && has_word(secure_getenv("TIERSCOPE_ALLOC"), "statistics"))
    ts_print_statistics(STDERR_FILENO, TS_TEXT);
}

void* hmalloc(size_t size) { return ts_malloc(pool, size); }

void* hcalloc(size_t nmemb, size_t size) { return ts_calloc(pool, nmemb, size); }

void* hrealloc(void* ptr, size_t size) { return ts_realloc(pool, ptr, size); }

void hfree(void* ptr) { ts_free(ptr); }

void* haligned_alloc(size_t alignment, size_t size) {
  return ts_aligned_alloc(pool, alignment, size);
}

int hposix_memalign(void** memptr, size_t alignment, size_t size) {
  const int error = ts_posix_memalign(pool, memptr, alignment, size);
  if (error != 0) *memptr = NULL;  // As HMSDK's.
  return error;
}

void* hmmap(void* addr, size_t length, int prot, int flags, int fd, off_t offset) {
  return ts_mmap(pool, addr, length, prot, flags, fd, offset);
}

int hmunmap(void* addr, size_t length) { return ts_munmap(addr, length); }

size_t hmalloc_usable_size(void* ptr) { return ts_usable_size(ptr); }
