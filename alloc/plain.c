#include <malloc.h>
#include <stdlib.h>

#include "core.h"

void* plain_malloc(size_t size) { return malloc(size); }

void* plain_calloc(size_t count, size_t size) { return calloc(count, size); }

void* plain_realloc(void* pointer, size_t size) { return realloc(pointer, size); }

int plain_memalign(void** pointer, size_t alignment, size_t size) {
  return posix_memalign(pointer, alignment, size);
}

void plain_free(void* pointer) { free(pointer); }

size_t plain_usable_size(const void* pointer) { return malloc_usable_size((void*)pointer); }
