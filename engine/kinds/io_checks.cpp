#include "kinds/io_checks.h"

#include <fmt/format.h>

#include <cmath>

namespace tierscope {

using Reader = ObjectReader;

void check_series(Reader& measurement, const IoSpec& spec, bool series) {
  for (const IoJobSpec& job : spec.jobs) {
    const bool destroys = !job.files.destroy.empty() && job.work.pattern.writes();
    if (series && !destroys) throw measurement.error("series", "writes to devices with destroy");
    if (job.files.purge && !series) throw measurement.error("jobs", "purge goes with a series");
  }
}

void check_work(Reader& pattern, const IoWork& work) {
  if (work.depth > 1 && work.backend->synchronous) {
    throw pattern.error("depth", fmt::format("backend {} has one operation a thread in flight",
                                             work.backend->name));
  }
  if ((work.sqpoll || work.iopoll) && work.backend->name != "io_uring") {
    throw pattern.error("backend", "sqpoll and iopoll go with io_uring");
  }
  if (work.iopoll && !work.direct) throw pattern.error("iopoll", "needs direct I/O");
  if (work.backend->name == "mmap" && work.direct) {
    throw pattern.error("direct", "mmap goes through the page cache, or DAX");
  }
  if (work.end_fsync && work.amount == 0) throw pattern.error("end_fsync", "goes with amount");
  if (std::isfinite(work.time_limit_s) && work.amount == 0) {
    throw pattern.error("time_limit_s", "goes with amount");
  }
  if (work.ramp_s > 0 && work.amount != 0) throw pattern.error("ramp_s", "goes with no amount");
  if (!work.backend->gpu && !work.require.empty() && work.require != "odirect") {
    throw pattern.error("require", work.require + " is a way to a GPU");
  }
  if (!work.backend->gpu && work.require == "odirect" && !work.direct) {
    throw pattern.error("require", "odirect needs direct I/O");
  }
  const bool syncs = work.fsync != 0 || work.fdatasync != 0 || work.end_fsync;
  if (syncs && !work.pattern.writes()) throw pattern.error("fsync", "goes with writes");
}

void check_job(Reader& pattern, const IoJobSpec& job) {
  const IoWork& work = job.work;
  if (work.backend->gpu != (job.buffers.gpu >= 0)) {
    throw pattern.error("backend", fmt::format("{} {} GPU in a job's buffers", work.backend->name,
                                               work.backend->gpu ? "needs a" : "takes no"));
  }
  if (work.backend->name == "staged-managed" && job.buffers.memory != "managed") {
    throw pattern.error("backend", "staged-managed needs memory managed");
  }
  if (work.pattern.writes() && job.files.kind == TargetSpec::Kind::kDevice &&
      job.files.destroy.empty()) {
    throw pattern.error("operation", "writing to a device needs destroy");
  }
}

void check_together(Reader& pattern, const IoWork& common, const IoWork& own) {
  if ((own.amount == 0) != (common.amount == 0)) {
    throw pattern.error("amount", "all patterns have one, or none has");
  }
  if (own.time_limit_s != common.time_limit_s || own.ramp_s != common.ramp_s) {
    throw pattern.error("time_limit_s", "it and ramp_s are the same in all patterns");
  }
  if (own.require != common.require) throw pattern.error("require", "is the same in all patterns");
  if ((own.backend->gpu || common.backend->gpu) && own.backend != common.backend) {
    throw pattern.error("backend", "of GPUs is the same in all patterns");
  }
}

}  // namespace tierscope
