// A program to be placed: threads get memory in a given way and touch it, a page at a time.
//
//   probe WAY MIB THREADS [fork]
//
// WAY is mmap, malloc, small (mallocs of 1000 bytes), reserve (mmap, then mprotect), grow (mremap)
// or static. It prints its number, then "ADDRESS BYTES" for each thread, and waits until its input
// ends.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kPage = 4096, kMostThreads = 16, kSmall = 1000 };
static char zeroed[32 << 20];
static const char* way;
static size_t bytes;
static char* starts[kMostThreads];

static char* get(void) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  char* start = MAP_FAILED;
  if (strcmp(way, "mmap") == 0) {
    start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    madvise(start, bytes, MADV_NOHUGEPAGE);
  } else if (strcmp(way, "reserve") == 0) {
    start = mmap(NULL, bytes, PROT_NONE, flags, -1, 0);
    if (mprotect(start, bytes, PROT_READ | PROT_WRITE) != 0) return NULL;
  } else if (strcmp(way, "grow") == 0) {
    start = mmap(NULL, bytes / 2, PROT_READ | PROT_WRITE, flags, -1, 0);
    memset(start, 7, bytes / 2);
    start = mremap(start, bytes / 2, bytes, MREMAP_MAYMOVE);
    if (start != MAP_FAILED && start[bytes / 2 - 1] != 7) return NULL;
  } else if (strcmp(way, "malloc") == 0) {
    start = malloc(bytes);
  } else if (strcmp(way, "static") == 0) {
    start = zeroed;
  } else if (strcmp(way, "small") == 0) {
    for (size_t got = 0; got < bytes; got += kSmall) {
      char* chunk = malloc(kSmall);
      memset(chunk, 1, kSmall);
      if (got == 0) start = chunk;
    }
    return start;
  }
  if (start == MAP_FAILED || start == NULL) return NULL;
  for (size_t at = 0; at < bytes; at += kPage) start[at] = 1;
  return start;
}

static void* work(void* slot) {
  *(char**)slot = get();
  return NULL;
}

int main(int count, char** words) {
  if (count < 4) return 2;
  way = words[1];
  bytes = strtoul(words[2], NULL, 10) << 20;
  const int threads = atoi(words[3]);
  if (count > 4) {
    const pid_t child = fork();
    if (child != 0) {
      close(STDOUT_FILENO);
      int status = 0;
      waitpid(child, &status, 0);
      return WEXITSTATUS(status);
    }
  }
  if (threads == 1) {
    work(&starts[0]);
  } else {
    pthread_t started[kMostThreads];
    for (int i = 0; i < threads; ++i) pthread_create(&started[i], NULL, work, &starts[i]);
    for (int i = 0; i < threads; ++i) pthread_join(started[i], NULL);
  }
  printf("%d\n", getpid());
  for (int i = 0; i < threads; ++i) {
    if (starts[i] == NULL) return 1;
    printf("%lu %lu\n", (unsigned long)starts[i], (unsigned long)bytes);
  }
  fflush(stdout);
  close(STDOUT_FILENO);
  char byte = 0;
  while (read(STDIN_FILENO, &byte, 1) > 0) continue;
  return 0;
}
