// Data between files and a GPU by every backend, on a fake CUDA and a fake cuFile.
#include <thread>

#include "gpu/cufile_fixture.h"
#include "gpu/cufile_pool.h"

namespace tierscope {
namespace {

constexpr std::array kMemories{"device", "vmm", "pinned", "plain", "managed"};

TEST_F(StorageToGpu, EveryBackendReadsIntoEveryMemory) {
  for (const BackendKind& kind : backend_kinds()) {
    if (!kind.gpu) continue;
    for (const char* memory : kMemories) {
      SCOPED_TRACE(std::string(kind.name) + " " + memory);
      Going going(file_, {.backend = std::string(kind.name), .memory = memory});
      EXPECT_EQ(going.read(), contents_);
    }
  }
}

TEST_F(StorageToGpu, EveryBackendWritesFromEveryMemory) {
  unsigned seed = 2;
  for (const BackendKind& kind : backend_kinds()) {
    if (!kind.gpu) continue;
    for (const char* memory : kMemories) {
      SCOPED_TRACE(std::string(kind.name) + " " + memory);
      const std::vector<std::byte> data = pattern_of(kFileBytes, ++seed);
      Going(file_, {.backend = std::string(kind.name), .memory = memory}).write(data);
      EXPECT_EQ(read_all(), data);
    }
  }
}

TEST_F(StorageToGpu, NothingStaysRegisteredOrAllocated) {
  const int before = fake_cuda::pieces_of_memory();
  for (const BackendKind& kind : backend_kinds()) {
    if (!kind.gpu) continue;
    const bool cufile = kind.name.starts_with("cufile");
    for (const char* memory : kMemories) {
      Going going(file_,
                  {.backend = std::string(kind.name), .memory = memory, .registered = cufile});
      EXPECT_EQ(going.read(), contents_);
      EXPECT_EQ(fake().seen.buffers > 0, cufile);
      EXPECT_EQ(fake().seen.handles, cufile ? 1 : 0);
    }
  }
  EXPECT_EQ(fake_cuda::pieces_of_memory(), before);
  EXPECT_EQ(fake().seen.buffers, 0);
  EXPECT_EQ(fake().seen.handles, 0);
  EXPECT_EQ(fake().seen.streams, 0);
}

// To destroy a batch takes the real library 0.1 s, and there is room for 256 in the process.
TEST_F(StorageToGpu, BatchesAreUsedAgain) {
  Going(file_, {.backend = "cufile-batch", .depth = 8}).read();
  fake().seen.batches = 0;
  for (const std::size_t depth : {8, 1, 8}) {
    Going going(file_, {.backend = "cufile-batch", .depth = depth});
    EXPECT_EQ(going.read(), contents_);
  }
  EXPECT_EQ(fake().seen.batches, 0);
}

// Reads the file by threads that begin at once.
void read_at_once(int file, const Going::Wish& wish, const std::vector<std::byte>& contents) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { EXPECT_EQ(Going(file, wish).read(), contents); });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(StorageToGpu, NoThreadWaitsForAnothersSubmissionOfABatch) {
  for (const bool strict : {false, true}) {
    EXPECT_EXIT(
        {
          setenv("CUFILE_ALLOW_COMPAT_MODE", strict ? "false" : "true", 1);
          fake().machine.way = strict ? fake_cufile::Way::kNvfs : fake_cufile::Way::kPosix;
          fake().machine.meet = 2;
          read_at_once(file_, {.backend = "cufile-batch", .block = 512 << 10}, contents_);
          EXPECT_GE(fake().seen.most_submitting, 2);
          std::exit(HasFailure() ? 1 : 0);
        },
        ::testing::ExitedWithCode(0), "");
  }
}

TEST_F(StorageToGpu, StreamsAreSaidToBeAlignedWhereTheirOperationsAre) {
  for (const char* backend : {"cufile-stream", "cufile-batch-stream"}) {
    fake().seen = {};
    EXPECT_EQ(Going(file_, {.backend = backend}).read(), contents_);
    EXPECT_EQ(fake().seen.aligned_streams, kFileBytes / (16 << 10)) << backend;
    EXPECT_EQ(Going(file_, {.backend = backend, .block = 512}).read(), contents_);
    EXPECT_EQ(fake().seen.aligned_streams, kFileBytes / (16 << 10)) << backend;
    EXPECT_EQ(fake().seen.wrong_streams, 0);
  }
}

// cuFile registers a descriptor only once.
TEST_F(StorageToGpu, ThreadsShareAFilesHandle) {
  Going one(file_, {.backend = "cufile"});
  {
    Going two(file_, {.backend = "cufile-batch"});
    EXPECT_EQ(fake().seen.handles, 1);
  }
  EXPECT_EQ(one.read(), contents_);
}

TEST_F(StorageToGpu, ABatchIsSubmittedAsAWhole) {
  Going going(file_, {.backend = "cufile-batch", .depth = 32});
  EXPECT_EQ(going.read(), contents_);
  EXPECT_EQ(fake().seen.largest_submit, 32);
}

// The library never returns from a submission that its pool has no room for.
TEST_F(StorageToGpu, OperationsOfAllThreadsTogetherFitTheCompatibilityPool) {
  fake_cuda::set({.found_empty = end_stream()});
  fake().machine.pool = 24;
  fake().machine.streams_wait = true;
  for (const char* backend : {"cufile-batch", "cufile-stream", "cufile-batch-stream"}) {
    SCOPED_TRACE(backend);
    fake().seen = {};
    read_at_once(file_, {.backend = backend, .memory = "plain", .depth = 40}, contents_);
    EXPECT_LE(fake().seen.most_in_flight, 24);
    EXPECT_GT(fake().seen.most_in_flight, 0);
    EXPECT_LE(fake().seen.most_streams, 24);
    EXPECT_TRUE(cufile_pool().was_short());
    EXPECT_LE(fake().seen.property_reads, 1) << "threads that read them at once end the process";
  }
}

TEST_F(StorageToGpu, AnEndedBackendWaitsForItsOperationsAndLeavesRoomForOthers) {
  fake().machine.pool = 8;
  for (int i = 0; i < 3; ++i) {
    Going going(file_, {.backend = "cufile-batch", .depth = 8});
    std::vector<IoRequest> operations;
    for (std::uint32_t slot = 0; slot < 8; ++slot) {
      operations.push_back({.offset = 0, .bytes = 4096, .slot = slot, .file = 0, .write = false});
    }
    going.backend().submit(operations);  // And never reaped.
  }
  EXPECT_GE(fake().seen.operations, 24);
  EXPECT_EQ(fake().seen.abandoned, 0);
}

TEST_F(StorageToGpu, AShortReadIsReportedAsSuch) {
  fake().machine.missing_bytes = 512;
  for (const char* backend : {"cufile", "cufile-stream", "cufile-batch", "cufile-batch-stream"}) {
    Going going(file_, {.backend = backend});
    going.go(
        false, [](const IoRequest&) {},
        [](const IoRequest& operation, std::int64_t result) {
          EXPECT_EQ(result, operation.bytes - 512);
        });
  }
}

TEST_F(StorageToGpu, AnErrorOfTheDriveIsANegativeErrno) {
  fake().machine.operation_error = -1;
  for (const char* backend : {"cufile", "cufile-batch", "cufile-stream"}) {
    Going going(file_, {.backend = backend});
    going.go(
        false, [](const IoRequest&) {},
        [](const IoRequest&, std::int64_t result) { EXPECT_EQ(result, -EIO); });
  }
  const int nothing = open("/dev/null", O_RDONLY);
  close(nothing);
  Going staged(nothing, {.backend = "staged"});
  staged.go(
      false, [](const IoRequest&) {},
      [](const IoRequest&, std::int64_t result) { EXPECT_EQ(result, -EBADF); });
  Going asynchronous(nothing, {.backend = "staged-async"});
  EXPECT_EQ(refusal([&] { asynchronous.read(); }),
            "storage: io_submit failed: Bad file descriptor");
}

TEST_F(StorageToGpu, AnErrorOfCufileItselfSaysWhatItMeans) {
  fake().machine.operation_error = -5036;
  for (const char* backend : {"cufile", "cufile-stream", "cufile-batch"}) {
    Going going(file_, {.backend = backend});
    const std::string said = refusal([&] { going.read(); });
    EXPECT_NE(said.find("a read of 16384 bytes at offset"), std::string::npos) << said;
    EXPECT_NE(said.find("cuFile error 5036: memory of the GPU cannot be pinned"), std::string::npos)
        << said;
  }
}

TEST_F(StorageToGpu, ARefusedSubmissionLeavesRoomForOthers) {
  fake().machine.submit_error = 5040;
  {
    Going going(file_, {.backend = "cufile-batch", .depth = 64});
    const std::string said = refusal([&] { going.read(); });
    EXPECT_NE(said.find("a batch of 64 operations was refused: cuFile error 5040"),
              std::string::npos)
        << said;
  }
  fake().machine.submit_error = 0;
  Going going(file_, {.backend = "cufile-batch", .depth = 64});
  EXPECT_EQ(going.read(), contents_);
  EXPECT_EQ(fake().seen.largest_submit, 64);
}

TEST_F(StorageToGpu, ARefusedFileOrBufferIsNotMeasured) {
  fake().machine.handle_error = 5034;
  EXPECT_NE(refusal([&] { Going(file_, {.backend = "cufile"}); }).find("cufile.json disables"),
            std::string::npos);
  fake().machine.handle_error = 0;
  fake().machine.buffer_error = 5016;
  const std::string said =
      refusal([&] { Going(file_, {.backend = "cufile", .registered = true}); });
  EXPECT_NE(said.find("65536 bytes cannot be registered"), std::string::npos) << said;
  EXPECT_NE(said.find("max_device_pinned_mem_size_kb"), std::string::npos) << said;
  EXPECT_EQ(fake().seen.handles, 0);
}

TEST_F(StorageToGpu, MemoryThatCannotBeHadIsRefused) {
  fake_cuda::set({.free_bytes = std::size_t{1} << 20});
  EXPECT_NE(refusal([] {
              make_gpu_buffers(
                  {.gpu = 0, .memory = "vmm", .count = 4, .bytes = 4 << 20, .registered = false});
            }).find("out of memory"),
            std::string::npos);
  EXPECT_NE(refusal([] {
              make_gpu_buffers(
                  {.gpu = 9, .memory = "device", .count = 1, .bytes = 4096, .registered = false});
            }).find("there is no GPU 9"),
            std::string::npos);
}

}  // namespace
}  // namespace tierscope
