// How transfers are laid on streams and kernels.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "gpu/copy_run.h"

namespace tierscope {

// Makes the engines and lanes of run.spec, all but their buffers.
void make_lanes(CopyRun& run);

// The source and the destination of each transfer in turn: what the lanes move from here on.
void assign_buffers(CopyRun& run, const std::vector<Buffer*>& buffers);

// Names of the transfers that one kernel makes, in pairs.
std::vector<std::pair<std::string, std::string>> fused_transfers(const CopyRun& run);

}  // namespace tierscope
