// The ways in which a measurement ends without a result.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace tierscope {

// Why there is no figure, as a word that programs may decide by; src/tierscope/model/cause.py has
// the same words, and three more for what an engine cannot say of itself (crash, timeout,
// protocol).
enum class Cause {
  kInterrupted,
  kCpu,
  kNode,
  kMemory,
  kPages,
  kKernel,
  kIsa,
  kGpu,
  kPeer,
  kGpuFeature,
  kTool,
  kPermission,
  kVerification,
  kPlacement,
  kWeights,
  kStorage,
  kOwnership,
  kPath,
  kGpuError,
  kOther,
};

std::string_view name_of(Cause cause);

// The measurement cannot be made on this machine as it is; becomes the event `skipped`.
// what() is the reason in one line; remedy is what the user can do, a command where there is one.
class Unavailable : public std::runtime_error {
 public:
  Unavailable(Cause cause, const std::string& reason, std::string remedy = "")
      : std::runtime_error(reason), cause_(cause), remedy_(std::move(remedy)) {}

  Cause cause() const { return cause_; }
  const std::string& remedy() const { return remedy_; }

 private:
  Cause cause_;
  std::string remedy_;
};

// The measurement could be made but went wrong; becomes the event `failed`.
// what() says what was observed and what was expected, in one line.
class Failure : public std::runtime_error {
 public:
  explicit Failure(const std::string& reason, Cause cause = Cause::kOther)
      : std::runtime_error(reason), cause_(cause) {}

  Cause cause() const { return cause_; }

 private:
  Cause cause_;
};

// A failure after which this process can measure no more (an error that invalidated a GPU's
// context); the parent starts another process for the remaining measurements.
class UnusableProcess : public Failure {
 public:
  explicit UnusableProcess(const std::string& reason) : Failure(reason, Cause::kGpuError) {}
};

// A signal came before a sample was complete.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

}  // namespace tierscope
