// What the keys of a measurement of input and output ask of each other.
#pragma once

#include "kinds/io_spec.h"

namespace tierscope {

// All throw PlanError, which names the key of the measurement.

// What the pattern of a job, its own or the measurement's, asks of the job.
void check_job(const ObjectReader& measurement, const IoSpec& spec, const IoJobSpec& job);
// What patterns of jobs that run together have in common with the measurement's.
void check_together(const ObjectReader& measurement, const IoSpec& spec, const IoWork& own);
// Whether data may be destroyed, as rounds of a series of writes and purges do.
void check_series(const ObjectReader& measurement, const IoSpec& spec);

}  // namespace tierscope
