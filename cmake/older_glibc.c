// What lets programs of gcc 12 run with an older glibc than they are linked with; tools/sysroot
// adds it to the static C++ library.
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

// The C++ library takes these from glibc 2.32 and 2.36.

// False: counters of shared pointers are always updated by atomic instructions.
char __libc_single_threaded = 0;

// For std::random_device.
uint32_t arc4random(void) {
  uint32_t number = 0;
  if (getentropy(&number, sizeof number) != 0) abort();
  return number;
}

// glibc 2.29 has these a second time, without the error handling of SVID. The linker's --wrap has
// calls of them come here, and from here they go to the first, so that glibc 2.28 is enough.
#ifdef __aarch64__
#define FIRST "GLIBC_2.17"
#else
#define FIRST "GLIBC_2.2.5"
#endif

#define OF_ONE(name)                                   \
  __asm__(".symver first_" #name "," #name "@" FIRST); \
  double first_##name(double x);                       \
  double __wrap_##name(double x) { return first_##name(x); }

OF_ONE(exp)
OF_ONE(exp2)
OF_ONE(log)
OF_ONE(log2)

__asm__(".symver first_pow,pow@" FIRST);
double first_pow(double x, double y);
double __wrap_pow(double x, double y) { return first_pow(x, y); }

// In glibc 2.30; waits with a time limit use it. Without it the C++ library waits by the system's
// clock, as here.
int __wrap_pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                  clockid_t clock, const struct timespec* end) {
  const int64_t second = 1000000000;
  struct timespec now, system;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &system);
  const int64_t left = (end->tv_sec - now.tv_sec) * second + (end->tv_nsec - now.tv_nsec);
  const int64_t until = system.tv_sec * second + system.tv_nsec + (left > 0 ? left : 0);
  const struct timespec system_end = {.tv_sec = until / second, .tv_nsec = until % second};
  return pthread_cond_timedwait(condition, mutex, &system_end);
}
