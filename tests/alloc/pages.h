// What programs that are tested share: claims, and the nodes of pages, as the kernel says.
#ifndef PAGES_H
#define PAGES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CLAIM(holds)                                                    \
  do {                                                                  \
    if (!(holds)) {                                                     \
      fprintf(stderr, "line %d does not hold: %s\n", __LINE__, #holds); \
      exit(1);                                                          \
    }                                                                   \
  } while (0)

// Prints "WHAT NODE:PAGES ..." of a block's whole pages, which have to be touched.
static inline void print_pages(const char* what, const void* block, size_t size) {
  enum { kPage = 4096, kNodes = 64 };
  size_t found[kNodes] = {0};
  uintptr_t page = ((uintptr_t)block + kPage - 1) / kPage * kPage;
  for (; page + kPage <= (uintptr_t)block + size; page += kPage) {
    void* address = (void*)page;
    int node = -1;
    syscall(SYS_move_pages, 0, 1UL, &address, NULL, &node, 0);
    CLAIM(node >= 0 && node < kNodes);
    ++found[node];
  }
  printf("%s", what);
  for (int node = 0; node < kNodes; ++node) {
    if (found[node] != 0) printf(" %d:%zu", node, found[node]);
  }
  printf("\n");
}

#endif
