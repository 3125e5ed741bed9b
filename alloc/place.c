// libtierscope-place.so: places the anonymous memory of the program that it is preloaded into.
//
// `tierscope place exec` preloads it where the kernel cannot do what was asked by itself: weights
// below Linux 6.9 or other than its machine-wide table, and policies for the heap alone. It gives
// ranges a policy (mbind) when they are mapped, before the program touches them; what is touched
// already moves. Seen are mmap, mremap, mprotect and the break; and of glibc's malloc, whose own
// calls cannot be interposed, each chunk that it returns.
//
// Weights: see policy.h. There is nothing to record, so fork needs nothing done.
//
// TIERSCOPE_PLACE says how: the number of a mode as in <linux/mempolicy.h>, then the nodes, as in
// "2 0,4"; with weights "weights 0@3,2@1". Errors are said once, on stderr, and change nothing
// else: memory is then where it would have been.
#include "place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "policy.h"

enum { kPolicyOfAddress = 1 << 1 };  // MPOL_F_ADDR

static struct policy policy;
static struct {
  int mode;
  unsigned long mask[kNodeWords];
} unplaced;  // The kernel's policy of what has no rounds yet.

static atomic_bool active;
static atomic_bool complained;

void complain(const char* what, int error) {
  if (atomic_exchange(&complained, true)) return;
  char line[256];
  char text[64];
  const char* reason = error != 0 ? strerror_r(error, text, sizeof text) : "";
  const int length = snprintf(line, sizeof line, "tierscope: libtierscope-place.so: %s%s%s\n", what,
                              error != 0 ? ": " : "", reason);
  if (length > 0 && write(STDERR_FILENO, line, (size_t)length) < 0) return;
}

bool placing(void) { return atomic_load_explicit(&active, memory_order_relaxed); }

// Private memory that the program may write: the sixth field of statm, in pages.
static size_t data_bytes(void) {
  char text[256];
  if (read_file("/proc/self/statm", text, sizeof text) == 0) return 0;
  const char* at = text;
  for (int field = 0; field < 5 && at != NULL; ++field) {
    at = strchr(at, ' ');
    if (at != NULL) ++at;
  }
  return at != NULL ? strtoull(at, NULL, 10) * page_bytes() : 0;
}

static void report(int error) {
  if (error == 0) return;
  if (error == ENOMEM) {
    complain("memory from here on is not placed: more mappings than vm.max_map_count allows", 0);
  } else {
    complain("memory is not placed: mbind", error);
  }
}

static uintptr_t page_start(uintptr_t address) { return address & ~(page_bytes() - 1); }

static uintptr_t page_end(uintptr_t address) { return page_start(address + page_bytes() - 1); }

void place_range(uintptr_t start, size_t size, size_t least_unit) {
  const int error = errno;
  const size_t data = policy.round != 0 ? data_bytes() : 0;
  report(policy_lay(&policy, page_start(start), page_end(start + size), least_unit, data));
  errno = error;
}

void mark_range(uintptr_t start, size_t size) {
  const int error = errno;
  report(policy_bind(start, page_end(start + size), unplaced.mode, unplaced.mask));
  errno = error;
}

bool is_ours(uintptr_t page) {
  const int error = errno;
  int mode = -1;
  const bool known = syscall(SYS_get_mempolicy, &mode, NULL, 0UL, page, kPolicyOfAddress) == 0;
  errno = error;
  return known && mode == unplaced.mode;
}

static bool read_settings(const char* text) {
  static const char word[] = "weights ";
  if (strncmp(text, word, sizeof word - 1) == 0) {
    if (!policy_read_nodes(&policy, text + sizeof word - 1, true)) return false;
    unplaced.mode = kModePreferred;
    policy_add_node(unplaced.mask, policy.node[0]);
    return true;
  }
  char* end = NULL;
  policy.mode = (int)strtol(text, &end, 10);
  if (end == text || *end != ' ' || !policy_read_nodes(&policy, end + 1, false)) return false;
  unplaced.mode = policy.mode;
  memcpy(unplaced.mask, policy.mask, sizeof policy.mask);
  return true;
}

// A line of /proc/self/maps, "START-END rw-p OFFSET DEVICE INODE  NAME": places what is private,
// writable and of no file, but for the stack.
static void place_mapping(char* line) {
  char* end_text = NULL;
  const uintptr_t start = strtoul(line, &end_text, 16);
  if (*end_text != '-') return;
  const uintptr_t end = strtoul(end_text + 1, &line, 16);
  strsep(&line, " ");  // The blank before the permissions.
  const char* const permissions = strsep(&line, " ");
  strsep(&line, " ");  // The offset,
  strsep(&line, " ");  // and the device.
  const char* const inode = strsep(&line, " ");
  if (permissions == NULL || inode == NULL || strcmp(inode, "0") != 0) return;
  const char* const name = line != NULL ? line + strspn(line, " ") : "";
  const bool wanted = name[0] != '[' || strcmp(name, "[heap]") == 0;
  if (wanted && permissions[1] == 'w' && permissions[3] == 'p') place_range(start, end - start, 0);
}

// What is mapped when the program begins: its zeroed data (.bss) and what was allocated so far.
static void place_existing(void) {
  static char text[1 << 16];  // Of a program that has just begun; a longer list is cut short.
  const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  size_t size = 0;
  for (ssize_t got = 1; got > 0 && size < sizeof text - 1; size += (size_t)got) {
    got = read(file, text + size, sizeof text - 1 - size);
    if (got < 0) got = 0;
  }
  close(file);
  char* rest = text;
  for (char* line = strsep(&rest, "\n"); line != NULL && rest != NULL; line = strsep(&rest, "\n")) {
    place_mapping(line);
  }
}

__attribute__((constructor)) static void begin(void) {
  const char* text = secure_getenv("TIERSCOPE_PLACE");
  if (text == NULL) return;
  if (!read_settings(text)) {
    complain("memory is not placed: TIERSCOPE_PLACE is not as 'tierscope place exec' sets it", 0);
    return;
  }
  const int error = errno;
  begin_break();
  atomic_store(&active, true);
  place_existing();
  errno = error;
}
