// Each line of a process's file is an arena: its first address, the one behind its last, and the
// function as a rule names it. A line is there before the arena's first block is.
#include "heat.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core.h"

enum { kMaxPath = 4096 };
static const size_t kWorthAnArena = UINT64_C(1) << 20;  // Bytes that a call site has got.

static char* nodes;
static const char* folder;
static struct {
  char* name;
  ts_arena* arena;
} owners[kMaxArenas];
static size_t owner_count;
static atomic_bool none_left;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;  // Of the owners and the file.

static int open_file(int flags) {
  char path[kMaxPath];
  snprintf(path, sizeof path, "%s/%d", folder, (int)getpid());
  return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | flags, 0644);
}

static void write_owners(size_t from, int flags) {
  const int file = open_file(flags);
  if (file < 0) return;
  for (size_t i = from; i < owner_count; ++i) {
    const ts_arena* const arena = owners[i].arena;
    dprintf(file, "%zx %zx %s\n", (size_t)arena->start, (size_t)arena->end, owners[i].name);
  }
  close(file);
}

static void take(void) { pthread_mutex_lock(&lock); }
static void give(void) { pthread_mutex_unlock(&lock); }

// It has the parent's arenas, and another number.
static void begin_child(void) {
  const int error = errno;
  write_owners(0, O_TRUNC);
  errno = error;
  give();
}

int begin_heat(const char* setting) {
  const char* const colon = strchr(setting, ':');
  if (colon == NULL) return EINVAL;
  nodes = strndup(setting, (size_t)(colon - setting));
  folder = strdup(colon + 1);
  if (nodes == NULL || folder == NULL) return ENOMEM;
  const int file = open_file(O_TRUNC);  // What this process was before it executed had others.
  if (file < 0) return errno;
  close(file);
  pthread_atfork(take, give, begin_child);
  return 0;
}

static ts_arena* make_owner(const char* name) {
  ts_arena* const arena =
      owner_count < kMaxArenas ? ts_arena_create(NULL, nodes, 0, TS_SPILL) : NULL;
  char* const kept = arena != NULL ? strdup(name) : NULL;
  if (kept == NULL) {
    atomic_store(&none_left, true);
    return NULL;
  }
  owners[owner_count].name = kept;
  owners[owner_count++].arena = arena;
  write_owners(owner_count - 1, 0);
  return arena;
}

// Call sites of one function share its arena.
static ts_arena* find_owner(const char* name) {
  for (size_t i = 0; i < owner_count; ++i) {
    if (strcmp(owners[i].name, name) == 0) return owners[i].arena;
  }
  return make_owner(name);
}

ts_arena* site_arena(struct site* site) {
  ts_arena* arena = atomic_load_explicit(&site->own, memory_order_acquire);
  if (arena != NULL || atomic_load(&none_left) || is_unknown(site) ||
      atomic_load_explicit(&site->bytes, memory_order_relaxed) < kWorthAnArena) {
    return arena;
  }
  const int error = errno;
  char name[kMaxSiteName];
  name_site(site, name, sizeof name);
  take();
  arena = find_owner(name);
  give();
  atomic_store_explicit(&site->own, arena, memory_order_release);
  errno = error;
  return arena;
}
