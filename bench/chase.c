// A second, independent implementation of the idle latency chase, for comparison only:
// an array of indexes shuffled by Sattolo's algorithm (one cycle), one 64-byte line in 256.
//   chase BYTES CPU SECONDS   prints the median ns of a load over batches of about 50 ms
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const size_t bytes = strtoull(argv[1], NULL, 10), slots = bytes / 256,
               step = 256 / sizeof(size_t);
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET((size_t)atoi(argv[2]), &set);
  if (sched_setaffinity(0, sizeof set, &set)) return 1;
  size_t* next = aligned_alloc(1 << 21, bytes);
  madvise(next, bytes, MADV_HUGEPAGE);
  for (size_t i = 0; i < slots; i++) next[i * step] = i;
  uint64_t random = 88172645463325252ULL;  // xorshift64 (Marsaglia 2003)
  for (size_t i = slots - 1; i > 0; i--) {
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    const size_t j = random % i, other = next[j * step];
    next[j * step] = next[i * step];
    next[i * step] = other;
  }
  for (size_t i = 0; i < slots; i++) next[i * step] *= step;  // From slot numbers to indexes.
  static double ns[4096];
  size_t at = 0, n = 0;
  for (const double end = now() + atof(argv[3]); now() < end && n < 4096; n++) {
    const int loads = 400000;
    const double start = now();
    for (int i = 0; i < loads; i++) at = next[at];
    ns[n] = (now() - start) * 1e9 / loads;
  }
  qsort(ns, n, sizeof *ns, ascending);
  printf("%.4f %zu\n", ns[n / 2], at);  // `at` is printed so that no load can be left out.
  return 0;
}
