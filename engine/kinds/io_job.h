// One job of a measurement of input and output: its files, buffers and threads.
#pragma once

#include <sys/types.h>

#include <deque>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/leases.h"
#include "kinds/io_memory.h"
#include "kinds/io_spec.h"
#include "kinds/io_verification.h"
#include "storage/io_thread.h"
#include "storage/page_cache.h"
#include "storage/target_files.h"

namespace tierscope {

// What all jobs of a measurement share in one repetition.
struct IoRepetition {
  std::uint64_t generation;       // Of what is written: files may have several writers.
  std::uint64_t cacheable_bytes;  // That each job may have the page cache hold of its files.
};

class IoJob {
 public:
  // `first` is the number of its first thread among all of the measurement's. Makes the files.
  // `company` is what its threads share with those of other jobs.
  IoJob(const IoJobSpec& job, FilePool& pool, std::size_t first, bool own_ends, IoCompany company);

  // Before each repetition: leases buffers, fills those to be written, makes the threads.
  void open(Leases& leases, Team& team, const IoRepetition& repetition);

  // On the thread that is to work: opens the files and makes the backend.
  void prepare(std::size_t thread);
  bool has(std::size_t thread) const;

  // Before a fresh repetition: discards the device's data, where that is asked for.
  void purge() { purged_bytes_ = files_.purge(); }

  std::deque<IoThread>& threads() { return threads_; }
  const Region* region() const { return region_; }  // Host memory of its buffers, if it has any.

  // Devices that its files are on, or are.
  std::vector<dev_t> devices() const;

  // After the threads have ended: what was observed of its files.
  void observe(nlohmann::ordered_json& io);

  // Compares blocks that were read or written in this repetition with what they have to be, and
  // says what was compared; empty where nothing is known of the contents. Throws Failure.
  std::string verify();

 private:
  // What a thread works with.
  struct Work {
    std::vector<Descriptor> files;
    std::vector<int> fds;
    IoMemory buffers;
    WrittenBlocks written;
    std::uint64_t refills = 0;
    std::optional<DuplicateUnits> units;  // Where some of them are duplicates.
  };

  void set_page_cache(std::uint64_t room);
  FileSpan used_span(std::size_t file) const;
  std::optional<double> cached_share() const;
  void lease_buffers(Leases& leases, Team& team);
  void check_verifiable() const;
  void fill_buffers(std::size_t index);
  void make_contents(std::span<std::byte> buffer, std::uint64_t seed) const;
  void make_threads();
  BlockHooks hooks_of(std::size_t index);
  void before_write(Work& work, const IoRequest& operation);
  std::string verify_written();
  std::string verify_buffers();
  double begin_of(std::size_t thread) const;
  std::size_t slots() const;
  std::size_t unit_bytes() const;

  const IoJobSpec& job_;
  const IoWork& spec_;
  std::size_t first_;
  std::uint32_t cell_bytes_;  // 0: its files have no cells.
  TargetFiles files_;
  std::vector<Descriptor> buffered_;  // Without O_DIRECT, to read the page cache and for evidence.
  IoVerification verification_;
  std::size_t stride_;  // From one buffer to the next.
  IoRule rule_;
  IoCompany company_;
  std::deque<Work> work_;
  std::deque<IoThread> threads_;
  const Region* region_ = nullptr;
  std::uint64_t purged_bytes_ = 0;
  std::optional<double> cached_before_;  // As of cached_share().
};

}  // namespace tierscope
