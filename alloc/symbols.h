// Names of functions by their addresses, from the symbol tables of files, which also have functions
// that are not exported and that dladdr does not find.
#ifndef TIERSCOPE_ALLOC_SYMBOLS_H
#define TIERSCOPE_ALLOC_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Finds out the program's own path and name. Call it first.
void begin_symbols(void);

struct object {
  const char* name;  // Without folders; of the program, the name by which it was started.
  const char* path;
  uintptr_t relative;  // The address, as nm prints addresses of this file.
};

// Finds the object file that an address in code belongs to; its strings are valid until it is
// unloaded. False: it is of none.
bool find_object(uintptr_t address, struct object* object);

// Calls `visit` for each range of addresses of each object that is loaded, whose `relative`
// is that of the range's start. Waits for threads that add or remove objects.
typedef void object_visitor(void* context, const struct object* object, uintptr_t start,
                            uintptr_t end);
void visit_objects(object_visitor* visit, void* context);

// How many objects were unloaded so far. Waits as visit_objects does.
uint64_t unloaded_objects(void);

// Copies the name of the function at a relative address of an ELF file; false where the file cannot
// be read or names none there (it is stripped).
bool find_function(const char* path, uintptr_t relative, char* name, size_t size);

#endif
