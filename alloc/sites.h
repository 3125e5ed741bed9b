// Call sites: the places in a program that call malloc. Each is looked up once, by the call's
// return address, and then found in a table without locks. Code that is unloaded and loaded again
// has the sites that it had.
#ifndef TIERSCOPE_ALLOC_SITES_H
#define TIERSCOPE_ALLOC_SITES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rules.h"
#include "tierscope_alloc.h"

enum { kMaxSiteName = 1024 };

struct site {
  const char* object;    // File name without folders: "redis-server", "libc.so.6"; "?" if unknown.
  const char* function;  // NULL where the file does not say.
  size_t offset;         // Return address in the object file, as nm counts.
  atomic_uint_least64_t fitting;         // Bits of the site rules that name it.
  atomic_uint_least64_t place;           // Of `object` and `offset`, a hash; 0: the site is free.
  atomic_size_t blocks, bytes, largest;  // What it got; see count_at_site.
  _Atomic(ts_arena*) own;                // See heat.h.
};

// Call once, before the following. `rules` stays in use.
void begin_sites(const struct rules* rules);

// The site of a return address. At most 16,383 are told apart, those of unloaded code giving way to
// others; what comes beyond them, or from code of no object, is one site that no rule fits. Any
// thread; nothing that the caller holds is waited for.
struct site* site_of(const void* caller);

void count_at_site(struct site* site, size_t bytes);

// Whether nothing is known of it, so that no rule can name it.
bool is_unknown(const struct site* site);

// Its name as a rule takes it: OBJECT:FUNCTION, or OBJECT+0xOFFSET.
void name_site(const struct site* site, char* name, size_t size);

// Code may have been unloaded: forgets which of its sites is at which address.
void forget_addresses(void);

struct sites_cost {
  size_t lookups;         // So far,
  double lookup_seconds;  // in so much time together.
  double find_seconds;    // One site found in the table; timed by this call. 0: there is none.
  size_t unknown;         // Calls without a site of their own.
};

struct sites_cost read_sites_cost(void);

// Bytes that all sites together got.
size_t sites_bytes(void);

// Prints the functions that got most bytes, as rules name them, to a file descriptor.
void report_sites(int file);

// Prints all of them as a JSON array.
void report_sites_json(int file);

#endif
