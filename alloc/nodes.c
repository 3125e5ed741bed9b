// What the kernel says of NUMA nodes and of where pages lie.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core.h"

enum {
  kBatch = 128,               // Pages a system call; small, since threads may have small stacks.
  kPolicyOfAddress = 1 << 1,  // MPOL_F_ADDR
  kMemsAllowed = 1 << 2,      // MPOL_F_MEMS_ALLOWED
  kMovePages = 1 << 1,        // MPOL_MF_MOVE
  kKilobyte = 1024,
  kMostFailures = 64,
};

// Pages, and the nodes they are on, or negative errnos.
struct batch {
  unsigned long count;
  void* pages[kBatch];
  int found[kBatch];
};

const char* nodes_folder = "/sys/devices/system/node";

static size_t watermarks[kMaxNodes];  // Bytes below which the kernel goes to another node.
static pthread_once_t watermarks_once = PTHREAD_ONCE_INIT;

// A line of /proc/zoneinfo: a node's zone begins, or its low watermark in pages.
static void read_zone_line(void* context, const char* line) {
  size_t* const node = context;
  if (strncmp(line, "Node ", 5) == 0) *node = strtoul(line + 5, NULL, 10);
  line += strspn(line, " ");
  if (*node < kMaxNodes && strncmp(line, "low ", 4) == 0) {
    watermarks[*node] += strtoul(line + 4, NULL, 10) * page_bytes();
  }
}

void read_lines(const char* path, line_visitor* visit, void* context) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  char text[2048];
  size_t length = 0;
  bool begun = false;  // What is in `text` goes on with a line that was too long.
  for (;;) {
    const ssize_t got = read(file, text + length, sizeof text - 1 - length);
    if (got <= 0) break;
    length += (size_t)got;
    text[length] = '\0';
    char* rest = text;
    for (char* end = strchr(rest, '\n'); end != NULL; end = strchr(rest, '\n')) {
      *end = '\0';
      if (!begun) visit(context, rest);
      begun = false;
      rest = end + 1;
    }
    length = strlen(rest);
    memmove(text, rest, length + 1);
    if (length < sizeof text - 1) continue;
    if (!begun) visit(context, text);
    begun = true;
    length = 0;
  }
  close(file);
}

static void read_watermarks(void) {
  size_t node = kMaxNodes;
  read_lines("/proc/zoneinfo", read_zone_line, &node);
}

// The number after a word in a node's meminfo, in bytes.
static size_t amount(const char* text, const char* word) {
  const char* const at = strstr(text, word);
  return at != NULL ? strtoull(at + strlen(word), NULL, 10) * kKilobyte : 0;
}

bool read_node_memory(size_t node, struct node_memory* memory) {
  char path[256];
  char text[2048];
  snprintf(path, sizeof path, "%s/node%zu/meminfo", nodes_folder, node);
  if (read_file(path, text, sizeof text) == 0) return false;
  pthread_once(&watermarks_once, read_watermarks);
  const size_t all = amount(text, "MemFree:");
  memory->free = all > watermarks[node] ? all - watermarks[node] : 0;
  memory->file = amount(text, "Active(file):") + amount(text, "Inactive(file):");
  return true;
}

// Whether a list such as "0-2,4" has a number.
static bool list_has(const char* text, size_t number) {
  while (*text >= '0' && *text <= '9') {
    char* end = NULL;
    const size_t first = strtoul(text, &end, 10);
    const size_t last = *end == '-' ? strtoul(end + 1, &end, 10) : first;
    if (number >= first && number <= last) return true;
    text = *end == ',' ? end + 1 : end;
  }
  return false;
}

int check_nodes(const struct policy* policy) {
  char path[256];
  char list[4096];
  snprintf(path, sizeof path, "%s/has_memory", nodes_folder);
  const bool listed = read_file(path, list, sizeof list) != 0;
  unsigned long allowed[kNodeWords] = {0};
  const bool limited =
      syscall(SYS_get_mempolicy, NULL, allowed, (unsigned long)kMaxNodes, NULL, kMemsAllowed) == 0;
  for (int i = 0; i < policy->nodes; ++i) {
    if (listed && !list_has(list, policy->node[i])) return ENODEV;
    if (limited && !policy_has_node(allowed, policy->node[i])) return ENODEV;
  }
  return 0;
}

// Reads the nodes of pages from *at on; *at becomes where the batch ends. Returns 0 or an errno.
static int read_nodes(uintptr_t* at, uintptr_t end, struct batch* batch) {
  batch->count = 0;
  for (; batch->count < kBatch && *at < end; ++batch->count, *at += page_bytes()) {
    batch->pages[batch->count] = (void*)*at;
  }
  return syscall(SYS_move_pages, 0, batch->count, batch->pages, NULL, batch->found, 0) != 0 ? errno
                                                                                            : 0;
}

int visit_pages(uintptr_t start, uintptr_t end, page_visitor* visit, void* context) {
  struct batch batch;
  for (uintptr_t at = start; at < end;) {
    const int error = read_nodes(&at, end, &batch);
    if (error != 0) return error;
    for (unsigned long i = 0; i < batch.count; ++i) {
      visit(context, (uintptr_t)batch.pages[i], batch.found[i]);
    }
  }
  return 0;
}

// The node that a page with weights belongs on; -1: another thread has unmapped it.
static int weighted_node(const struct policy* policy, const void* page) {
  int mode = 0;
  unsigned long own[kNodeWords];
  if (syscall(SYS_get_mempolicy, &mode, own, (unsigned long)kMaxNodes, page, kPolicyOfAddress) !=
      0) {
    return -1;
  }
  for (int i = 0; i < policy->nodes; ++i) {
    if (policy_has_node(own, policy->node[i])) return policy->node[i];
  }
  return -1;
}

// The node that a page is to be moved to in a turn; -1: none.
static int target(const struct policy* policy, const void* page, int node, int turn) {
  if (node < 0) return -1;  // Not touched, or another thread has unmapped it.
  if (policy->round == 0) {
    return policy_has_node(policy->mask, (size_t)node) ? -1 : policy->node[turn];
  }
  const int wanted = weighted_node(policy, page);
  return wanted != node ? wanted : -1;
}

// Moves pages of a batch towards one node each. Returns how many did not move.
static unsigned long move_batch(const struct policy* policy, struct batch* batch, int turn) {
  void* pages[kBatch];
  int nodes[kBatch];
  unsigned long places[kBatch];
  unsigned long count = 0;
  for (unsigned long i = 0; i < batch->count; ++i) {
    const int node = target(policy, batch->pages[i], batch->found[i], turn);
    if (node < 0) continue;
    places[count] = i;
    pages[count] = batch->pages[i];
    nodes[count++] = node;
  }
  if (count == 0) return 0;
  // One call: each makes all processors empty their lists of pages. It ends at the first failure.
  int found[kBatch];
  syscall(SYS_move_pages, 0, count, pages, nodes, found, kMovePages);
  if (syscall(SYS_move_pages, 0, count, pages, NULL, found, 0) != 0) return count;
  unsigned long stay = 0;
  for (unsigned long i = 0; i < count; ++i) {
    batch->found[places[i]] = found[i];
    if (target(policy, pages[i], found[i], turn) >= 0) ++stay;
  }
  return stay;
}

struct settling {
  const struct policy* policy;
  bool stays;
  unsigned long failures;  // Pages in a row.
};

// The kernel drops files from a node to make room for pages that move there, and gives up rather
// than kill a process; it does not when a page is touched for the first time.
static void settle_batch(struct settling* settling, struct batch* batch) {
  const struct policy* const policy = settling->policy;
  const int turns = policy->round != 0 ? 1 : policy->nodes;
  unsigned long before = 0;
  for (unsigned long i = 0; i < batch->count; ++i) {
    if (target(policy, batch->pages[i], batch->found[i], 0) >= 0) ++before;
  }
  if (before == 0) return;
  unsigned long stay = before;
  // On a full node the kernel looks for pages to drop each time, which takes long.
  const bool tries = settling->failures < kMostFailures;
  for (int turn = 0; tries && turn < turns && stay != 0; ++turn) {
    stay = move_batch(policy, batch, turn);
  }
  settling->failures = stay == before ? settling->failures + stay : 0;
  if (stay != 0) settling->stays = true;
}

int settle_pages(const struct policy* policy, uintptr_t start, uintptr_t end) {
  struct settling settling = {.policy = policy};
  struct batch batch;
  for (uintptr_t at = start; at < end;) {
    const int error = read_nodes(&at, end, &batch);
    if (error != 0) return error;
    settle_batch(&settling, &batch);
  }
  return settling.stays ? EBUSY : 0;
}
