// Holds streams of any number of GPUs until all their work is queued, and lets them go at once.
#pragma once

#include <cuda.h>

namespace tierscope {

class Gate {
 public:
  Gate() = default;
  virtual ~Gate() = default;
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // From here to open(), streams given to hold() stop there. However long it takes: nothing but
  // open() and give_up() let them go on.
  virtual void close() = 0;
  virtual void hold(CUstream stream) = 0;
  virtual void open() = 0;
  // In place of open() where something went wrong: lets this process's streams end.
  virtual void give_up() noexcept = 0;
};

// The gate of one process, a flag in the host's memory.
class HostGate final : public Gate {
 public:
  HostGate();
  // Opens, so that a stream that is still held can end.
  ~HostGate() override;

  void close() override { ++round_; }
  void hold(CUstream stream) override;
  void open() override;
  void give_up() noexcept override { open(); }

 private:
  volatile unsigned* opened_ = nullptr;  // Pinned host memory; the last round that was opened.
  unsigned round_ = 0;
};

// What gates of several processes are made of. Flags count rounds, and all of them may be in memory
// of any GPU or pinned memory of the host.

// Holds the stream until `flag` or `other` has come to `round`.
void hold_until(const volatile unsigned* flag, const volatile unsigned* other, unsigned round,
                CUstream stream);
// Holds the stream until `flag` has come to `round`, then sets `count` others to it. `others` is
// memory of the GPU.
void hold_and_set(const volatile unsigned* flag, volatile unsigned* const* others, int count,
                  unsigned round, CUstream stream);

}  // namespace tierscope
