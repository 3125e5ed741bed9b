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
  kBatch = 256,               // Pages a system call; small, since threads may have small stacks.
  kPolicyOfAddress = 1 << 1,  // MPOL_F_ADDR
  kMemsAllowed = 1 << 2,      // MPOL_F_MEMS_ALLOWED
  kMovePages = 1 << 1,        // MPOL_MF_MOVE
  kKilobyte = 1024,
  kMostFailures = 64,
};

const char* nodes_folder = "/sys/devices/system/node";

static size_t watermarks[kMaxNodes];  // Bytes below which the kernel goes to another node.
static pthread_once_t watermarks_once = PTHREAD_ONCE_INIT;

// A line of /proc/zoneinfo: a node's zone begins, or its low watermark in pages.
static void read_zone_line(const char* line, size_t* node) {
  if (strncmp(line, "Node ", 5) == 0) *node = strtoul(line + 5, NULL, 10);
  line += strspn(line, " ");
  if (*node < kMaxNodes && strncmp(line, "low ", 4) == 0) {
    watermarks[*node] += strtoul(line + 4, NULL, 10) * page_bytes();
  }
}

// Without stdio, which allocates: this runs while jemalloc holds locks.
static void read_watermarks(void) {
  const int file = open("/proc/zoneinfo", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  char text[2048];
  size_t node = kMaxNodes;
  size_t length = 0;
  for (;;) {
    const ssize_t got = read(file, text + length, sizeof text - 1 - length);
    if (got <= 0) break;
    length += (size_t)got;
    text[length] = '\0';
    char* rest = text;
    for (char* end = strchr(rest, '\n'); end != NULL; end = strchr(rest, '\n')) {
      *end = '\0';
      read_zone_line(rest, &node);
      rest = end + 1;
    }
    length = strlen(rest);
    memmove(text, rest, length);
  }
  close(file);
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

int repetition_pages(uintptr_t start, uintptr_t end, page_visitor* repetition, void* context) {
  const size_t page = page_bytes();
  void* pages[kBatch];
  int found[kBatch];
  for (uintptr_t at = start; at < end;) {
    unsigned long count = 0;
    for (; count < kBatch && at < end; ++count, at += page) pages[count] = (void*)at;
    if (syscall(SYS_move_pages, 0, count, pages, NULL, found, 0) != 0) return errno;
    for (unsigned long i = 0; i < count; ++i) repetition(context, (uintptr_t)pages[i], found[i]);
  }
  return 0;
}

struct settling {
  const struct policy* policy;
  bool stays;
  unsigned failures;  // In a row.
};

static bool move_page(uintptr_t address, int node) {
  void* page = (void*)address;
  int result = -1;
  return syscall(SYS_move_pages, 0, 1UL, &page, &node, &result, kMovePages) == 0 && result == node;
}

// The kernel drops files from a node to make room for pages that move there, and gives up rather
// than kill a process; it does not when a page is touched for the first time.
static void settle_page(void* context, uintptr_t page, int node) {
  struct settling* const settling = context;
  if (node < 0) return;  // Not touched, or another thread has unmapped it.
  const struct policy* const policy = settling->policy;
  unsigned long own[kNodeWords];
  const unsigned long* wanted = policy->mask;
  if (policy->round != 0) {
    int mode = 0;
    if (syscall(SYS_get_mempolicy, &mode, own, (unsigned long)kMaxNodes, page, kPolicyOfAddress) !=
        0) {
      return;
    }
    wanted = own;
  }
  if (policy_has_node(wanted, (size_t)node)) return;
  // On a full node the kernel looks for pages to drop each time, which takes long.
  if (settling->failures < kMostFailures) {
    for (int i = 0; i < policy->nodes; ++i) {
      if (!policy_has_node(wanted, policy->node[i]) || !move_page(page, policy->node[i])) continue;
      settling->failures = 0;
      return;
    }
    ++settling->failures;
  }
  settling->stays = true;
}

int settle_pages(const struct policy* policy, uintptr_t start, uintptr_t end) {
  struct settling settling = {.policy = policy};
  const int error = repetition_pages(start, end, settle_page, &settling);
  return error != 0 ? error : settling.stays ? EBUSY : 0;
}
