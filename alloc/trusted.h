// Whether what a file says may be done with root's rights.
#ifndef TIERSCOPE_ALLOC_TRUSTED_H
#define TIERSCOPE_ALLOC_TRUSTED_H

#include <stdbool.h>
#include <stddef.h>

// True where this process is not root's, or where none but root, or who became root by sudo, may
// write to the open file or put another one in its place. Else `why` says what is wrong and what to
// do.
bool is_trusted(int file, char* why, size_t size);

#endif
