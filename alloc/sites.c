#include "sites.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "symbols.h"
#include "text.h"

enum {
  kSites = 1 << 14,
  kSlots = 4 * kSites,  // A power of two.
  kSiteBits = 16,       // Of a slot, above which the address is; user space has 48 bits of those.
  kMaxFunction = 512,
  kShownSites = 20,
};

static const char kUnknown[] = "?";
static const struct rules* known_rules;
static struct site sites[kSites];  // The first one: all that have no place of their own.
static atomic_size_t site_count = 1;
static atomic_uint_least64_t slots[kSlots];
static atomic_uint_least64_t lookup_nanoseconds;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;  // Of writers.

static void take(void) { pthread_mutex_lock(&lock); }
static void give(void) { pthread_mutex_unlock(&lock); }

void begin_sites(const struct rules* rules) {
  known_rules = rules;
  sites[0].object = kUnknown;
  begin_symbols();
  pthread_atfork(take, give, give);
}

static uint64_t now_nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static size_t slot_of(uint64_t address) { return (address * UINT64_C(0x9E3779B97F4A7C15)) >> 48; }

// The slot that has the address, else the first free one. There are more slots than sites.
static atomic_uint_least64_t* find(uint64_t address, uint64_t* value) {
  for (size_t at = slot_of(address);; ++at) {
    *value = atomic_load_explicit(&slots[at % kSlots], memory_order_acquire);
    if (*value == 0 || *value >> kSiteBits == address) return &slots[at % kSlots];
  }
}

static uint64_t fitting_rules(const struct site* site) {
  uint64_t fitting = 0;
  for (int i = 0; i < known_rules->rule_count; ++i) {
    const struct rule* const rule = &known_rules->rules[i];
    if (rule->kind != kSiteRule || !fits_glob(rule->object, site->object)) continue;
    const bool fits = rule->pattern == NULL
                          ? rule->offset == site->offset
                          : site->function != NULL && fits_glob(rule->pattern, site->function);
    if (fits) fitting |= UINT64_C(1) << rule->bit;
  }
  return fitting;
}

static void look_up(uint64_t address, struct site* site) {
  struct object object;
  *site = (struct site){.object = kUnknown, .offset = address};
  // The call before the return address: behind a call that never returns, another function begins.
  if (!find_object(address - 1, &object)) return;
  char* const name = strdup(object.name);
  if (name == NULL) return;
  site->object = name;
  site->offset = object.relative + 1;
  char function[kMaxFunction];
  if (find_function(object.path, object.relative, function, sizeof function)) {
    site->function = strdup(function);
  }
  site->fitting = fitting_rules(site);
}

// Of a site that another thread has added meanwhile, or that there is no place for.
static void drop(const struct site* site) {
  if (site->object != kUnknown) free((void*)site->object);
  free((void*)site->function);
}

static struct site* add(uint64_t address) {
  const uint64_t before = now_nanoseconds();
  struct site fresh;
  look_up(address, &fresh);
  take();
  uint64_t value = 0;
  atomic_uint_least64_t* const slot = find(address, &value);
  size_t number = value & ((1U << kSiteBits) - 1);
  const size_t count = atomic_load(&site_count);
  if (value == 0 && count < kSites) {
    number = count;
    sites[number] = fresh;
    atomic_store(&site_count, count + 1);
    atomic_store_explicit(slot, address << kSiteBits | number, memory_order_release);
  } else {
    drop(&fresh);
  }
  give();
  atomic_fetch_add(&lookup_nanoseconds, now_nanoseconds() - before);
  return &sites[number];
}

struct site* site_of(const void* caller) {
  const uint64_t address = (uintptr_t)caller;
  uint64_t value = 0;
  find(address, &value);
  if (value != 0) return &sites[value & ((1U << kSiteBits) - 1)];
  return atomic_load_explicit(&site_count, memory_order_relaxed) < kSites ? add(address) : sites;
}

void count_at_site(struct site* site, size_t bytes) {
  atomic_fetch_add_explicit(&site->blocks, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&site->bytes, bytes, memory_order_relaxed);
  size_t largest = atomic_load_explicit(&site->largest, memory_order_relaxed);
  while (bytes > largest && !atomic_compare_exchange_weak(&site->largest, &largest, bytes)) {
  }
}

bool is_unknown(const struct site* site) { return site->object == kUnknown; }

void name_site(const struct site* site, char* name, size_t size) {
  if (site->function != NULL) {
    snprintf(name, size, "%s:%s", site->object, site->function);
  } else {
    snprintf(name, size, "%s+0x%zx", site->object, site->offset);
  }
}

void forget_addresses(void) {
  if (atomic_load(&site_count) == 1) return;
  take();
  for (size_t i = 0; i < kSlots; ++i) atomic_store_explicit(&slots[i], 0, memory_order_relaxed);
  give();
}

struct sites_cost read_sites_cost(void) {
  enum { kTimed = 64 };
  static const int times = 100000;
  struct sites_cost cost = {.sites = atomic_load(&site_count) - 1,
                            .lookup_seconds = (double)atomic_load(&lookup_nanoseconds) * 1e-9};
  uint64_t known[kTimed];
  size_t count = 0;
  for (size_t i = 0; i < kSlots && count < kTimed; ++i) {
    known[count] = atomic_load(&slots[i]);
    if (known[count] != 0) ++count;
  }
  if (count == 0) return cost;
  const uint64_t before = now_nanoseconds();
  size_t at = 0;
  for (int i = 0; i < times; ++i) {
    uint64_t value = 0;
    find(known[at] >> kSiteBits, &value);
    at = (at + (value != 0)) % count;  // Each waits for the one before.
  }
  cost.find_seconds = (double)(now_nanoseconds() - before) * 1e-9 / times;
  return cost;
}

static int compare_names(const struct site* a, const struct site* b) {
  const int objects = strcmp(a->object, b->object);
  if (objects != 0) return objects;
  if (a->function != NULL && b->function != NULL) return strcmp(a->function, b->function);
  if (a->function != NULL || b->function != NULL) return a->function != NULL ? -1 : 1;
  return (a->offset > b->offset) - (a->offset < b->offset);
}

static int by_name(const void* left, const void* right) {
  return compare_names(*(const struct site* const*)left, *(const struct site* const*)right);
}

static int by_bytes(const void* left, const void* right) {
  const struct site* const a = *(const struct site* const*)left;
  const struct site* const b = *(const struct site* const*)right;
  return (a->bytes < b->bytes) - (a->bytes > b->bytes);
}

// Adds the sites of each function up in its first one; returns how many functions there are.
static size_t merge(struct site** found, size_t count) {
  size_t kept = 0;
  for (size_t i = 0; i < count; ++i) {
    if (found[i]->blocks == 0) continue;
    if (kept > 0 && compare_names(found[kept - 1], found[i]) == 0) {
      struct site* const first = found[kept - 1];
      first->blocks += found[i]->blocks;
      first->bytes += found[i]->bytes;
      if (found[i]->largest > first->largest) first->largest = found[i]->largest;
    } else {
      found[kept++] = found[i];
    }
  }
  return kept;
}

static struct site* listed[kSites];

// Lists functions that got blocks, most bytes first; returns how many there are.
static size_t list(void) {
  static struct site copies[kSites];  // The program may go on counting.
  const size_t count = atomic_load(&site_count);
  for (size_t i = 0; i < count; ++i) {
    copies[i] = sites[i];
    listed[i] = &copies[i];
  }
  qsort((void*)listed, count, sizeof *listed, by_name);
  const size_t kept = merge(listed, count);
  qsort((void*)listed, kept, sizeof *listed, by_bytes);
  return kept;
}

size_t sites_bytes(void) {
  const size_t count = atomic_load(&site_count);
  size_t bytes = 0;
  for (size_t i = 0; i < count; ++i) bytes += atomic_load(&sites[i].bytes);
  return bytes;
}

void report_sites(int file) {
  const size_t count = list();
  dprintf(file, "  %14s %12s %14s  call site\n", "bytes", "blocks", "largest");
  for (size_t i = 0; i < count && i < kShownSites; ++i) {
    const struct site* const site = listed[i];
    char name[kMaxSiteName];
    name_site(site, name, sizeof name);
    dprintf(file, "  %14zu %12zu %14zu  %s\n", site->bytes, site->blocks, site->largest, name);
  }
  if (count > kShownSites) dprintf(file, "  and %zu further call sites\n", count - kShownSites);
}

void report_sites_json(int file) {
  const size_t count = list();
  for (size_t i = 0; i < count; ++i) {
    const struct site* const site = listed[i];
    dprintf(file, "%s{\"object\": ", i == 0 ? "[" : ", ");
    print_json(file, site->object);
    if (site->function != NULL) {
      dprintf(file, ", \"function\": ");
      print_json(file, site->function);
    } else {
      dprintf(file, ", \"offset\": %zu", site->offset);
    }
    dprintf(file, ", \"bytes\": %zu, \"blocks\": %zu, \"largest\": %zu}", site->bytes, site->blocks,
            site->largest);
  }
  dprintf(file, count == 0 ? "[]" : "]");
}
