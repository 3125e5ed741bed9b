// A program as cemalloc documents them for CE_MODE=CE_EXPLICIT: it includes cemalloc.h, is linked
// with -lcemalloc, and takes what belongs on CXL memory by functions of its own names.
#include <cemalloc.h>
#include <errno.h>
#include <malloc.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "pages.h"

enum { kSize = 4 << 20 };

static void claim_what_the_names_promise(void) {
  char* block = cxl_malloc(100);
  CLAIM(cxl_malloc_usable_size(block) >= 100);
  memset(block, 7, 100);
  block = cxl_realloc(block, 100000);
  CLAIM(block != NULL && block[99] == 7 && cxl_malloc_usable_size(block) >= 100000);
  CLAIM(cxl_realloc(block, 0) == NULL);
  CLAIM(cxl_malloc_usable_size(NULL) == 0);
  cxl_free(NULL);

  char* const zeroed = cxl_calloc(1000, 3);
  for (int i = 0; i < 3000; ++i) CLAIM(zeroed[i] == 0);
  cxl_free(zeroed);
  errno = 0;
  CLAIM(cxl_calloc(SIZE_MAX / 2, 4) == NULL && errno == ENOMEM);
  CLAIM(cxl_malloc(SIZE_MAX / 2) == NULL);

  void* aligned = NULL;
  CLAIM(cxl_posix_memalign(&aligned, 4096, 100) == 0 && (uintptr_t)aligned % 4096 == 0);
  CLAIM(cxl_posix_memalign(&aligned, 3, 100) == EINVAL);
  cxl_free(aligned);
  for (size_t alignment = 16; alignment <= 1 << 20; alignment *= 4) {
    void* const one = cxl_memalign(alignment, 100);
    void* const other = cxl_aligned_alloc(alignment, 3 * alignment);
    CLAIM(one != NULL && (uintptr_t)one % alignment == 0);
    CLAIM(other != NULL && (uintptr_t)other % alignment == 0);
    cxl_free(one);
    free(other);  // Of the same library, which stands in front of free.
  }
  void* const page = cxl_valloc(10);
  CLAIM((uintptr_t)page % 4096 == 0);
  cxl_free(page);
  cxl_free(malloc(10));
}

static void claim_mappings(void) {
  for (int round = 0; round < 100; ++round) {
    char* const mapping =
        cxl_mmap(NULL, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CLAIM(mapping != MAP_FAILED);
    mapping[kSize - 1] = 1;
    char* const grown = mremap(mapping, kSize, 2 * (size_t)kSize, MREMAP_MAYMOVE);
    CLAIM(grown != MAP_FAILED && grown[kSize - 1] == 1);
    CLAIM(munmap(grown, 2 * (size_t)kSize) == 0);
  }
  CLAIM(cxl_mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
}

static void claim_the_indicator_is_off(void) {
  CLAIM(GetMemoryMode() == 0);
  CLAIM(SetCxlMemory() == -1 && GetMemoryMode() == 0);
  CLAIM(SetHostMemory() == -1);
}

static void claim_a_child_goes_on(void) {
  char* const block = cxl_malloc(1000);
  strcpy(block, "parent's");
  const pid_t child = fork();
  if (child == 0) {
    CLAIM(strcmp(block, "parent's") == 0);
    cxl_free(block);
    CLAIM(cxl_malloc(1 << 16) != NULL);
    _exit(0);
  }
  int status = 0;
  CLAIM(waitpid(child, &status, 0) == child && status == 0);
  cxl_free(block);
}

static void touch_and_print(const char* what, void* block) {
  memset(block, 1, kSize);
  print_pages(what, block, kSize);
}

int main(void) {
  claim_what_the_names_promise();
  claim_mappings();
  claim_the_indicator_is_off();
  claim_a_child_goes_on();
  touch_and_print("cxl_malloc", cxl_malloc(kSize));
  touch_and_print("cxl_realloc", cxl_realloc(cxl_malloc(10), kSize));
  touch_and_print("cxl_memalign", cxl_memalign(1 << 16, kSize));
  touch_and_print("cxl_mmap", cxl_mmap(NULL, kSize, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  touch_and_print("malloc", malloc(kSize));
  return 0;
}
