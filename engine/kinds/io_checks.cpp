#include "kinds/io_checks.h"

#include <tuple>

#include "protocol/constants.h"

namespace tierscope {

using Reader = ObjectReader;

void check_series(const Reader& measurement, const IoSpec& spec) {
  const bool series = measurement.has("series");
  const bool alone = series && measurement.object("series").text("group").empty();
  for (const IoJobSpec& job : spec.jobs) {
    measurement.check(tables::kIoSpecSeries, !alone || job.work.pattern.writes());
    measurement.check(tables::kIoSpecJobs, !job.files.purge || series);
  }
}

void check_job(const Reader& measurement, const IoJobSpec& job) {
  const IoWork& work = job.work;
  measurement.check(tables::kIoSpecGpu, work.backend->gpu == (job.buffers.gpu >= 0));
  measurement.check(tables::kIoSpecManaged,
                    work.backend->name != "staged-managed" || job.buffers.memory == "managed");
  const bool overwrites = work.pattern.writes() && job.files.kind == TargetSpec::Kind::kDevice;
  measurement.check(tables::kIoSpecPatternOperation, !overwrites || !job.files.destroy.empty());
}

void check_together(const Reader& measurement, const IoWork& common, const IoWork& own) {
  measurement.check(tables::kIoSpecPatternAmount, (own.amount == 0) == (common.amount == 0));
  measurement.check(tables::kIoSpecPatternTimeLimitS,
                    std::tie(own.time_limit_s, own.ramp_s, own.require) ==
                        std::tie(common.time_limit_s, common.ramp_s, common.require));
  measurement.check(tables::kIoSpecSame,
                    own.backend == common.backend || !(own.backend->gpu || common.backend->gpu));
}

}  // namespace tierscope
