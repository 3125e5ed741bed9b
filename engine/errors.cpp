#include "errors.h"

namespace tierscope {

std::string_view name_of(Cause cause) {
  switch (cause) {
    case Cause::kInterrupted:
      return "interrupted";
    case Cause::kCpu:
      return "cpu";
    case Cause::kNode:
      return "node";
    case Cause::kMemory:
      return "memory";
    case Cause::kPages:
      return "pages";
    case Cause::kKernel:
      return "kernel";
    case Cause::kIsa:
      return "isa";
    case Cause::kGpu:
      return "gpu";
    case Cause::kPeer:
      return "peer";
    case Cause::kGpuFeature:
      return "gpu-feature";
    case Cause::kTool:
      return "tool";
    case Cause::kPermission:
      return "permission";
    case Cause::kVerification:
      return "verification";
    case Cause::kPlacement:
      return "placement";
    case Cause::kWeights:
      return "weights";
    case Cause::kStorage:
      return "storage";
    case Cause::kOwnership:
      return "ownership";
    case Cause::kPath:
      return "path";
    case Cause::kGpuError:
      return "gpu-error";
    case Cause::kOther:
      break;
  }
  return "other";
}

}  // namespace tierscope
