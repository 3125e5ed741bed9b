// Prints what mremap does in each case: to the result, the protection, the contents. To be the same
// with a preloaded library as without it.
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const size_t kSize = 1 << 20;
static const int kAnonymous = MAP_PRIVATE | MAP_ANONYMOUS;

// "rwxp" of the mapping at an address; "none" where nothing is mapped.
static const char* protection_at(const char* address) {
  static char found[8];
  char line[4096];
  FILE* const maps = fopen("/proc/self/maps", "r");
  strcpy(found, "none");
  while (fgets(line, sizeof line, maps) != NULL) {
    uintptr_t start = 0;
    uintptr_t end = 0;
    char text[8];
    if (sscanf(line, "%lx-%lx %7s", &start, &end, text) != 3) continue;
    if ((uintptr_t)address >= start && (uintptr_t)address < end) strcpy(found, text);
  }
  fclose(maps);
  return found;
}

static char* mapped(size_t size) {
  char* const range = mmap(NULL, size, PROT_READ | PROT_WRITE, kAnonymous, -1, 0);
  if (range == MAP_FAILED) exit(1);
  return range;
}

static void fill(char* range, size_t size) {
  for (size_t at = 0; at < size; at += 4096) memcpy(range + at, &at, sizeof at);
}

static int is_filled(const char* range, size_t size) {
  for (size_t at = 0; at < size; at += 4096) {
    if (memcmp(range + at, &at, sizeof at) != 0) return 0;
  }
  return 1;
}

static int is_zero(const char* range, size_t size) {
  for (size_t at = 0; at < size; ++at) {
    if (range[at] != 0) return 0;
  }
  return 1;
}

// Of `kept` bytes that were filled, in a range of `size`.
static void show(const char* what, char* range, size_t kept, size_t size) {
  printf("%s: ", what);
  if (range == MAP_FAILED) {
    printf("error %d\n", errno);
    return;
  }
  printf("%s ", protection_at(range));
  printf("%s ", protection_at(range + size - 1));
  mprotect(range, size, PROT_READ | PROT_WRITE);
  printf("%s %s\n", is_filled(range, kept) ? "kept" : "LOST",
         is_zero(range + kept, size - kept) ? "zero" : "NOT ZERO");
  munmap(range, size);
}

static void with_protection(const char* name, int protection) {
  char what[64];
  char* range = mapped(kSize);
  fill(range, kSize);
  mprotect(range, kSize, protection);
  snprintf(what, sizeof what, "grows, %s", name);
  show(what, mremap(range, kSize, 4 * kSize, MREMAP_MAYMOVE), kSize, 4 * kSize);

  range = mapped(kSize);
  fill(range, kSize);
  mprotect(range, kSize, protection);
  snprintf(what, sizeof what, "shrinks, %s", name);
  show(what, mremap(range, kSize, kSize / 2, 0), kSize / 2, kSize / 2);

  range = mapped(4 * kSize);
  munmap(range + kSize, 3 * kSize);
  fill(range, kSize);
  mprotect(range, kSize, protection);
  char* result = mremap(range, kSize, 2 * kSize, 0);
  snprintf(what, sizeof what, "grows in place, %s", name);
  show(what, result, kSize, 2 * kSize);

  range = mapped(kSize);
  fill(range, kSize);
  mprotect(range, kSize, protection);
  char* const target = mapped(2 * kSize);
  result = mremap(range, kSize, 2 * kSize, MREMAP_MAYMOVE | MREMAP_FIXED, target);
  snprintf(what, sizeof what, "grows elsewhere, %s", name);
  if (result != target) printf("not at its target: ");
  show(what, result, kSize, 2 * kSize);
}

static void parts(void) {
  char* range = mapped(4 * kSize);
  fill(range, 4 * kSize);
  show("no room behind it", mremap(range, kSize, 2 * kSize, 0), kSize, 2 * kSize);
  char* const part = range + kSize;
  fill(part, kSize);
  show("a part grows", mremap(part, kSize, 3 * kSize, MREMAP_MAYMOVE), kSize, 3 * kSize);
  printf("where it was: %s\n", protection_at(part));
  show("what was before it", range, kSize, kSize);
  munmap(range, 4 * kSize);

  range = mapped(2 * kSize);
  mprotect(range + kSize, kSize, PROT_READ);
  show("two protections", mremap(range, 2 * kSize, 4 * kSize, MREMAP_MAYMOVE), 0, 4 * kSize);
  munmap(range, 2 * kSize);
  show("unmapped", mremap(range, kSize, 2 * kSize, MREMAP_MAYMOVE), 0, 2 * kSize);
}

static void refused(void) {
  char* const range = mapped(kSize);
  show("not at a page", mremap(range + 1, kSize, 2 * kSize, MREMAP_MAYMOVE), 0, kSize);
  show("to nothing", mremap(range, kSize, 0, MREMAP_MAYMOVE), 0, kSize);
  show("unknown flags", mremap(range, kSize, 2 * kSize, 64), 0, kSize);
  show("too large", mremap(range, kSize, SIZE_MAX / 4, MREMAP_MAYMOVE), 0, kSize);
  show("onto itself", mremap(range, kSize, kSize, MREMAP_MAYMOVE | MREMAP_FIXED, range + kSize / 2),
       0, kSize);
  munmap(range, kSize);
}

static void many_steps(void) {
  char* range = mapped(kSize);
  fill(range, kSize);
  for (size_t size = kSize; size < 16 * kSize; size += kSize) {
    range = mremap(range, size, size + kSize, MREMAP_MAYMOVE);
    if (range == MAP_FAILED) break;
  }
  show("many steps", range, kSize, 16 * kSize);
}

static void onto_another(void) {
  const size_t little = 16 << 10;
  char* range = mapped(little);
  fill(range, little);
  char* const target = mapped(kSize);
  fill(target + little, kSize - little);
  range = mremap(range, little, little, MREMAP_MAYMOVE | MREMAP_FIXED, target);
  if (range != target) printf("not at its target: ");
  show("onto a larger one, then grows", mremap(range, little, 2 * little, MREMAP_MAYMOVE), little,
       2 * little);
  show("what was behind it", target + little, kSize - little, kSize - little);
}

int main(void) {
  with_protection("---", PROT_NONE);
  with_protection("r--", PROT_READ);
  with_protection("rw-", PROT_READ | PROT_WRITE);
  with_protection("rwx", PROT_READ | PROT_WRITE | PROT_EXEC);
  parts();
  refused();
  many_steps();
  onto_another();
  return 0;
}
