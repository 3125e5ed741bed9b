// Calls the functions that the preloaded allocator stands in front of, in the way that the first
// argument names, and ends with status 1 where a block is not where the rules say. Rules: blocks of
// 4096 bytes or more are of the arena "tier", unless the way has rules of its own.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(fact)                                                \
  do {                                                             \
    if (!(fact)) {                                                 \
      fprintf(stderr, "line %d: %s is not so\n", __LINE__, #fact); \
      _exit(1);                                                    \
    }                                                              \
  } while (0)

enum { kSmall = 100, kLarge = 8192 };

static void* (*arena_of)(const void*);

static int placed(const void* block) { return arena_of(block) != NULL; }

static void all_functions(void) {
  void* block[10];
  for (int large = 0; large <= 1; ++large) {
    const size_t size = large ? kLarge : kSmall;
    block[0] = malloc(size);
    block[1] = calloc(size, 1);
    block[2] = realloc(NULL, size);
    block[3] = reallocarray(NULL, size, 1);
    block[4] = memalign(256, size);
    block[5] = aligned_alloc(512, size);
    CHECK(posix_memalign(&block[6], 4096, size) == 0);
    block[7] = valloc(size);
    block[8] = pvalloc(size);
    block[9] = strndup("", 0);
    for (int i = 0; i < 9; ++i) {
      CHECK(block[i] != NULL && placed(block[i]) == large);
      CHECK(malloc_usable_size(block[i]) >= size);
      memset(block[i], i, size);
    }
    CHECK((uintptr_t)block[4] % 256 == 0 && (uintptr_t)block[5] % 512 == 0);
    CHECK((uintptr_t)block[6] % 4096 == 0 && (uintptr_t)block[7] % 4096 == 0);
    for (int i = 0; i < 10; ++i) free(block[i]);
  }
  free(NULL);
  CHECK(malloc_usable_size(NULL) == 0);
}

static void limits(void) {
  volatile size_t huge = SIZE_MAX / 2;
  void* unset = &huge;
  CHECK(calloc(huge, 4) == NULL && errno == ENOMEM);
  CHECK(reallocarray(NULL, huge, 4) == NULL && errno == ENOMEM);
  CHECK(malloc(SIZE_MAX - 100) == NULL && errno == ENOMEM);
  CHECK(posix_memalign(&unset, 24, kLarge) == EINVAL && unset == &huge);
  CHECK(posix_memalign(&unset, 2, kLarge) == EINVAL);
  char* zeroed = calloc(3, kLarge);
  for (int i = 0; i < 3 * kLarge; ++i) CHECK(zeroed[i] == 0);
  free(zeroed);
  errno = 77;
  void* block = malloc(kLarge);
  free(block);
  CHECK(errno == 77);
  void* empty = malloc(0);
  CHECK(empty != NULL);
  free(empty);
}

// Blocks follow the rules as they grow and shrink, with what they hold.
static void resizing(void) {
  char* block = malloc(kSmall);
  memset(block, 7, kSmall);
  for (int round = 0; round < 3; ++round) {
    block = realloc(block, kLarge);
    CHECK(placed(block) && block[0] == 7 && block[kSmall - 1] == 7);
    block = reallocarray(block, 3, kLarge);
    CHECK(placed(block) && block[kSmall - 1] == 7);
    block = realloc(block, kSmall);
    CHECK(!placed(block) && block[kSmall - 1] == 7);
  }
  block = realloc(block, kLarge);
  CHECK(realloc(block, 0) == NULL);
}

__attribute__((noinline)) static void* load_index(size_t size) {
  char* block = malloc(size);
  if (block != NULL) *block = 1;  // No tail call, in which the caller would be main.
  return block;
}

static void sites(void) {
  void* const other = malloc(kSmall);
  for (int i = 0; i < 1000; ++i) {
    void* const block = load_index(kSmall);
    CHECK(placed(block));
    free(block);
  }
  CHECK(!placed(other));
  free(other);
}

static void load(void) {
  for (int i = 0; i < 1000; ++i) free(load_index(kSmall));
}

static void* in_thread(void* name) {
  void* const before = malloc(kSmall);
  CHECK(!placed(before));
  pthread_setname_np(pthread_self(), name);
  void* block = malloc(kSmall);
  CHECK(placed(block));
  free(block);
  prctl(PR_SET_NAME, "other");
  block = malloc(kSmall);
  CHECK(!placed(block));
  free(block);
  free(before);
  return NULL;
}

static void threads(void) {
  pthread_t thread[4];
  for (int i = 0; i < 4; ++i) pthread_create(&thread[i], NULL, in_thread, "worker 1");
  for (int i = 0; i < 4; ++i) pthread_join(thread[i], NULL);
}

static void mappings(void) {
  const size_t size = 4 << 20;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  char* large = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0);
  char* small = mmap(NULL, size / 8, PROT_READ | PROT_WRITE, flags, -1, 0);
  char* reserved = mmap(NULL, size, PROT_NONE, flags | MAP_NORESERVE, -1, 0);
  CHECK(placed(large) && placed(large + size - 1) && !placed(small) && !placed(reserved));
  CHECK(mmap(reserved, size, PROT_READ | PROT_WRITE, flags | MAP_FIXED, -1, 0) == reserved);
  CHECK(placed(reserved));
  CHECK(mmap(reserved, size, PROT_NONE, flags | MAP_FIXED | MAP_NORESERVE, -1, 0) == reserved);
  CHECK(!placed(reserved));
  large[0] = 5;
  large = mremap(large, size, 2 * size, MREMAP_MAYMOVE);
  CHECK(large != MAP_FAILED && placed(large + 2 * size - 1) && large[0] == 5);
  CHECK(mremap(large, 2 * size, size, 0) == large && !placed(large + size));
  CHECK(mremap(large, size, 2 * size, 0) == large && placed(large + 2 * size - 1));
  CHECK(mremap(large, 2 * size, size, 0) == large && !placed(large + size));
  CHECK(munmap(large, size / 2) == 0 && !placed(large) && placed(large + size / 2));
  CHECK(munmap(large + size / 2, size / 2) == 0 && !placed(large + size / 2));
  CHECK(mmap(NULL, 0, PROT_READ, flags, -1, 0) == MAP_FAILED && errno == EINVAL);
  char* const target = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0);
  CHECK(placed(target) && !placed(small));
  CHECK(mremap(small, size / 8, size / 8, MREMAP_MAYMOVE | MREMAP_FIXED, target) == target);
  CHECK(!placed(target) && !placed(target + size / 8 - 1) && placed(target + size / 8));
  CHECK(mremap(target, size, size / 8, 0) == target && !placed(target + size / 8));
  munmap(target, size / 8);
  munmap(reserved, size);
}

static void* busy(void* stop) {
  while (!*(volatile int*)stop) {
    void* block[50];
    for (int i = 0; i < 50; ++i) block[i] = malloc(i % 2 ? kSmall : kLarge);
    for (int i = 0; i < 50; ++i) free(block[i]);
    munmap(mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
           2 << 20);
  }
  return NULL;
}

static void forks(void) {
  int stop = 0;
  pthread_t thread[3];
  char* shared = malloc(kLarge);
  for (int i = 0; i < 3; ++i) pthread_create(&thread[i], NULL, busy, &stop);
  for (int i = 0; i < 50; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      char* block = malloc(kLarge);
      CHECK(placed(block) && placed(shared));
      free(block);
      free(shared);
      _exit(3);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3);
  }
  stop = 1;
  for (int i = 0; i < 3; ++i) pthread_join(thread[i], NULL);
  free(shared);
  mappings();  // Forgets what was unmapped during the last fork.
  const pid_t child = vfork();
  if (child == 0) {
    execl("/bin/true", "true", NULL);
    _exit(9);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

// Two libraries, one after the other at the same address: calls of the second one are not taken
// for those of the first.
static void libraries(char** paths) {
  void* (*get[2])(void);
  for (int i = 0; i < 2; ++i) {
    void* const library = dlopen(paths[i], RTLD_NOW);
    CHECK(library != NULL);
    *(void**)&get[i] = dlsym(library, i == 0 ? "first" : "second");
    void* const block = get[i]();
    CHECK(placed(block) == (i == 1));
    free(block);
    dlclose(library);
  }
  CHECK(get[0] == get[1]);
}

// Loads and unloads libraries in turn; calls from each of them, and from here, go on being known.
static void reloading(char** words) {
  enum { kSites = 8 };
  const int times = atoi(words[0]);
  char** const paths = words + 1;
  int count = 0;
  while (paths[count] != NULL) ++count;
  for (int i = 0; i < times; ++i) {
    void* const library = dlopen(paths[i % count], RTLD_NOW);
    CHECK(library != NULL);
    void (*get)(void**) = NULL;
    *(void**)&get = dlsym(library, "get");
    void* blocks[kSites];
    get(blocks);
    for (int site = 0; site < kSites; ++site) {
      CHECK(placed(blocks[site]));
      free(blocks[site]);
    }
    CHECK(dlclose(library) == 0);
    void* const own = load_index(kSmall);
    CHECK(placed(own));
    free(own);
  }
}

// Prints how much address space the process has.
static void address_space(void) {
  char line[256];
  FILE* const status = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof line, status) != NULL) {
    if (strncmp(line, "VmPeak:", 7) == 0) printf("%lu ", strtoul(line + 7, NULL, 10));
  }
  fclose(status);
}

// Bytes that live in the end, of many sizes, are in a ratio of 2:1.
static void ratio(void) {
  enum { kBlocks = 40000 };
  static void* block[kBlocks];
  srand(3);
  for (int i = 0; i < 3 * kBlocks; ++i) {
    free(block[i % kBlocks]);
    block[i % kBlocks] = malloc(1 + rand() % 5000);
  }
  double bytes[2] = {0, 0};
  for (int i = 0; i < kBlocks; ++i) bytes[placed(block[i])] += malloc_usable_size(block[i]);
  const double share = bytes[1] / (bytes[0] + bytes[1]);
  fprintf(stderr, "share %.3f\n", share);
  CHECK(share > 0.27 && share < 0.40);
}

int main(int count, char** words) {
  *(void**)&arena_of = dlsym(RTLD_DEFAULT, "ts_arena_of");
  CHECK(arena_of != NULL && count > 1);
  const char* const way = words[1];
  if (strcmp(way, "functions") == 0) all_functions();
  if (strcmp(way, "limits") == 0) limits();
  if (strcmp(way, "resizing") == 0) resizing();
  if (strcmp(way, "sites") == 0) sites();
  if (strcmp(way, "load") == 0) load();
  if (strcmp(way, "threads") == 0) threads();
  if (strcmp(way, "mappings") == 0) mappings();
  if (strcmp(way, "forks") == 0) forks();
  if (strcmp(way, "libraries") == 0) libraries(words + 2);
  if (strcmp(way, "reloading") == 0) reloading(words + 2);
  if (strcmp(way, "address-space") == 0) address_space();
  if (strcmp(way, "ratio") == 0) ratio();
  puts("as the rules say");
  return 0;
}
