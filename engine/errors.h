// The ways in which a measurement ends without a result.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace tierscope {

// The measurement cannot be had on this machine as it is; becomes the event `skipped`.
// what() says why in one line; remedy is what the user can do, a command where there is one.
class Unavailable : public std::runtime_error {
 public:
  explicit Unavailable(const std::string& reason, std::string remedy = "")
      : std::runtime_error(reason), remedy_(std::move(remedy)) {}

  const std::string& remedy() const { return remedy_; }

 private:
  std::string remedy_;
};

// The measurement could be had but went wrong; becomes the event `failed`.
// what() says what was seen and what was expected, in one line.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A failure after which this process can measure no more (a GPU's context that an error spoilt);
// its parent starts another for the measurements that remain.
class ProcessSpoilt : public Failure {
 public:
  using Failure::Failure;
};

// A signal came while the measurement was being set up: it has no samples to report.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

}  // namespace tierscope
