// A kind of measurement: a name, a parser of its part of a plan, and the job that comes out of it.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sampling/sampler.h"

namespace tierscope {

class ObjectReader;
class Workspace;

// A figure beside the main one, from the same samples.
struct Figure {
  std::string metric;
  std::string unit;
  double estimate;
  double low;
  double high;
};

struct Outcome {
  std::string metric;
  std::string unit;
  Sampled sampled;
  std::vector<Figure> figures;
  nlohmann::ordered_json evidence;  // Keys as in Evidence, src/tierscope/model/event.py.
};

// Told after each sample: seconds since sampling began and the samples so far.
using Progress = std::function<void(double elapsed_s, const std::vector<double>& samples)>;

// Measures. Throws Unavailable where it can't be had here and Failure where it went wrong; an
// outcome without samples means that a signal came before the first.
using Job = std::function<Outcome(Workspace& workspace, const Progress& progress)>;

// Reads what the kind adds to a measurement's common keys; throws PlanError.
using ParseJob = Job (*)(ObjectReader& measurement);

struct Kind {
  std::string_view name;
  ParseJob parse;
};

// All kinds of measurement that this build knows. A new kind is one more row in kinds.cpp.
std::span<const Kind> kinds();

}  // namespace tierscope
