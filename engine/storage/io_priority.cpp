#include "storage/io_priority.h"

#include <fmt/format.h>
#include <linux/ioprio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "errors.h"

namespace tierscope {

static_assert(io_priority(IOPRIO_CLASS_RT, 3) == IOPRIO_PRIO_VALUE(IOPRIO_CLASS_RT, 3));

std::string text_of(IoPriority priority) {
  return fmt::format("prio {}/{}", priority >> 13, priority & 7);
}

void refuse_priority(IoPriority priority) {
  throw Unavailable(Cause::kStorage,
                    fmt::format("the kernel refuses I/O of priority class {} to this user: {}",
                                priority >> 13, strerror(EPERM)),
                    "run as root or with CAP_SYS_NICE, or use class 2 (best-effort)");
}

ThreadIoPriority::ThreadIoPriority(IoPriority priority) {
  if (priority == 0) return;
  const auto before = static_cast<int>(syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0));
  if (syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, priority) == 0) {
    before_ = before;
    return;
  }
  if (errno == EPERM) refuse_priority(priority);
  throw Unavailable(Cause::kStorage, fmt::format("the priority of I/O cannot be set to {}: {}",
                                                 text_of(priority), strerror(errno)));
}

ThreadIoPriority::~ThreadIoPriority() {
  if (before_ >= 0) syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, before_);
}

}  // namespace tierscope
