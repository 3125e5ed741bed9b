// Replaces blocks of 20 to 600 KB at random. Prints how often the break moved in the second half,
// and whether the second of two blocks of 1 MiB, each freed at once, came from the heap.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kBlocks = 40, kReplacements = 8000, kLeast = 20000, kRange = 580000, kLarge = 1 << 20 };

int main(void) {
  static char* blocks[kBlocks];
  uint64_t random = 88172645463325252ULL;  // xorshift64 (Marsaglia 2003)
  char* end = sbrk(0);
  int moves = 0;
  for (int i = 0; i < kReplacements; ++i) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    char** const block = &blocks[random % kBlocks];
    free(*block);
    const size_t size = kLeast + (random >> 20) % kRange;
    *block = malloc(size);
    memset(*block, 1, size);
    char* const now = sbrk(0);
    if (now != end && i >= kReplacements / 2) ++moves;
    end = now;
  }
  free(malloc(kLarge));
  char* const large = malloc(kLarge);
  *large = 1;
  printf("%d %s\n", moves, large < (char*)sbrk(0) ? "heap" : "mapped");
  return 0;
}
