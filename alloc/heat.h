// An arena for each function that allocates much, so that its blocks are at addresses of their own,
// and a file that says which these are: `tierscope alloc heat` observes them.
#ifndef TIERSCOPE_ALLOC_HEAT_H
#define TIERSCOPE_ALLOC_HEAT_H

#include <stdbool.h>

#include "sites.h"
#include "tierscope_alloc.h"

// Call once, before the following. `setting` is NODES:FOLDER: where pages go, and where each
// process has a file, named by its number. Returns 0, or an errno where the file cannot be made.
int begin_heat(const char* setting);

// The arena of a site's function; NULL where it has none yet, or there is none left.
ts_arena* site_arena(struct site* site);

#endif
