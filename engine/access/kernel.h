// The CPU access kernels: one table row for each operation, order and instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tierscope {

class ZipfOrder;

enum class Operation {
  kRead,
  kWrite,
  kWriteNt,
  kCopy,
  kCopyNt,
  kScale,
  kScaleNt,
  kAdd,
  kAddNt,
  kTriad,
  kTriadNt,
  kRmw,
  kMemset,
  kMemcpy,
};
// The operations before kMemset have kernels; the others are the C library's, see library.h.
inline constexpr std::size_t kKernelOperations = static_cast<std::size_t>(Operation::kMemset);
constexpr bool is_library(Operation operation) { return operation >= Operation::kMemset; }
enum class Order { kSequential, kReverse, kStrided, kRandom, kZipf };

// What one element of an operation moves; everything counted about an operation comes from here.
struct OperationTraits {
  Operation operation;
  std::string_view name;
  std::string_view formula;  // Over elements of the arrays a, b, c and the scalar s.
  int arrays;                // Arrays used: a alone, a and b, or a, b and c.
  int program_bytes;         // Bytes asked to move, per byte of one array (STREAM's count).
  int bus_bytes;             // The same with a write-allocate read before each ordinary store; 0
                             // where nobody knows, since the C library chooses its stores.
};

inline constexpr OperationTraits kOperations[] = {
    {Operation::kRead, "read", "load a", 1, 1, 1},
    {Operation::kWrite, "write", "a = s", 1, 1, 2},
    {Operation::kWriteNt, "write-nt", "a = s, non-temporal", 1, 1, 1},
    {Operation::kCopy, "copy", "a = b", 2, 2, 3},
    {Operation::kCopyNt, "copy-nt", "a = b, non-temporal", 2, 2, 2},
    {Operation::kScale, "scale", "a = s * b", 2, 2, 3},
    {Operation::kScaleNt, "scale-nt", "a = s * b, non-temporal", 2, 2, 2},
    {Operation::kAdd, "add", "a = b + c", 3, 3, 4},
    {Operation::kAddNt, "add-nt", "a = b + c, non-temporal", 3, 3, 3},
    {Operation::kTriad, "triad", "a = b + s * c", 3, 3, 4},
    {Operation::kTriadNt, "triad-nt", "a = b + s * c, non-temporal", 3, 3, 3},
    {Operation::kRmw, "rmw", "a = a + s", 1, 2, 2},
    {Operation::kMemset, "memset", "the byte that was set", 1, 1, 0},
    {Operation::kMemcpy, "memcpy", "a = b", 2, 2, 0},
};

const OperationTraits& traits_of(Operation operation);

// A thread's share of the arrays and how it goes through it. Sizes are multiples of 64 bytes.
struct Walk {
  double* a = nullptr;
  double* b = nullptr;
  double* c = nullptr;
  double scalar = 0;
  std::size_t bytes = 0;            // Of each array; a multiple of `access_size`.
  std::size_t access_size = 0;      // Contiguous bytes of one access.
  std::size_t stride = 0;           // Order strided: bytes from one access to the next.
  const ZipfOrder* zipf = nullptr;  // Order zipf, of as many blocks as there are accesses.

  std::uint64_t accesses() const { return bytes / access_size; }
};

// Where a walk stands; zero-initialised at its beginning, carried from call to call.
struct Position {
  std::uint64_t offset = 0;  // Sequential, reverse, strided: bytes from the array's beginning.
  std::uint64_t phase = 0;   // Strided: offset that the current pass began at.
  std::uint64_t state = 0;   // Random, zipf: the generator's state.
  int owed = 0;              // Mixed: hundredths of a written line that are owed.
};

// Makes `count` accesses from `position` on and moves it; wraps at the end of the arrays.
using Kernel = void (*)(const Walk& walk, Position& position, std::uint64_t count);

// Instruction sets that this build has and this CPU runs, the widest first.
std::span<const std::string_view> supported_isas();

// The instruction set to use where `asked` was asked for, "auto" for the best one; throws
// Unavailable where this CPU or this build lacks it.
std::string resolve_isa(const std::string& asked);

// The kernel for an instruction set out of supported_isas(); of no operation of the C library.
Kernel find_kernel(std::string_view isa, Operation operation, Order order);

// Reads and writes of whole lines of one array, spread evenly over each other, at a held-back rate.
struct Mix {
  int writes = 0;            // Of 100 lines; the others are read.
  std::uint64_t delay = 0;   // Steps of `spin` after each access.
  std::size_t prefetch = 0;  // Bytes from a line to the one that is prefetched; 0: none.
};

// How lines are written: by ordinary stores, non-temporal ones, or ordinary ones after each access
// of which the lines are written back, kept or dropped, and waited for.
enum class Stores { kOrdinary, kStreaming, kWriteBack, kFlush };

// Makes `count` accesses of walk.access_size bytes in array a, a line after the other.
using MixedKernel = void (*)(const Walk& walk, Position& position, std::uint64_t count,
                             const Mix& mix);

// Orders sequential, random and zipf only.
MixedKernel find_mixed_kernel(std::string_view isa, Order order, Stores stores);

// Waits without touching memory: a chain of so many dependent multiplications.
inline void spin(std::uint64_t steps) {
  std::uint64_t value = steps;
  for (; steps > 0; --steps) {
    value *= 0xd1342543de82ef95ULL;
    asm volatile("" : "+r"(value));
  }
}

// The loop of an order without its accesses: makes the addresses of `count` accesses and does
// nothing with them. Null for order sequential, which has a counter alone.
Kernel find_address_kernel(std::string_view isa, Order order);

}  // namespace tierscope
