// What the static C++ library of gcc 12 takes from glibc 2.32 and later; tools/sysroot adds it to that
// library, so that it runs with an older one.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

// False: counters of shared pointers are always updated by atomic instructions.
char __libc_single_threaded = 0;

// For std::random_device.
uint32_t arc4random(void) {
  uint32_t number = 0;
  if (getentropy(&number, sizeof number) != 0) abort();
  return number;
}
