// What the threads of each job did in a repetition, and when they were done.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "kinds/io_spec.h"
#include "storage/io_thread.h"

namespace tierscope {

class IoTargets {
 public:
  explicit IoTargets(const IoSpec& spec);

  // Begins a repetition: nothing was done yet.
  void restart();

  // Adds what was done in the sample of this number, which all threads have left; jobs[i] has the
  // threads of job i.
  void count(std::uint64_t number, std::span<const std::span<IoThread* const>> jobs);

  // What each job's threads say after their end, where each ends at its own.
  void note_ends(std::span<const std::span<IoThread* const>> jobs);

  // When each job's first and last thread had moved its amount, from the sample's start.
  void note_finishers(std::uint64_t number, std::span<const std::span<IoThread* const>> jobs);
  double last_finisher_s() const;

  // Operations of the repetition, of all jobs and of each where there are several.
  void observe(nlohmann::ordered_json& io) const;

 private:
  struct Done {
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
    std::uint64_t bytes_read = 0;
    std::uint64_t bytes_written = 0;
    double first_finisher_s = 0;
    double last_finisher_s = 0;
    double worked_s = 0;
    ThreadUsage usage;
    Depths depths;
    std::uint32_t depth = 0;         // That was found.
    std::uint64_t counted_from = 0;  // Number of a sample.
  };

  void write(const Done& done, nlohmann::ordered_json& to) const;
  static void write_threads(const Done& done, nlohmann::ordered_json& to);

  const IoSpec& spec_;
  std::uint64_t samples_ = 0;  // Counted so far.
  std::vector<Done> done_;     // By job.
};

// When the first thread began the sample of this number, in ns of now_ns().
std::int64_t start_ns(std::uint64_t number, std::span<const std::span<IoThread* const>> jobs);

}  // namespace tierscope
