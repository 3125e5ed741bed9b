#include "policy.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
  kWordBits = 8 * sizeof(unsigned long),
  kMoveTouched = 1 << 1,  // MPOL_MF_MOVE
  kPiecesPerRange = 32,   // What max_map_count is divided by; see unit_bytes.
  kRoundsOfHugePages = 64,
  kMaxWeight = 255,
};

static const uintptr_t kBlock = UINT64_C(1) << 26;  // glibc aligns its arenas so.

static struct {
  size_t page;
  size_t huge_page;  // 0 where the kernel makes none by itself.
  size_t mappings;   // vm.max_map_count
} machine;
static pthread_once_t machine_once = PTHREAD_ONCE_INIT;

size_t read_file(const char* path, char* text, size_t size) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t got = read(file, text, size - 1);
  close(file);
  text[got > 0 ? got : 0] = '\0';
  return got > 0 ? (size_t)got : 0;
}

static size_t number_in(const char* path, size_t otherwise) {
  char text[64];
  return read_file(path, text, sizeof text) != 0 ? strtoull(text, NULL, 10) : otherwise;
}

static void read_machine(void) {
  machine.page = (size_t)sysconf(_SC_PAGESIZE);
  char text[64];
  if (read_file("/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof text) != 0 &&
      strstr(text, "[never]") == NULL) {
    machine.huge_page = number_in("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", 0);
  }
  machine.mappings = number_in("/proc/sys/vm/max_map_count", 65530);
}

size_t page_bytes(void) {
  pthread_once(&machine_once, read_machine);
  return machine.page;
}

const char* policy_reason(int error) {
  switch (error) {
    case ENODEV:
      return "one of these nodes does not exist or has no memory";
    case ENOTSUP:
      return "this kernel has no such policy";
    case EPERM:
      return "a sandbox forbids memory policies (mbind)";
    default:
      return strerror(error);
  }
}

size_t most_mappings(void) {
  pthread_once(&machine_once, read_machine);
  return machine.mappings;
}

bool policy_has_node(const unsigned long* mask, size_t node) {
  return node < kMaxNodes && (mask[node / kWordBits] >> (node % kWordBits) & 1) != 0;
}

void policy_add_node(unsigned long* mask, size_t node) {
  // Callers have compared it with kMaxNodes. NOLINTNEXTLINE(clang-analyzer-security.ArrayBound)
  mask[node / kWordBits] |= 1UL << (node % kWordBits);
}

bool policy_read_nodes(struct policy* policy, const char* text, bool weighted) {
  while (policy->nodes < kMaxNodes) {
    if (*text < '0' || *text > '9') return false;
    char* end = NULL;
    const unsigned long node = strtoul(text, &end, 10);
    if (node >= kMaxNodes || policy_has_node(policy->mask, node)) return false;
    policy->node[policy->nodes] = (unsigned short)node;
    policy_add_node(policy->mask, node);
    if (weighted) {
      if (end[0] != '@' || end[1] < '0' || end[1] > '9') return false;
      const unsigned long weight = strtoul(end + 1, &end, 10);
      if (weight < 1 || weight > kMaxWeight) return false;
      policy->weight[policy->nodes] = (unsigned char)weight;
      policy->round += weight;
    }
    ++policy->nodes;
    if (*end == '\0') return true;
    if (*end != ',') return false;
    text = end + 1;
  }
  return false;
}

bool policy_read(struct policy* policy, const char* text) {
  static const struct {
    const char* word;
    int mode;
    bool strict;
  } modes[] = {{"preferred:", kModePreferred, false},
               {"bind:", kModePreferred, true},
               {"interleave:", kModeInterleave, false},
               {"weighted:", kModeWeighted, false}};
  *policy = (struct policy){.mode = kModePreferred};
  if (text == NULL) return false;
  bool weighted = strchr(text, '@') != NULL;
  for (size_t i = 0; i < sizeof modes / sizeof *modes; ++i) {
    const size_t length = strlen(modes[i].word);
    if (strncmp(text, modes[i].word, length) != 0) continue;
    policy->mode = modes[i].mode;
    policy->strict = modes[i].strict;
    text += length;
    weighted = false;
    break;
  }
  if (!policy_read_nodes(policy, text, weighted)) return false;
  if (policy->mode == kModePreferred && policy->nodes > 1) policy->mode = kModePreferredMany;
  return true;
}

int policy_bind(uintptr_t start, uintptr_t end, int mode, const unsigned long* mask) {
  const long result =
      syscall(SYS_mbind, start, end - start, mode, mask, kMaxNodes + 1UL, kMoveTouched);
  return result == 0 || errno == EFAULT ? 0 : errno;
}

// All memory together takes about so many rounds as are allowed each time that it doubles, so that
// even 4 TiB in small ranges stay below half of max_map_count.
static size_t unit_bytes(const struct policy* policy, size_t range, size_t least, size_t data) {
  size_t rounds = machine.mappings / kPiecesPerRange / (size_t)policy->nodes;
  if (rounds == 0) rounds = 1;
  const size_t wanted = (range > data ? range : data) / (rounds * policy->round);
  size_t unit = kLeastPage;
  while (unit < machine.page || unit < least || unit < wanted) unit *= 2;
  const size_t huge_round = machine.huge_page * policy->round;
  if (huge_round != 0 && unit < machine.huge_page && range / huge_round >= kRoundsOfHugePages) {
    unit = machine.huge_page;
  }
  return unit;
}

// Rounds begin at another unit in each block, or every arena would begin on the same node.
static size_t shift_of(uintptr_t block) {
  return (size_t)((block * UINT64_C(0x9E3779B97F4A7C15)) >> 40);
}

static int lay_by_weights(const struct policy* policy, uintptr_t start, uintptr_t end,
                          size_t unit) {
  const size_t round = policy->round;
  const uintptr_t block = kBlock > unit * round ? kBlock : unit * round;
  for (uintptr_t at = start; at < end;) {
    size_t position = (at / unit + shift_of(at / block)) % round;
    int i = 0;
    for (; position >= policy->weight[i]; ++i) position -= policy->weight[i];
    uintptr_t stop = (at / unit + policy->weight[i] - position) * unit;
    const uintptr_t block_end = (at / block + 1) * block / unit * unit;
    if (stop > block_end && block_end > at) stop = block_end;
    if (stop > end) stop = end;
    unsigned long mask[kNodeWords] = {0};
    policy_add_node(mask, policy->node[i]);
    const int error = policy_bind(at, stop, kModePreferred, mask);
    if (error != 0) return error;
    at = stop;
  }
  return 0;
}

int policy_lay(const struct policy* policy, uintptr_t start, uintptr_t end, size_t least_unit,
               size_t data) {
  if (start >= end) return 0;
  if (policy->round == 0) return policy_bind(start, end, policy->mode, policy->mask);
  pthread_once(&machine_once, read_machine);
  return lay_by_weights(policy, start, end, unit_bytes(policy, end - start, least_unit, data));
}
