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
  kMostUsed = kSlots / 4 * 3,
  kSiteBits = 16,  // Of a slot, above which the address is; user space has 48 bits of those.
  kForgotten = 1,  // A slot whose address was forgotten: none that is looked for, and not free.
  kMaxFunction = 512,
  kShownSites = 20,
};

static const char kUnknown[] = "?";
static const struct rules* known_rules;
static struct site sites[kSites];  // The first one: all that have no place of their own.
static size_t site_count = 1;      // Under `lock`, as all that follows but atomic objects.
static unsigned short free_sites[kSites];
static size_t free_count;
static atomic_uint_least64_t slots[kSlots];
static size_t slots_used;
static uint64_t unloaded;  // Objects, when addresses were forgotten last. Under `forgetting`.
static atomic_size_t lookups;
static atomic_size_t unknown_calls;
static atomic_uint_least64_t lookup_nanoseconds;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
// Taken first, and while the dynamic loader's locks are waited for, which `lock` never is.
static pthread_mutex_t forgetting = PTHREAD_MUTEX_INITIALIZER;

static void take(void) { pthread_mutex_lock(&lock); }
static void give(void) { pthread_mutex_unlock(&lock); }

static void take_all(void) {
  pthread_mutex_lock(&forgetting);
  take();
}

static void give_all(void) {
  give();
  pthread_mutex_unlock(&forgetting);
}

void begin_sites(const struct rules* rules) {
  known_rules = rules;
  sites[0].object = kUnknown;
  begin_symbols();
  unloaded = unloaded_objects();
  pthread_atfork(take_all, give_all, give_all);
}

static uint64_t now_nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static size_t slot_of(uint64_t address) { return (address * UINT64_C(0x9E3779B97F4A7C15)) >> 48; }

static size_t number_in(uint64_t slot) { return slot & ((1U << kSiteBits) - 1); }

// The slot that has the address, else the first that is free, which *value then is 0 of. Some
// always are.
static atomic_uint_least64_t* find(uint64_t address, uint64_t* value) {
  for (size_t at = slot_of(address);; ++at) {
    *value = atomic_load_explicit(&slots[at % kSlots], memory_order_acquire);
    if (*value == 0 || *value >> kSiteBits == address) return &slots[at % kSlots];
  }
}

static uint64_t place_of(const char* object, size_t offset) {
  uint64_t hash = UINT64_C(0xCBF29CE484222325);  // FNV-1a
  for (const char* at = object; *at != '\0'; ++at) {
    hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001B3);
  }
  return ((hash ^ offset) * UINT64_C(0x9E3779B97F4A7C15)) | 1;
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

// False: the address is of no object, or there is no memory.
static bool look_up(uint64_t address, struct site* site) {
  struct object object;
  *site = (struct site){.object = NULL};
  // The call before the return address: behind a call that never returns, another function begins.
  if (!find_object(address - 1, &object)) return false;
  site->object = strdup(object.name);
  if (site->object == NULL) return false;
  site->offset = object.relative + 1;
  char function[kMaxFunction];
  if (find_function(object.path, object.relative, function, sizeof function)) {
    site->function = strdup(function);
  }
  atomic_init(&site->fitting, fitting_rules(site));
  atomic_init(&site->place, place_of(site->object, site->offset));
  return true;
}

static void drop(const struct site* site) {
  free((void*)site->object);
  free((void*)site->function);
}

static bool is_same(const struct site* a, const struct site* b) {
  if (atomic_load(&a->place) != atomic_load(&b->place)) return false;
  if (a->offset != b->offset || strcmp(a->object, b->object) != 0) return false;
  if (a->function == NULL || b->function == NULL) return a->function == b->function;
  return strcmp(a->function, b->function) == 0;
}

static void add_counts(struct site* to, const struct site* from) {
  to->blocks += from->blocks;
  to->bytes += from->bytes;
  if (from->largest > to->largest) to->largest = from->largest;
}

// Sites that are at no address become free. What they got is the first one's.
static void free_unloaded(void) {
  static bool loaded[kSites];
  memset(loaded, 0, sizeof loaded);
  for (size_t i = 0; i < kSlots; ++i) {
    const uint64_t value = atomic_load(&slots[i]);
    if (value >> kSiteBits != 0) loaded[number_in(value)] = true;
  }
  for (size_t i = 1; i < site_count; ++i) {
    if (loaded[i] || atomic_load(&sites[i].place) == 0) continue;
    atomic_store(&sites[i].place, 0);
    atomic_store(&sites[i].fitting, 0);
    add_counts(&sites[0], &sites[i]);
    drop(&sites[i]);
    free_sites[free_count++] = (unsigned short)i;
  }
}

// Makes slots free that nothing is to be found in. Whoever finds none meanwhile waits for `lock`.
static void clean_slots(void) {
  static uint64_t kept[kSlots];
  size_t count = 0;
  for (size_t i = 0; i < kSlots; ++i) {
    const uint64_t value = atomic_load(&slots[i]);
    if (value >> kSiteBits != 0 && number_in(value) != 0) kept[count++] = value;
    atomic_store_explicit(&slots[i], 0, memory_order_relaxed);
  }
  if (count > kMostUsed / 2) count = 0;  // They are looked up again.
  for (size_t i = 0; i < count; ++i) {
    uint64_t unused = 0;
    atomic_store_explicit(find(kept[i] >> kSiteBits, &unused), kept[i], memory_order_release);
  }
  slots_used = count;
}

// The number of a site, which is a new one unless it is known; 0: there are too many.
static size_t keep(const struct site* fresh, bool* kept) {
  for (size_t i = 1; i < site_count; ++i) {
    if (is_same(&sites[i], fresh)) return i;
  }
  if (site_count == kSites && free_count == 0) free_unloaded();
  size_t number = 0;
  if (free_count != 0) {
    number = free_sites[--free_count];
  } else if (site_count < kSites) {
    number = site_count++;
  }
  *kept = number != 0;
  if (*kept) sites[number] = *fresh;
  return number;
}

static size_t add(uint64_t address) {
  const uint64_t before = now_nanoseconds();
  struct site fresh;
  const bool found = look_up(address, &fresh);
  bool kept = false;
  take();
  if (slots_used == kMostUsed) clean_slots();
  uint64_t value = 0;
  atomic_uint_least64_t* const slot = find(address, &value);
  size_t number = number_in(value);
  if (value == 0) {  // Else another thread has added it meanwhile.
    number = found ? keep(&fresh, &kept) : 0;
    ++slots_used;
    atomic_store_explicit(slot, address << kSiteBits | number, memory_order_release);
  }
  give();
  if (found && !kept) drop(&fresh);
  atomic_fetch_add(&lookups, 1);
  atomic_fetch_add(&lookup_nanoseconds, now_nanoseconds() - before);
  return number;
}

struct site* site_of(const void* caller) {
  const uint64_t address = (uintptr_t)caller;
  uint64_t value = 0;
  find(address, &value);
  const size_t number = value != 0 ? number_in(value) : add(address);
  if (number == 0) atomic_fetch_add_explicit(&unknown_calls, 1, memory_order_relaxed);
  return &sites[number];
}

void count_at_site(struct site* site, size_t bytes) {
  atomic_fetch_add_explicit(&site->blocks, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&site->bytes, bytes, memory_order_relaxed);
  size_t largest = atomic_load_explicit(&site->largest, memory_order_relaxed);
  while (bytes > largest && !atomic_compare_exchange_weak(&site->largest, &largest, bytes)) {
  }
}

bool is_unknown(const struct site* site) { return site->object == kUnknown; }

// Under `lock`.
static void write_name(const struct site* site, char* name, size_t size) {
  if (site->function != NULL) {
    snprintf(name, size, "%s:%s", site->object, site->function);
  } else {
    snprintf(name, size, "%s+0x%zx", site->object, site->offset);
  }
}

void name_site(const struct site* site, char* name, size_t size) {
  take();
  write_name(site, name, size);
  give();
}

struct known {
  uint64_t value;  // Of a slot.
  size_t slot;
  bool loaded;
};

struct known_slots {
  struct known* known;
  size_t count;
};

static void note_loaded(void* context, const struct object* object, uintptr_t start,
                        uintptr_t end) {
  const struct known_slots* const all = context;
  for (size_t i = 0; i < all->count; ++i) {
    struct known* const one = &all->known[i];
    const uintptr_t address = one->value >> kSiteBits;
    if (address <= start || address > end) continue;
    const uint64_t place = place_of(object->name, object->relative + (address - start));
    one->loaded = atomic_load(&sites[number_in(one->value)].place) == place;
  }
}

// Under `forgetting`.
static void forget_unloaded(void) {
  static struct known known[kSlots];
  struct known_slots all = {known, 0};
  for (size_t i = 0; i < kSlots; ++i) {
    const uint64_t value = atomic_load_explicit(&slots[i], memory_order_acquire);
    if (value >> kSiteBits != 0) known[all.count++] = (struct known){value, i, false};
  }
  visit_objects(note_loaded, &all);
  take();
  for (size_t i = 0; i < all.count; ++i) {
    // Unless the table was cleaned meanwhile.
    if (!known[i].loaded) {
      atomic_compare_exchange_strong(&slots[known[i].slot], &known[i].value, kForgotten);
    }
  }
  give();
}

void forget_addresses(void) {
  if (atomic_load(&lookups) == 0) return;
  pthread_mutex_lock(&forgetting);
  const uint64_t now = unloaded_objects();
  if (now != unloaded) forget_unloaded();
  unloaded = now;
  pthread_mutex_unlock(&forgetting);
}

struct sites_cost read_sites_cost(void) {
  enum { kTimed = 64 };
  static const int times = 100000;
  struct sites_cost cost = {.lookups = atomic_load(&lookups),
                            .lookup_seconds = (double)atomic_load(&lookup_nanoseconds) * 1e-9,
                            .unknown = atomic_load(&unknown_calls)};
  uint64_t known[kTimed];
  size_t count = 0;
  for (size_t i = 0; i < kSlots && count < kTimed; ++i) {
    known[count] = atomic_load(&slots[i]);
    if (known[count] >> kSiteBits != 0) ++count;
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
      add_counts(found[kept - 1], found[i]);
    } else {
      found[kept++] = found[i];
    }
  }
  return kept;
}

static struct site* listed[kSites];

// Lists functions that got blocks, most bytes first; returns how many there are. Under `lock`.
static size_t list(void) {
  static struct site copies[kSites];  // The program may go on counting.
  size_t count = 0;
  for (size_t i = 0; i < site_count; ++i) {
    if (i != 0 && atomic_load(&sites[i].place) == 0) continue;
    copies[count] = sites[i];
    listed[count] = &copies[count];
    ++count;
  }
  qsort((void*)listed, count, sizeof *listed, by_name);
  const size_t kept = merge(listed, count);
  qsort((void*)listed, kept, sizeof *listed, by_bytes);
  return kept;
}

size_t sites_bytes(void) {
  size_t bytes = 0;
  take();
  for (size_t i = 0; i < site_count; ++i) bytes += atomic_load(&sites[i].bytes);
  give();
  return bytes;
}

void report_sites(int file) {
  take();
  const size_t count = list();
  dprintf(file, "  %14s %12s %14s  call site\n", "bytes", "blocks", "largest");
  for (size_t i = 0; i < count && i < kShownSites; ++i) {
    const struct site* const site = listed[i];
    char name[kMaxSiteName];
    write_name(site, name, sizeof name);
    dprintf(file, "  %14zu %12zu %14zu  %s\n", site->bytes, site->blocks, site->largest, name);
  }
  give();
  if (count > kShownSites) dprintf(file, "  and %zu further call sites\n", count - kShownSites);
}

void report_sites_json(int file) {
  take();
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
  give();
  dprintf(file, count == 0 ? "[]" : "]");
}
