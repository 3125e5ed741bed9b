// How much each lane has to do, and with what grid: found out before the first sample.
#pragma once

#include <optional>

#include "gpu/copy_run.h"

namespace tierscope {

// Gives each lane copies for about `sample_s`, all of them ending at the same time; for kernels
// that can wait at the gate, grids of several sizes are tried for a short while each, and the one
// that moves most is kept. Returns its blocks; none where no kernel's grid was tried, or
// other processes have all kernels.
std::optional<int> tune(CopyRun& run, double sample_s);

}  // namespace tierscope
