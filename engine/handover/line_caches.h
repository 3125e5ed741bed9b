// Cache lines of memory that hosts share whose caches the hardware does not keep coherent.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace tierscope {

// What a host does about its copies of lines. Tests have caches of their own.
class LineCaches {
 public:
  LineCaches() = default;
  virtual ~LineCaches() = default;
  LineCaches(const LineCaches&) = delete;
  LineCaches& operator=(const LineCaches&) = delete;

  // Writes lines that this host stored to back to memory. Later stores wait until they are there.
  virtual void write_back(std::span<std::byte> lines) = 0;
  // Drops copies of lines that this host only loads: later loads read memory. Not before earlier
  // loads are done, so that what they saw decides.
  virtual void drop(std::span<std::byte> lines) = 0;
  // The instructions: "clwb, sfence; clflushopt between mfences".
  virtual std::string text() const = 0;
};

// By instructions of this CPU. Throws Unavailable (isa) where it lacks them.
LineCaches& instruction_caches();

// Nothing is done: the hardware keeps the caches coherent.
LineCaches& coherent_caches();

}  // namespace tierscope
