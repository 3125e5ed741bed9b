// Files, the fake cuFile and the fake CUDA for tests of storage to GPUs.
#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "cufile/fake_cufile.h"
#include "errors.h"
#include "gpu/fake_cuda.h"
#include "storage/gpu_io.h"

namespace tierscope {

inline constexpr double kForever = std::numeric_limits<double>::infinity();

inline std::vector<std::byte> pattern_of(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    data[i] = static_cast<std::byte>((i * 7 + i / 251 + seed) % 256);
  return data;
}

// A file of 1 MiB with a pattern, cuFile as the fake, and both machines as new.
class StorageToGpu : public ::testing::Test {
 protected:
  static constexpr std::size_t kFileBytes = std::size_t{1} << 20;

  StorageToGpu() {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    setenv("TIERSCOPE_CUFILE", FAKE_CUFILE, 1);
    setenv("CUFILE_LOGFILE_PATH", "/dev/null", 1);
    unsetenv("CUFILE_ALLOW_COMPAT_MODE");  // This process may have opened cuFile, which sets it.
    fake_cuda::set({});
    fake().machine = {};
    fake().seen = {};
    std::string path = ::testing::TempDir() + "to-gpu-XXXXXX";
    file_ = mkstemp(path.data());
    unlink(path.c_str());
    write_all(contents_);
  }
  ~StorageToGpu() override { close(file_); }

  // Of the library that this process opens as cuFile.
  static fake_cufile::State& fake() {
    return *reinterpret_cast<decltype(&fake_cufile_state)>(in_library("fake_cufile_state"))();
  }
  static decltype(&fake_cufile_end_stream) end_stream() {
    return reinterpret_cast<decltype(&fake_cufile_end_stream)>(
        in_library("fake_cufile_end_stream"));
  }

  // In a new process, before it opens cuFile: another version's, "1120".
  static void use_version(const std::string& version) {
    setenv("TIERSCOPE_CUFILE", (FAKE_CUFILES + version).c_str(), 1);
  }

  void write_all(const std::vector<std::byte>& data) const {
    ASSERT_EQ(pwrite(file_, data.data(), data.size(), 0), static_cast<ssize_t>(data.size()));
  }
  std::vector<std::byte> read_all() const {
    std::vector<std::byte> data(kFileBytes);
    EXPECT_EQ(pread(file_, data.data(), data.size(), 0), static_cast<ssize_t>(data.size()));
    return data;
  }

  static void* in_library(const char* symbol) {
    const std::string path = std::string(getenv("TIERSCOPE_CUFILE")) + "/libcufile.so.0";
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(dlerror());
    return dlsym(library, symbol);
  }

  int file_ = -1;
  std::vector<std::byte> contents_ = pattern_of(kFileBytes, 1);
};

// A thread's buffers and backend over one file.
class Going {
 public:
  struct Wish {
    std::string backend;
    std::string memory = "device";
    std::size_t depth = 4;
    std::uint32_t block = 16 << 10;
    bool registered = false;
  };

  Going(int file, const Wish& wish)
      : wish_(wish),
        files_{file},
        sizes_{std::uint64_t{1} << 20},
        buffers_(make_gpu_buffers({.gpu = 1,
                                   .memory = wish.memory,
                                   .count = wish.depth,
                                   .bytes = wish.block,
                                   .registered = wish.registered})) {
    const auto kind = std::ranges::find(backend_kinds(), wish.backend, &BackendKind::name);
    synchronous_ = kind->synchronous;
    ThreadIo io{.files = files_, .sizes = sizes_, .buffers = buffers_->slots()};
    io.buffer_bytes = wish.block;
    io.registered_buffers = wish.registered;
    io.gpu = 1;
    backend_ = kind->make(io);
  }

  // The whole file, in order, `depth` operations in flight; `before` and `after` see each.
  template <typename Before, typename After>
  void go(bool write, Before before, After after) {
    std::vector<IoRequest> operations(wish_.depth);
    std::vector<std::uint32_t> free;
    for (std::size_t i = 0; i < (synchronous_ ? 1 : wish_.depth); ++i) {
      free.push_back(static_cast<std::uint32_t>(i));
    }
    std::vector<Completion> done(wish_.depth);
    std::uint64_t next = 0;
    std::size_t in_flight = 0;
    while (next < sizes_[0] || in_flight > 0) {
      std::vector<IoRequest> batch;
      while (!free.empty() && next < sizes_[0]) {
        const std::uint32_t slot = free.back();
        free.pop_back();
        operations[slot] = {
            .offset = next, .bytes = wish_.block, .slot = slot, .file = 0, .write = write};
        before(operations[slot]);
        batch.push_back(operations[slot]);
        next += wish_.block;
      }
      backend_->submit(batch);
      in_flight += batch.size();
      const std::size_t count = backend_->reap(done, 1, kForever);
      ASSERT_GE(count, 1);
      for (std::size_t i = 0; i < count; ++i) {
        after(operations[done[i].slot], done[i].result);
        free.push_back(done[i].slot);
      }
      in_flight -= count;
    }
  }

  GpuBuffers& buffers() { return *buffers_; }
  Backend& backend() { return *backend_; }

  // What arrived, block by block at its offset.
  std::vector<std::byte> read() {
    std::vector<std::byte> found(sizes_[0]);
    go(
        false, [](const IoRequest&) {},
        [&](const IoRequest& operation, std::int64_t result) {
          EXPECT_EQ(result, wish_.block);
          buffers_->copy_out(operation.slot,
                             std::span(found).subspan(operation.offset, operation.bytes));
        });
    return found;
  }

  void write(const std::vector<std::byte>& data) {
    go(
        true,
        [&](const IoRequest& operation) {
          buffers_->copy_in(operation.slot,
                            std::span(data).subspan(operation.offset, operation.bytes));
        },
        [&](const IoRequest&, std::int64_t result) { EXPECT_EQ(result, wish_.block); });
  }

 private:
  Wish wish_;
  std::array<int, 1> files_;
  std::array<std::uint64_t, 1> sizes_;
  std::unique_ptr<GpuBuffers> buffers_;
  std::unique_ptr<Backend> backend_;  // Ends before the buffers do.
  bool synchronous_ = false;
};

// What an Unavailable or a Failure says, with its remedy.
template <typename Work>
std::string refusal(Work work) {
  try {
    work();
  } catch (const Unavailable& refused) {
    return std::string(name_of(refused.cause())) + ": " + refused.what() + "; " + refused.remedy();
  } catch (const Failure& failed) {
    return std::string(name_of(failed.cause())) + ": " + failed.what();
  }
  return "";
}

}  // namespace tierscope
