// libcemallocjava.so: the native methods of HMSDK's class cemalloc.Cemalloc, which loads the
// library of this name. None uses its arguments, so that a JDK is not needed to build it.
#include "cemalloc.h"

// NOLINTBEGIN(readability-identifier-naming)
#define METHOD __attribute__((visibility("default")))
METHOD void Java_cemalloc_Cemalloc_EnableExplicitIndicator_1(void* env, void* object);
METHOD void Java_cemalloc_Cemalloc_SetCxlMemory_1(void* env, void* object);
METHOD void Java_cemalloc_Cemalloc_SetHostMemory_1(void* env, void* object);
METHOD int Java_cemalloc_Cemalloc_GetMemoryMode_1(void* env, void* object);

void Java_cemalloc_Cemalloc_EnableExplicitIndicator_1(void* env, void* object) {
  (void)env, (void)object;
  EnableExplicitIndicator();
}

void Java_cemalloc_Cemalloc_SetCxlMemory_1(void* env, void* object) {
  (void)env, (void)object;
  SetCxlMemory();
}

void Java_cemalloc_Cemalloc_SetHostMemory_1(void* env, void* object) {
  (void)env, (void)object;
  SetHostMemory();
}

int Java_cemalloc_Cemalloc_GetMemoryMode_1(void* env, void* object) {
  (void)env, (void)object;
  return GetMemoryMode();
}
// NOLINTEND(readability-identifier-naming)
