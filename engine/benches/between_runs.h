// What a figure of a GPU may be off by that its own run cannot show.
#pragma once

#include "benches/bench.h"

namespace tierscope {

// Share of a figure by which runs on a quiet GPU were seen to differ; docs/gpu.md has the data.
constexpr double kBetweenRuns = 1e-3;

// Copies within one run often agree to a few 0.01%, and the next run, with other pages, is a few
// more away. So all of an outcome's intervals grow by kBetweenRuns of the estimate to either side:
// a type B uncertainty, as the Guide to the Expression of Uncertainty in Measurement (JCGM
// 100:2008, 4.3) calls what is known from elsewhere than from the samples. The samples stay as they
// were.
Outcome with_difference_between_runs(Outcome outcome);

}  // namespace tierscope
