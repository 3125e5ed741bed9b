// Memory of three functions: one that is accessed all the time, and two that are left alone after a
// first touch. hot_and_cold HOT COLD SECONDS: MiB of the hot one and of each cold one. Small blocks
// make up half of each, so that it is functions that are told apart, not large blocks.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kSmall = 4000, kStep = 512 };

struct blocks {
  char* large;
  char** small;
  size_t bytes;  // Of each half.
};

// Inlined, so that those who call it are the callers of malloc.
__attribute__((always_inline)) static inline void get(struct blocks* blocks, int mib) {
  blocks->bytes = (size_t)mib << 19;
  blocks->large = malloc(blocks->bytes);
  memset(blocks->large, 1, blocks->bytes);
  const size_t count = blocks->bytes / kSmall;
  blocks->small = calloc(count, sizeof *blocks->small);
  for (size_t i = 0; i < count; ++i) {
    blocks->small[i] = malloc(kSmall);
    memset(blocks->small[i], 1, kSmall);
  }
}

__attribute__((noinline)) static void index_of(struct blocks* blocks, int mib) { get(blocks, mib); }
__attribute__((noinline)) static void archive(struct blocks* blocks, int mib) { get(blocks, mib); }
__attribute__((noinline)) static void backup(struct blocks* blocks, int mib) { get(blocks, mib); }

static void use(struct blocks* blocks) {
  for (size_t at = 0; at < blocks->bytes; at += kStep) blocks->large[at] += 1;
  for (size_t i = 0; i < blocks->bytes / kSmall; ++i) blocks->small[i][0] += 1;
}

int main(int count, char** words) {
  if (count != 4) return 2;
  static struct blocks hot, cold, colder;
  archive(&cold, atoi(words[2]));
  index_of(&hot, atoi(words[1]));
  backup(&colder, atoi(words[2]));
  printf("ready\n");
  fflush(stdout);
  const time_t end = time(NULL) + atoi(words[3]);
  while (time(NULL) < end) {
    use(&hot);
    usleep(2000);
  }
  return 0;
}
