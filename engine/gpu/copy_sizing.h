// How much each lane has to do, and with what grid: found out before the first sample.
#pragma once

#include <optional>
#include <string>

#include "gpu/copy_run.h"

namespace tierscope {

// Of lanes that cannot wait at a gate: enough copies to last for about `sample_s`.
void size_ungated(CopyRun& run, double sample_s);

// Of gated lanes: copies for about `sample_s`, all of them ending together; for kernels, grids of
// several sizes are tried for a short while each, and the one that moves most is kept. Returns what
// to say of it.
std::optional<std::string> tune(CopyRun& run, double sample_s);

}  // namespace tierscope
