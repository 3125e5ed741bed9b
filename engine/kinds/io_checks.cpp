#include "kinds/io_checks.h"

#include <cmath>
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

void check_job(const Reader& measurement, const IoSpec& spec, const IoJobSpec& job) {
  const IoWork& work = job.work;
  const bool limited = std::isfinite(work.time_limit_s);
  measurement.check(tables::kIoSpecOwnEnds, !spec.own_ends || work.amount != 0 || limited);
  measurement.check(tables::kIoSpecLimited, spec.own_ends || work.amount != 0 || !limited);
  const bool paced = work.delay_s > 0 || work.search || !job.ends.empty() || job.flow >= 0;
  measurement.check(tables::kIoSpecPaced, spec.own_ends || !paced);
  measurement.check(tables::kIoSpecGpu, work.backend->gpu == (job.buffers.gpu >= 0));
  measurement.check(tables::kIoSpecManaged,
                    work.backend->name != "staged-managed" || job.buffers.memory == "managed");
  const bool overwrites = work.pattern.writes() && job.files.kind == TargetSpec::Kind::kDevice;
  measurement.check(tables::kIoSpecPatternOperation, !overwrites || !job.files.destroy.empty());
}

void check_together(const Reader& measurement, const IoSpec& spec, const IoWork& own) {
  const IoWork& common = spec.work;
  const bool alike =
      (own.amount == 0) == (common.amount == 0) && own.time_limit_s == common.time_limit_s;
  measurement.check(tables::kIoSpecPatternAmount, spec.own_ends || alike);
  measurement.check(tables::kIoSpecPatternRampS,
                    std::tie(own.ramp_s, own.require) == std::tie(common.ramp_s, common.require));
  measurement.check(tables::kIoSpecSame,
                    own.backend == common.backend || !(own.backend->gpu || common.backend->gpu));
}

}  // namespace tierscope
