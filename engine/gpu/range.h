// Names a stretch of work for profilers (NVTX): nsys then shows which measurement it is.
#pragma once

#include <nvtx3/nvToolsExt.h>

#include <string>

namespace tierscope {

class NamedRange {
 public:
  explicit NamedRange(const std::string& name) { nvtxRangePushA(("tierscope " + name).c_str()); }
  ~NamedRange() { nvtxRangePop(); }
  NamedRange(const NamedRange&) = delete;
  NamedRange& operator=(const NamedRange&) = delete;
};

}  // namespace tierscope
