// What a writer of persistent memory does with it, so that one writer runs on a mapped file and on
// a recorder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tierscope {

inline constexpr std::size_t kLineWords = 8;  // Of 8 bytes, the most that is written at once.

class DurableMemory {
 public:
  virtual ~DurableMemory() = default;

  virtual void store(std::size_t word, std::uint64_t value) = 0;
  // Begins to make the words' lines durable.
  virtual void flush(std::size_t word, std::size_t words) = 0;
  // Returns when all that was flushed is durable.
  virtual void fence() = 0;
  // Tells the outside that this generation is durable.
  virtual void acknowledge(std::uint64_t generation) = 0;
};

// What is found after a crash.
struct Survivor {
  std::uint64_t generation = 0;
  std::string problem;  // What is inconsistent; empty where nothing is.
};

// Writes the number to stdout as a line, at once: what is acknowledged must not be lost any more.
// Throws OutputError.
void write_acknowledgement(std::uint64_t generation);

}  // namespace tierscope
