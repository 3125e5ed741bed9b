// One job of a measurement of input and output: its files, buffers and threads.
#pragma once

#include <sys/types.h>

#include <deque>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/leases.h"
#include "kinds/io_spec.h"
#include "storage/gpu_io.h"
#include "storage/io_thread.h"
#include "storage/target_files.h"

namespace tierscope {

class IoJob {
 public:
  // `first` is the number of its first thread among all of the measurement's. Makes the files.
  IoJob(const IoSpec& spec, const IoJobSpec& job, FilePool& pool, std::size_t first);

  // Before each visit: leases buffers, fills those to be written, makes the threads.
  void open(Leases& leases, Team& team);

  // On the thread that is to work: opens the files and makes the backend.
  void prepare(std::size_t thread);
  bool has(std::size_t thread) const;

  std::deque<IoThread>& threads() { return threads_; }
  const Region* region() const { return region_; }  // Host memory of its buffers, if it has any.

  // Devices that its files are on, or are.
  std::vector<dev_t> devices() const;

  // After the threads have ended: what was observed of its files.
  void observe(nlohmann::ordered_json& io);

  // Compares blocks that were read or written in this visit with what they have to be, and says
  // what was compared; empty where nothing is known of the contents. Throws Failure.
  std::string verify();

 private:
  // What a thread works with.
  struct Work {
    std::vector<Descriptor> files;
    std::vector<int> fds;
    std::vector<std::byte*> buffers;  // By slot.
    // Buffers beside a GPU, and their contents as the CPU sees them.
    std::unique_ptr<GpuBuffers> gpu;
    std::unique_ptr<GpuBuffers> mirror;
    std::vector<std::uint64_t> images;  // Hashes of what writes without headers write, by slot.
    std::vector<IoRequest> written;     // A sample, or all where all are verified.
    std::uint64_t writes = 0;
    std::uint64_t random = 0;
    std::uint64_t refills = 0;
  };

  void set_page_cache();
  void lease_buffers(Leases& leases, Team& team);
  void lease_gpu_buffers(Work& work) const;
  void fill_buffers(std::size_t index);
  void make_threads();
  BlockHooks hooks_of(std::size_t index);
  void before_write(Work& work, const IoRequest& operation);
  void after_read(const Work& work, const IoRequest& operation);
  void note_written(Work& work, const IoRequest& operation);
  void check(std::span<const std::byte> data, const IoRequest& operation,
             std::uint64_t min_generation) const;
  void check_image(std::span<const std::byte> data, const IoRequest& operation) const;
  std::string verify_written();
  std::string verify_buffers();
  // Where the CPU reads and writes a block's contents.
  std::span<std::byte> block_of(const Work& work, const IoRequest& operation) const;
  std::span<std::byte> read_block(const Work& work, const IoRequest& operation) const;
  std::uint32_t number_of(int file) const;
  std::size_t slots() const;

  const IoSpec& spec_;
  const IoJobSpec& job_;
  std::size_t first_;
  std::uint32_t cell_bytes_;  // 0: what is written has no headers.
  TargetFiles files_;
  std::size_t stride_;  // From one buffer to the next.
  IoRule rule_;
  std::deque<Work> work_;
  std::deque<IoThread> threads_;
  const Region* region_ = nullptr;
  std::uint64_t generation_ = 0;
  std::optional<double> cached_before_;  // Share of the files, 0..1.
};

}  // namespace tierscope
