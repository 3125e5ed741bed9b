// A program as HMSDK documents them: it includes hmalloc.h, is linked with -lhmalloc and is started
// by hmctl. It exits with the number of the line of the first claim that does not hold.
//
//   hmalloc_program claims | pages MIB | fill MIB
//
// claims: what the functions promise. pages: allocates MIB in each of three ways (hmalloc,
// small blocks that grow by hrealloc, hmmap), touches them, and prints the nodes of their pages.
// fill: allocates and touches so many blocks of a MiB, or as many as there are, and prints how
// many.
#include <errno.h>
#include <fcntl.h>
#include <hmalloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pages.h"

static const size_t kMiB = 1 << 20;

static int is_filled(const char* block, char value, size_t size) {
  for (size_t at = 0; at < size; ++at) {
    if (block[at] != value) return 0;
  }
  return 1;
}

static void claim_blocks(void) {
  static const size_t sizes[] = {0, 1, 10, 5000, 70000, 800000, 33554432};
  enum { kSizes = sizeof sizes / sizeof *sizes };
  char* blocks[kSizes];
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < kSizes; ++i) {
      errno = ENOMEM;  // What an earlier call left there means nothing.
      blocks[i] = hmalloc(sizes[i]);
      CLAIM(blocks[i] != NULL && errno == ENOMEM);
      CLAIM(hmalloc_usable_size(blocks[i]) >= sizes[i]);
      CLAIM((uintptr_t)blocks[i] % (sizes[i] > 8 ? 16 : 8) == 0);
      memset(blocks[i], i + 1, sizes[i]);
    }
    for (int i = 0; i < kSizes; ++i) {
      CLAIM(is_filled(blocks[i], (char)(i + 1), sizes[i]));
      hfree(blocks[i]);
    }
  }
  hfree(NULL);
  CLAIM(hmalloc_usable_size(NULL) == 0);
  errno = 0;
  CLAIM(hmalloc(PTRDIFF_MAX) == NULL && errno == ENOMEM);
}

static void claim_zeroed_and_resized(void) {
  char* block = hcalloc(1000, 1000);
  CLAIM(block != NULL && is_filled(block, 0, 1000 * 1000));
  hfree(block);
  volatile size_t half = SIZE_MAX / 2 + 2;  // Times 2 it is 2.
  errno = 0;
  CLAIM(hcalloc(half, 2) == NULL && errno == ENOMEM);

  block = hrealloc(NULL, 10);
  memset(block, 7, 10);
  size_t size = 10;
  for (; size < 4 * kMiB; size *= 3) {
    block = hrealloc(block, size * 3);
    CLAIM(block != NULL && is_filled(block, 7, size) && hmalloc_usable_size(block) >= size * 3);
    memset(block, 7, size * 3);
  }
  block = hrealloc(block, 100);
  CLAIM(block != NULL && is_filled(block, 7, 100));
  CLAIM(hrealloc(block, PTRDIFF_MAX) == NULL && is_filled(block, 7, 100));
  CLAIM(hrealloc(block, 0) == NULL);
  block = hrealloc(NULL, 0);
  CLAIM(block != NULL);
  hfree(block);
  block = hrealloc(strdup("of malloc"), 100);
  CLAIM(block != NULL && strcmp(block, "of malloc") == 0);
  hfree(block);
  hfree(malloc(100));
}

static void claim_aligned(void) {
  for (size_t alignment = 8; alignment <= 4 * kMiB; alignment *= 2) {
    char* block = haligned_alloc(alignment, alignment + 1);
    CLAIM(block != NULL && (uintptr_t)block % alignment == 0);
    memset(block, 1, alignment + 1);
    void* other = NULL;
    CLAIM(hposix_memalign(&other, alignment, 3) == 0 && (uintptr_t)other % alignment == 0);
    hfree(block);
    hfree(other);
  }
  volatile size_t wrong[] = {0, 1025};
  for (int i = 0; i < 2; ++i) {
    errno = 0;
    CLAIM(haligned_alloc(wrong[i], 100) == NULL && errno == EINVAL);
    void* block = &errno;
    errno = 0;
    CLAIM(hposix_memalign(&block, wrong[i], 100) == EINVAL && block == NULL && errno == 0);
  }
}

static void claim_mapped(void) {
  const int anonymous = MAP_PRIVATE | MAP_ANONYMOUS;
  char* range = hmmap(NULL, kMiB, PROT_READ | PROT_WRITE, anonymous, -1, 0);
  CLAIM(range != MAP_FAILED && is_filled(range, 0, kMiB));
  CLAIM(hmunmap(range + kMiB / 2, kMiB / 2) == 0 && hmunmap(range, kMiB / 2) == 0);
  CLAIM(hmmap(NULL, 0, PROT_READ, anonymous, -1, 0) == MAP_FAILED && errno == EINVAL);
  CLAIM(hmmap(NULL, kMiB, PROT_READ, MAP_PRIVATE, -1, 0) == MAP_FAILED && errno == EBADF);
  CLAIM(hmunmap(range + 1, kMiB) == -1 && errno == EINVAL);
  const int file = open("/proc/self/exe", O_RDONLY);
  range = hmmap(NULL, 100, PROT_READ, MAP_PRIVATE, file, 0);
  CLAIM(range != MAP_FAILED && memcmp(range, "\177ELF", 4) == 0 && hmunmap(range, 100) == 0);
  close(file);
}

static void* churn(void* unused) {
  char* blocks[64] = {0};
  unsigned seed = (unsigned)(uintptr_t)&blocks;
  for (int i = 0; i < 20000; ++i) {
    char** block = &blocks[rand_r(&seed) % 64];
    hfree(*block);
    const size_t size = (size_t)(rand_r(&seed) % 3000) + 1;
    *block = hmalloc(size);
    if (*block == NULL) return unused;
    (*block)[0] = (*block)[size - 1] = 1;
  }
  for (int i = 0; i < 64; ++i) hfree(blocks[i]);
  return NULL;
}

static void claim_threads_and_fork(void) {
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, churn, threads);
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(churn(threads) == NULL ? 0 : 1);
    int status = -1;
    CLAIM(waitpid(child, &status, 0) == child && status == 0);
  }
  for (int i = 0; i < 4; ++i) {
    void* failed = NULL;
    pthread_join(threads[i], &failed);
    CLAIM(failed == NULL);
  }
}

static void show_pages(size_t size) {
  char* block = hmalloc(size);
  CLAIM(block != NULL);
  memset(block, 1, size);
  print_pages("hmalloc", block, size);
  char* grown = hmalloc(1000);
  for (size_t now = 1000; now < size; now *= 2) grown = hrealloc(grown, now * 2);
  CLAIM(grown != NULL);
  memset(grown, 1, size);
  print_pages("hrealloc", grown, size);
  char* range = hmmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CLAIM(range != MAP_FAILED);
  memset(range, 1, size);
  print_pages("hmmap", range, size);
  char* plain = malloc(size);
  memset(plain, 1, size);
  print_pages("malloc", plain, size);
  free(plain);
  hmunmap(range, size);
  hfree(grown);
  hfree(block);
}

static void fill(size_t most) {
  size_t filled = 0;
  for (char* block; filled < most && (block = hmalloc(kMiB)) != NULL; ++filled) {
    memset(block, 1, kMiB);
  }
  CLAIM(filled == most || errno == ENOMEM);
  printf("%zu\n", filled);
}

int main(int count, char** words) {
  if (count > 2 && strcmp(words[1], "fill") == 0) {
    fill(strtoul(words[2], NULL, 10));
    return 0;
  }
  if (count > 2 && strcmp(words[1], "pages") == 0) {
    show_pages(strtoul(words[2], NULL, 10) * kMiB);
    return 0;
  }
  claim_blocks();
  claim_zeroed_and_resized();
  claim_aligned();
  claim_mapped();
  claim_threads_and_fork();
  return 0;
}
