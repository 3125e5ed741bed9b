// libcemalloc.so: the functions and the environment of HMSDK's cemalloc, over one arena. Its malloc
// and mmap are those of preload.c and preload_maps.c, with rules that are made of the environment
// in place of those that settings.c reads:
//
//   CE_MODE             CE_IMPLICIT (all of the program's memory; also if it is not set),
//                       CE_EXPLICIT (what cxl_malloc and its like return),
//                       CE_EXPLICIT_INDICATOR (that of threads which have called SetCxlMemory)
//   CE_ALLOC            CE_ALLOC_HOST (nothing is placed; also if it is not set), CE_ALLOC_CXL,
//                       CE_ALLOC_USERDEFINED, CE_ALLOC_BWAWARE
//   CE_CXL_NODE         the node of CE_ALLOC_CXL
//   CE_INTERLEAVE_NODE  the weights of CE_ALLOC_USERDEFINED, as in 0*2,1*1
//
// As in HMSDK's, an environment that is wrong ends the program with status 1 before it begins, and
// what is not set is said on stderr.
//
// The library is built with hidden symbols; these are what it is for.
#pragma GCC visibility push(default)
#include "cemalloc.h"
#pragma GCC visibility pop

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "choose.h"
#include "core.h"
#include "next.h"
#include "preload.h"
#include "settings.h"
#include "text.h"

enum mode { kImplicit, kExplicit, kIndicator };

static const char kMode[] = "CE_MODE";
static const char kAlloc[] = "CE_ALLOC";
static const char kNode[] = "CE_CXL_NODE";
static const char kWeights[] = "CE_INTERLEAVE_NODE";
static const char* const kModes[] = {"CE_IMPLICIT", "CE_EXPLICIT", "CE_EXPLICIT_INDICATOR", NULL};
static const char* const kAllocs[] = {"CE_ALLOC_HOST", "CE_ALLOC_CXL", "CE_ALLOC_USERDEFINED",
                                      "CE_ALLOC_BWAWARE", NULL};

enum { kNodesText = 12 * kMaxNodes, kMaxShares = 255 };

static ts_arena* pool;  // NULL: plain memory.
static struct rules rules;
static enum mode mode;
static atomic_bool indicated;  // Threads' indicators say which memory is placed.
static _Thread_local bool wants_cxl;

void complain(const char* what) { dprintf(STDERR_FILENO, "libcemalloc: %s\n", what); }

_Noreturn static void refuse(const char* name, const char* value, const char* what) {
  dprintf(STDERR_FILENO, "libcemalloc: %s%s%.64s: %s\n", name, value != NULL ? "=" : "",
          value != NULL ? value : " is not set", what);
  _exit(EXIT_FAILURE);
}

// The number of a variable's word; that of the first one where it is not set.
static int read_word(const char* name, const char* const* words, const char* takes) {
  const char* const value = secure_getenv(name);
  if (value == NULL) {
    dprintf(STDERR_FILENO, "libcemalloc: %s is not set: %s\n", name, words[0]);
    return 0;
  }
  for (int i = 0; words[i] != NULL; ++i) {
    if (strcmp(words[i], value) == 0) return i;
  }
  refuse(name, value, takes);
}

// Whether a thread's memory follows the rules.
static bool is_placed(void) {
  if (atomic_load_explicit(&indicated, memory_order_relaxed)) return wants_cxl && mode != kExplicit;
  return mode == kImplicit;
}

static size_t divisor(size_t a, size_t b) {
  while (b != 0) {
    const size_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

// Writes "0*2,1" as ts_arena_create takes it: "0@2,1@1", without what the weights have in common.
// False where the text is anything else.
static bool read_weights(const char* text, char* nodes, size_t size) {
  size_t node[kMaxNodes];
  size_t weight[kMaxNodes];
  size_t count = 0;
  size_t common = 0;
  for (const char* at = text; count < kMaxNodes; ++at) {
    weight[count] = 1;
    at = read_number(at, kMaxNodes - 1, &node[count]);
    if (at != NULL && *at == '*') at = read_number(at + 1, UINT32_MAX, &weight[count]);
    if (at == NULL || weight[count] == 0) return false;
    common = divisor(common, weight[count++]);
    if (*at == '\0') break;
    if (*at != ',') return false;
  }
  size_t length = 0;
  for (size_t i = 0; i < count && length < size; ++i) {
    if (weight[i] / common > kMaxShares) return false;
    length += (size_t)snprintf(nodes + length, size - length, "%s%zu@%zu", i == 0 ? "" : ",",
                               node[i], weight[i] / common);
  }
  return length < size;
}

static void check(const char* name, const char* value, const char* nodes, const char* takes) {
  static struct policy policy;
  if (!policy_read(&policy, nodes)) refuse(name, value, takes);
  const int error = check_nodes(&policy);
  if (error != 0) refuse(name, value, policy_reason(error));
}

static void read_node(char* nodes, size_t size) {
  static const char takes[] = "it takes the number of a node, as in 2";
  const char* const value = secure_getenv(kNode);
  size_t node = 0;
  const char* const end = value != NULL ? read_number(value, kMaxNodes - 1, &node) : NULL;
  if (end == NULL || *end != '\0') refuse(kNode, value, takes);
  snprintf(nodes, size, "%zu", node);
  check(kNode, value, nodes, takes);
}

static void read_shares(char* nodes, size_t size) {
  static const char takes[] =
      "it takes nodes with weights, each node once, whose ratio is 1 to 255, as in 0*2,1*1";
  const char* const value = secure_getenv(kWeights);
  if (value == NULL || !read_weights(value, nodes, size)) refuse(kWeights, value, takes);
  check(kWeights, value, nodes, takes);
}

// The kernel's weights, of the nodes whose memory this process may use. HMSDK's own kernel had a
// table of its own for this.
static void read_kernel_weights(char* nodes, size_t size) {
  char path[128];
  char text[16];
  char said[kMaxMessage] = "CE_ALLOC_BWAWARE: by the kernel's weights";
  size_t length = (size_t)snprintf(nodes, size, "weighted:");
  const size_t prefix = length;
  for (int node = 0; node < kMaxNodes && length < size; ++node) {
    snprintf(path, sizeof path, "/sys/kernel/mm/mempolicy/weighted_interleave/node%d", node);
    if (read_file(path, text, sizeof text) == 0) continue;
    struct policy policy = {.nodes = 1, .node = {(unsigned short)node}};
    policy_add_node(policy.mask, (size_t)node);
    if (check_nodes(&policy) != 0) continue;
    text[strcspn(text, "\n")] = '\0';
    const size_t end = strlen(said);
    snprintf(said + end, sizeof said - end, ", node %d: %s", node, text);
    length +=
        (size_t)snprintf(nodes + length, size - length, length == prefix ? "%d" : ",%d", node);
  }
  if (length != prefix) {
    complain(said);
    return;
  }
  if (secure_getenv(kWeights) == NULL) {
    refuse(kAlloc, kAllocs[CE_ALLOC_BWAWARE],
           "this kernel has no weights (Linux 6.9 has); set CE_INTERLEAVE_NODE, as in 0*2,1*1");
  }
  complain(
      "CE_ALLOC_BWAWARE: this kernel has no weights (Linux 6.9 has); by those of "
      "CE_INTERLEAVE_NODE, in user space");
  read_shares(nodes, size);
}

// Whether the program's calls of malloc come to this library. They do not where it was opened by
// dlopen, as Python's ctypes does, and not preloaded.
static bool replaces_malloc(void) {
  Dl_info used;
  Dl_info own;
  const void* const reached = dlsym(RTLD_DEFAULT, "malloc");
  if (dladdr((const void*)kModes, &own) == 0) return false;
  if (reached != NULL && dladdr(reached, &used) != 0 && used.dli_fbase == own.dli_fbase) {
    return true;
  }
  dprintf(STDERR_FILENO,
          "libcemalloc: malloc stays the program's, which this library was not preloaded into: "
          "only cxl_malloc and its like are placed; start it with LD_PRELOAD=%s\n",
          own.dli_fname);
  return false;
}

bool read_settings(void) {
  static char nodes[kNodesText];
  static char text[kNodesText + 128];
  mode = (enum mode)read_word(kMode, kModes,
                              "it takes CE_IMPLICIT, CE_EXPLICIT or CE_EXPLICIT_INDICATOR");
  atomic_store(&indicated, mode == kIndicator);
  const CeAlloc placement = (CeAlloc)read_word(
      kAlloc, kAllocs,
      "it takes CE_ALLOC_HOST, CE_ALLOC_CXL, CE_ALLOC_USERDEFINED or CE_ALLOC_BWAWARE");
  if (placement == CE_ALLOC_HOST) return false;
  if (placement == CE_ALLOC_CXL) read_node(nodes, sizeof nodes);
  if (placement == CE_ALLOC_USERDEFINED) read_shares(nodes, sizeof nodes);
  if (placement == CE_ALLOC_BWAWARE) read_kernel_weights(nodes, sizeof nodes);
  // Rules for mappings under every mode: munmap and mremap have to find what cxl_mmap made.
  snprintf(text, sizeof text, "arena cemalloc %s full=spill;map >= 0 -> cemalloc%s", nodes,
           mode != kExplicit && replaces_malloc() ? ";size >= 0 -> cemalloc" : "");
  char message[kMaxMessage];
  if (!parse_rules(&rules, text, strlen(text), kAlloc, ";", message) ||
      !make_arenas(&rules, kAlloc, message)) {
    complain(message);
    _exit(EXIT_FAILURE);
  }
  pool = ts_arena_find("cemalloc");
  follows_rules = is_placed;
  begin_choosing(&rules, (struct wishes){0});
  return true;
}

void print_report(void) {
  if (pool != NULL && has_word(secure_getenv("TIERSCOPE_ALLOC"), "statistics")) {
    ts_print_statistics(STDERR_FILENO, TS_TEXT);
  }
}

void* cxl_malloc(size_t size) { return FROM_ARENAS(ts_malloc(pool, size)); }

void* cxl_calloc(size_t nmemb, size_t size) { return FROM_ARENAS(ts_calloc(pool, nmemb, size)); }

void* cxl_realloc(void* ptr, size_t size) { return FROM_ARENAS(ts_realloc(pool, ptr, size)); }

int cxl_posix_memalign(void** memptr, size_t alignment, size_t size) {
  return FROM_ARENAS(ts_posix_memalign(pool, memptr, alignment, size));
}

void* cxl_memalign(size_t alignment, size_t size) {
  return FROM_ARENAS(ts_aligned_alloc(pool, alignment, size));
}

void* cxl_valloc(size_t size) { return cxl_memalign(page_bytes(), size); }

void* cxl_aligned_alloc(size_t alignment, size_t size) { return cxl_memalign(alignment, size); }

void cxl_free(void* ptr) {
  ++inside;
  ts_free(ptr);
  --inside;
}

size_t cxl_malloc_usable_size(void* ptr) { return FROM_ARENAS(ts_usable_size(ptr)); }

void* cxl_mmap(void* addr, size_t length, int prot, int flags, int fd, off_t offset) {
  return FROM_ARENAS(ts_mmap(pool, addr, length, prot, flags, fd, offset));
}

void EnableExplicitIndicator(void) { atomic_store(&indicated, true); }

static int set_indicator(bool cxl) {
  if (!atomic_load(&indicated)) {
    complain("CE_MODE is not CE_EXPLICIT_INDICATOR: the indicator has no effect");
    return -1;
  }
  wants_cxl = cxl;
  return 0;
}

int SetCxlMemory(void) { return set_indicator(true); }

int SetHostMemory(void) { return set_indicator(false); }

int GetMemoryMode(void) { return wants_cxl; }
