// Every kernel at odd sizes and offsets against what the CPU computes.
#include "gpu/self_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "errors.h"
#include "gpu/chase_kernels.h"
#include "gpu/check.h"
#include "gpu/copy_kernels.h"
#include "gpu/device.h"
#include "gpu/devices.h"
#include "gpu/pattern.h"
#include "gpu/stream_kernels.h"

namespace tierscope {
namespace {

constexpr std::size_t kGuard = 64;  // Bytes around a copy that must stay as they are.

std::vector<std::byte> numbered(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 37 + i / 256 * 11);
  return bytes;
}

void upload(std::byte* to, const std::vector<std::byte>& from) {
  check_cuda(cuda().cuMemcpy(address_of(to), address_of(from.data()), from.size()), "uploading");
}

template <typename Value>
std::vector<Value> download(const void* from, std::size_t count) {
  std::vector<Value> values(count);
  check_cuda(cuda().cuMemcpy(address_of(values.data()), address_of(from), count * sizeof(Value)),
             "downloading");
  return values;
}

struct CopyCase {
  std::size_t size;
  std::size_t from;  // Bytes past an aligned address.
  std::size_t to;
  int passes;
  int blocks;
};

using LaunchCopy = void (*)(std::byte*, const std::byte*, std::size_t, int, int, CUstream);

void check_copy(int gpu, const char* name, LaunchCopy launch, const CopyCase& given) {
  const std::size_t room = given.size + 2 * kGuard;
  const GpuBytes source = make_gpu_bytes(gpu, room);
  const GpuBytes destination = make_gpu_bytes(gpu, room);
  const std::vector<std::byte> pattern = numbered(room);
  upload(source.get(), pattern);
  check_cuda(cuda().cuMemsetD8(address_of(destination.get()), 0xa5, room), "clearing");
  launch(destination.get() + given.to, source.get() + given.from, given.size, given.passes,
         given.blocks, nullptr);
  check_cuda(cuda().cuCtxSynchronize(), name);
  std::vector<std::byte> expected(room, std::byte{0xa5});
  std::copy_n(pattern.begin() + static_cast<std::ptrdiff_t>(given.from), given.size,
              expected.begin() + static_cast<std::ptrdiff_t>(given.to));
  if (download<std::byte>(destination.get(), room) != expected) {
    throw Failure(
        fmt::format("GPU {}: {} of {} bytes from offset {} to {}, {} passes, {} blocks "
                    "is wrong",
                    gpu, name, given.size, given.from, given.to, given.passes, given.blocks));
  }
}

int check_copies(int gpu) {
  int count = 0;
  for (const std::size_t size : {1, 3, 15, 16, 17, 33, 255, 4097, 65536, 100003, 1048581}) {
    for (const std::size_t from : {0, 1, 8, 15}) {
      for (const std::size_t to : {0, 1, 8}) {
        for (const int blocks : {1, 7, most_copy_blocks()}) {
          check_copy(gpu, "the copy kernel", launch_copy, {size, from, to, 1 + blocks % 3, blocks});
          ++count;
        }
      }
    }
  }
  return count;
}

void check_exchange(int gpu, std::size_t size, int passes, int blocks) {
  const std::size_t room = size + kGuard;
  const GpuBytes from = make_gpu_bytes(gpu, 2 * room);
  const GpuBytes to = make_gpu_bytes(gpu, 2 * room);
  const std::size_t second = (room + 15) / 16 * 16;  // Of two, in the same memory.
  const std::vector<std::byte> pattern = numbered(2 * room);
  upload(from.get(), pattern);
  check_cuda(cuda().cuMemsetD8(address_of(to.get()), 0xa5, 2 * room), "clearing");
  launch_exchange({to.get(), from.get()}, {to.get() + second, from.get() + second}, size, passes,
                  blocks, nullptr);
  check_cuda(cuda().cuCtxSynchronize(), "copying both ways");
  std::vector<std::byte> expected(2 * room, std::byte{0xa5});
  for (const std::size_t at : {std::size_t{0}, second}) {
    std::copy_n(pattern.begin() + static_cast<std::ptrdiff_t>(at), size,
                expected.begin() + static_cast<std::ptrdiff_t>(at));
  }
  if (download<std::byte>(to.get(), 2 * room) != expected) {
    throw Failure(fmt::format("GPU {}: copying {} bytes both ways, {} passes, {} blocks is wrong",
                              gpu, size, passes, blocks));
  }
}

int check_exchanges(int gpu) {
  int count = 0;
  for (const std::size_t size : {1, 15, 16, 17, 16383, 16384, 16385, 100003, 1048581}) {
    for (const int blocks : {1, 7, most_exchange_blocks()}) {
      check_exchange(gpu, size, 1 + blocks % 3, blocks);
      ++count;
    }
  }
  return count;
}

int check_bulk_copies(int gpu) {
  if (!has_bulk_copy(attribute_of(gpu, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR))) return 0;
  int count = 0;
  for (const std::size_t size : {1, 15, 16, 17, 8191, 8192, 8208, 100003, 1048581, 4194304}) {
    for (const std::size_t offset : {0, 16, 48}) {
      for (const int blocks : {1, 7, most_bulk_blocks()}) {
        for (const int passes : {1, 5}) {
          check_copy(gpu, "the bulk copy kernel", launch_bulk_copy,
                     {size, offset, offset, passes, blocks});
          ++count;
        }
      }
    }
  }
  return count;
}

void check_pattern(int gpu, std::size_t size, const Pattern& pattern) {
  const GpuBytes data = make_gpu_bytes(gpu, size + 8);
  const GpuBytes found = make_gpu_bytes(gpu, sizeof(PatternMismatch));
  const PatternMismatch none{};
  const auto compare = [&] {
    check_cuda(cuda().cuMemcpy(address_of(found.get()), address_of(&none), sizeof none),
               "clearing");
    compare_pattern(data.get(), 0, size, pattern, reinterpret_cast<PatternMismatch*>(found.get()),
                    nullptr);
    return download<PatternMismatch>(found.get(), 1).front();
  };
  fill_pattern(data.get(), 0, size, pattern, nullptr);
  if (compare().bytes != 0)
    throw Failure(fmt::format("GPU {}: a pattern differs from itself", gpu));
  std::byte* middle = data.get() + size / 2;
  const std::byte flipped = download<std::byte>(middle, 1).front() ^ std::byte{1};
  check_cuda(cuda().cuMemcpy(address_of(middle), address_of(&flipped), 1), "flipping a bit");
  const PatternMismatch one = compare();
  if (one.bytes != 1 || one.first != size / 2) {
    throw Failure(fmt::format("GPU {}: one wrong byte at {} of {} was found as {} at {}", gpu,
                              size / 2, size, one.bytes, one.first));
  }
}

int check_patterns(int gpu) {
  int count = 0;
  for (const std::size_t size : {1, 7, 8, 9, 4095, 65537, 1048583}) {
    check_pattern(gpu, size, {.seed = 1});
    check_pattern(gpu, size, {.seed = 1, .other = 2, .offset = 5, .row_bytes = 13, .pitch = 40});
    count += 2;
  }
  return count;
}

double expected_of(GpuOperation operation, std::size_t i) {
  const double b = static_cast<double>(i % 1024 + 1);
  const double c = static_cast<double>(i % 512 + 2);
  switch (operation) {
    case GpuOperation::kWrite:
      return kStreamScalar;
    case GpuOperation::kScale:
      return kStreamScalar * b;
    case GpuOperation::kAdd:
      return b + c;
    case GpuOperation::kTriad:
      return b + kStreamScalar * c;
    default:
      return b;
  }
}

void check_stream(int gpu, GpuOperation operation, std::size_t count, int passes, int blocks) {
  std::vector<GpuBytes> memory;
  for (int i = 0; i < 4; ++i) memory.push_back(make_gpu_bytes(gpu, count * sizeof(double)));
  const auto at = [&](std::size_t i) { return reinterpret_cast<double*>(memory[i].get()); };
  StreamArrays arrays{.a = at(0),
                      .b = at(1),
                      .c = at(2),
                      .count = count,
                      .sum = reinterpret_cast<unsigned long long*>(memory[3].get()),
                      .access_size = 32,
                      .seed = 3};
  check_cuda(cuda().cuMemsetD8(address_of(arrays.sum), 0, sizeof(unsigned long long)), "clearing");
  fill_stream(arrays, operation, nullptr);
  launch_stream(arrays, operation, passes, blocks, nullptr);
  const auto sum = download<unsigned long long>(arrays.sum, 1).front();
  const std::string where = fmt::format("GPU {}: operation {} on {} doubles, {} blocks", gpu,
                                        static_cast<int>(operation), count, blocks);
  if (operation == GpuOperation::kRandom) {
    if (sum != 0) throw Failure(fmt::format("{}: {} wrong values", where, sum));
  } else if (operation == GpuOperation::kRead) {
    unsigned long long expected = 0;
    for (std::size_t i = 0; i < count; ++i) {
      unsigned long long bits = 0;
      const double value = expected_of(operation, i);
      std::memcpy(&bits, &value, sizeof bits);
      expected += bits;
    }
    if (sum != expected * static_cast<unsigned>(passes)) throw Failure(where + ": wrong sum");
  } else {
    const std::vector<double> found = download<double>(arrays.a, count);
    for (std::size_t i = 0; i < count; ++i) {
      if (found[i] != expected_of(operation, i)) {
        throw Failure(fmt::format("{}: element {} is {}", where, i, found[i]));
      }
    }
  }
}

int check_streams(int gpu) {
  int done = 0;
  for (const GpuOperation operation :
       {GpuOperation::kRead, GpuOperation::kWrite, GpuOperation::kCopy, GpuOperation::kScale,
        GpuOperation::kAdd, GpuOperation::kTriad, GpuOperation::kRandom}) {
    for (const std::size_t count : {4, 6, 1022, 4098, 100002}) {
      for (const int blocks : {1, 5, most_stream_blocks(operation)}) {
        check_stream(gpu, operation, count, 1 + blocks % 2, blocks);
        ++done;
      }
    }
  }
  return done;
}

int check_chases(int gpu) {
  const bool bulk = has_bulk_copy(attribute_of(gpu, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
  int count = 0;
  for (const std::uint32_t slots : {2, 3, 17, 1000}) {
    for (const std::size_t stride : {8, 32, 264}) {
      std::vector<std::uint32_t> next(slots);
      for (std::uint32_t i = 0; i < slots; ++i) next[i] = (i + slots / 2 + 1) % slots;
      const GpuBytes links = make_gpu_bytes(gpu, slots * sizeof(std::uint32_t));
      const GpuBytes memory = make_gpu_bytes(gpu, slots * stride);
      const GpuBytes last = make_gpu_bytes(gpu, sizeof(std::uint32_t));
      check_cuda(cuda().cuMemcpy(address_of(links.get()), address_of(next.data()),
                                 slots * sizeof(std::uint32_t)),
                 "uploading");
      lay_chain(memory.get(), stride, reinterpret_cast<const std::uint32_t*>(links.get()), slots,
                nullptr);
      constexpr std::uint32_t kLoads = 1003;
      launch_chase({.start = memory.get(),
                    .stride = stride,
                    .first = 1,
                    .loads = kLoads,
                    .last = reinterpret_cast<std::uint32_t*>(last.get())},
                   nullptr);
      std::uint32_t at = 1;
      for (std::uint32_t i = 0; i < kLoads; ++i) at = next[at];
      const auto found = download<std::uint32_t>(last.get(), 1).front();
      if (bulk && stride % 16 == 0) {
        check_cuda(cuda().cuMemsetD8(address_of(last.get()), 0xff, sizeof(std::uint32_t)),
                   "clearing");
        launch_bulk_chase({.start = memory.get(),
                           .stride = stride,
                           .first = 1,
                           .loads = kLoads,
                           .last = reinterpret_cast<std::uint32_t*>(last.get())},
                          nullptr);
      }
      if (found != at || download<std::uint32_t>(last.get(), 1).front() != at) {
        throw Failure(fmt::format("GPU {}: a chase over {} slots ended at {}, not at {}", gpu,
                                  slots, found, at));
      }
      ++count;
    }
  }
  return count;
}

}  // namespace

std::string check_gpu_kernels() {
  require_gpu(0);
  std::string done;
  for (int gpu = 0; gpu < gpu_runtime().devices; ++gpu) {
    const OnGpu on(gpu);
    done += fmt::format(
        "GPU {}, {}: {} copies, {} both ways, {} bulk copies, {} patterns, {} memory operations, "
        "{} chases and {} blocks of files are as the CPU has them\n",
        gpu, name_of(gpu), check_copies(gpu), check_exchanges(gpu), check_bulk_copies(gpu),
        check_patterns(gpu), check_streams(gpu), check_chases(gpu), check_cells_on(gpu));
  }
  return done;
}

}  // namespace tierscope
