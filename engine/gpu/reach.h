// Whether a GPU can do what it is asked for where the data is.
#pragma once

#include "gpu/specs.h"

namespace tierscope {

// Enables peer access where it takes that. `by_copy_engine`: a copy engine moves the data; else
// loads and stores do. Throws Unavailable where there is no such GPU or it cannot reach the memory.
void require_reach(int gpu, const MemoryPlace& place, bool by_copy_engine);

// Throws Unavailable for a GPU without bulk copies (TMA).
void require_bulk_copies(int gpu);

}  // namespace tierscope
