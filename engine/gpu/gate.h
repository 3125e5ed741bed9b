// Holds streams of any number of GPUs until all their work is queued, and lets them go at once.
#pragma once

#include <cuda_runtime_api.h>

namespace tierscope {

class Gate {
 public:
  Gate();
  // Opens, so that a stream that is still held can end.
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // From here to open(), streams given to hold() stop there. However long it takes: nothing but
  // open() lets them go on.
  void close() { ++round_; }
  void hold(cudaStream_t stream);
  void open();

 private:
  volatile unsigned* opened_ = nullptr;  // Pinned host memory; the last round that was opened.
  unsigned round_ = 0;
};

// Whether this build holds kernels that the current GPU can run.
bool runs_kernels();

}  // namespace tierscope
