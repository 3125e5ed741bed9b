// A data structure of a database, over memory that somebody else placed.
//
// Structures never allocate memory that is measured: their parts (inner nodes, leaves, tags, ...)
// are spans that the caller leased, each on the tier that was asked for. They know neither plans
// nor the harness; engine/kinds/ops.cpp runs them, tests call them directly.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tierscope::database {

// A part that is placed by itself.
struct Part {
  std::string_view name;  // As plans name it.
  std::size_t bytes;      // A multiple of 64.
};

// Parts of these names and sizes.
template <std::size_t kParts>
std::vector<Part> named_parts(const std::array<std::string_view, kParts>& names,
                              const std::array<std::size_t, kParts>& bytes) {
  std::vector<Part> found;
  for (std::size_t part = 0; part < kParts; ++part) found.push_back({names[part], bytes[part]});
  return found;
}

using Memory = std::span<const std::span<std::byte>>;  // One span for each part, in their order.

// Runs work(thread) on every thread of the team and waits for all.
using OnThreads = std::function<void(const std::function<void(std::size_t thread)>& work)>;

class Structure {
 public:
  Structure() = default;
  virtual ~Structure() = default;
  Structure(const Structure&) = delete;
  Structure& operator=(const Structure&) = delete;

  // What it needs, which does not change: known before memory is leased.
  virtual std::vector<Part> parts() const = 0;

  // Lays everything out in this memory, whatever it held, and begins the threads' work anew.
  virtual void build(Memory memory, const OnThreads& on_threads) = 0;

  // Does so many units of a thread's work, after those it did before; all threads at once.
  virtual void work(std::size_t thread, std::uint64_t units) = 0;

  // Operations of a unit: one, or as many as a group of interleaved ones, a block of rows...
  virtual std::uint64_t operations_per_unit() const { return 1; }

  // Of the input that operations go over in order, the bytes of each; 0: they go over none.
  virtual std::size_t input_bytes() const { return 0; }

  // The instruction set of its loops.
  virtual std::string_view isa() const = 0;

  // Units that each thread does in a row; 0: as many as fit the time of a row.
  virtual std::uint64_t units_per_sample() const { return 0; }

  // Whether single units are worth timing beside the rows.
  virtual bool timed() const { return true; }

  // Untimed, before each row of units_per_sample(): makes room for it, for instance by a new build.
  virtual void prepare_sample(const OnThreads& /*on_threads*/) {}

  // Compares what the work left, and what it found, with a plain reference; returns what was
  // compared, in words. Throws Failure (verification) where they differ.
  virtual std::string verify(const OnThreads& on_threads) = 0;
};

}  // namespace tierscope::database
