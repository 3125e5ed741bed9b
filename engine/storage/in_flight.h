// A thread's operations on one file, of which it keeps as many in flight as it has buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "storage/backend.h"
#include "storage/owned_files.h"

namespace tierscope {

struct InFlightWish {
  const OwnedFile* file;
  int descriptor;  // Of this file, open.
  const BackendKind* backend;
  std::vector<std::byte*> buffers;  // One for each operation in flight.
  std::size_t buffer_bytes;         // Of each of them, the most that an operation moves.
  bool writes;                      // Some operations write.
  bool direct;
  int gpu;  // That the buffers belong to; -1: host memory.
};

// Made and used by one thread.
class InFlight {
 public:
  struct Operation {
    std::byte* data;
    std::uint64_t offset;
    std::size_t bytes;
    bool write;
  };
  // What operation `number` moves. It may be in the buffer of its slot, or anywhere else.
  using Begin = std::function<Operation(std::size_t number, std::uint32_t slot)>;
  // Its bytes were moved; its slot is free once this returns.
  using Ended = std::function<void(std::size_t number, std::uint32_t slot)>;

  // Throws Unavailable.
  explicit InFlight(const InFlightWish& wish);
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

  std::size_t depth() const { return buffers_.size(); }

  // Carries out operations [0, count); none is in flight before and after. Throws Failure where one
  // does not move all of its bytes.
  void carry_out(std::size_t count, const Begin& begin, const Ended& ended);

 private:
  void check(const Completion& one) const;

  std::string path_;
  std::vector<int> descriptors_;
  std::vector<std::uint64_t> sizes_;
  std::vector<std::byte*> buffers_;
  std::vector<std::size_t> numbers_;  // Of the operation in each slot; so has the next.
  std::vector<IoRequest> requests_;
  std::vector<Completion> done_;
  std::unique_ptr<Backend> backend_;
};

}  // namespace tierscope
