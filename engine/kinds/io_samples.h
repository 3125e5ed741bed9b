// What a sample of input and output says: rates and times of all operations, of reads and writes,
// and of each job.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/kind.h"
#include "kinds/io_spec.h"
#include "storage/io_thread.h"

namespace tierscope {

// What one thread did in a sample.
struct ThreadSample {
  std::size_t job;
  const Tally* tally;
  double seconds;  // That its operations are divided by.
};

class IoSamples {
 public:
  explicit IoSamples(const IoSpec& spec);

  std::vector<Column> columns() const;
  std::vector<Distribution> distributions() const;

  // The values of all columns, and the histograms of all distributions. `cpu_s` is the CPU time of
  // all threads.
  void fill(Sample& sample, std::span<const ThreadSample> threads, double cpu_s) const;

 private:
  // Operations that figures are given of.
  struct Part {
    std::string name;                // Empty: all.
    std::optional<std::size_t> job;  // Of one job only.
    bool reads;
    bool writes;

    bool has(const ThreadSample& thread) const { return !job || *job == thread.job; }
  };

  void add_parts(const std::string& name, std::optional<std::size_t> job, bool both);
  void fill_rates(Sample& sample, const Part& part, std::span<const ThreadSample> threads) const;
  void fill_priorities(Sample& sample, std::span<const ThreadSample> threads) const;
  void fill_times(Sample& sample, const Part& part, std::span<const ThreadSample> threads) const;

  // Operations of a job and a direction that have the same priority.
  struct PriorityPart {
    std::string name;
    std::size_t job;
    std::size_t number;  // Of the priority among those of the job.
    bool writes;
  };

  void add_priorities(const IoSpec& spec, std::size_t job);

  std::vector<Part> parts_;
  std::vector<PriorityPart> priorities_;
  bool by_iops_;       // IOPS come before bandwidth.
  bool asynchronous_;  // Submission and completion are told apart.
  bool syncs_;
  bool own_ends_;  // Samples in which nothing ended have no rate: jobs wait, pause and end.
};

}  // namespace tierscope
