// The preloaded allocator's settings, from the environment, and what it prints: settings.c, or, in
// libcemalloc.so, cemalloc.c with variables of its own.
#ifndef TIERSCOPE_ALLOC_SETTINGS_H
#define TIERSCOPE_ALLOC_SETTINGS_H

#include <stdbool.h>

// Reads them (TIERSCOPE_ALLOC, TIERSCOPE_ALLOC_RULES, TIERSCOPE_ALLOC_JSON) and makes the arenas.
// False: nothing was asked for, or something is wrong and was said.
bool read_settings(void);

// Prints a line on stderr, and ends the program with status 1 where `strict` was asked for.
void complain(const char* what);

// Prints what TIERSCOPE_ALLOC asked for, to the stderr that the program began with, if that is
// still open: many programs close stderr before they end.
void print_report(void);

#endif
