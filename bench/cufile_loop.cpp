// The shortest loops of cuFile, of sequential reads: fill a batch, or a stream of each read's own,
// submit them, wait for all, and again. Prints bytes/s. Built by nvcc with cufile.h and libcufile.
//
// cufile_loop FILE BLOCK_BYTES OPERATIONS SECONDS batch|FLAGS, of cuFileStreamRegister
#include <cuda_runtime.h>
#include <cufile.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

void require(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "cufile_loop: %s failed\n", what);
  std::exit(1);
}

void require(const CUfileError_t& error, const char* what) {
  require(error.err == CU_FILE_SUCCESS, what);
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Loop {
  CUfileHandle_t file;
  std::vector<void*> buffers;
  std::size_t block;

  unsigned operations() const { return static_cast<unsigned>(buffers.size()); }
};

// Each gives a function that reads blocks at these offsets and returns when all have been read.
auto by_batch(const Loop& loop) {
  std::vector<CUfileIOParams_t> batch(loop.operations());
  for (unsigned i = 0; i < loop.operations(); ++i) {
    batch[i].mode = CUFILE_BATCH;
    batch[i].fh = loop.file;
    batch[i].opcode = CUFILE_READ;
    batch[i].u.batch.devPtr_base = loop.buffers[i];
    batch[i].u.batch.size = loop.block;
  }
  CUfileBatchHandle_t id = nullptr;
  require(cuFileBatchIOSetUp(&id, loop.operations()), "cuFileBatchIOSetUp");
  return [=, events = std::vector<CUfileIOEvents_t>(loop.operations())](
             const std::vector<off_t>& offsets) mutable {
    for (std::size_t i = 0; i < batch.size(); ++i) batch[i].u.batch.file_offset = offsets[i];
    const auto count = static_cast<unsigned>(batch.size());
    require(cuFileBatchIOSubmit(id, count, batch.data(), 0), "cuFileBatchIOSubmit");
    for (unsigned done = 0; done < count;) {
      unsigned ended = count - done;
      require(cuFileBatchIOGetStatus(id, ended, &ended, events.data(), nullptr),
              "cuFileBatchIOGetStatus");
      for (unsigned i = 0; i < ended; ++i) {
        require(events[i].status == CUFILE_COMPLETE && events[i].ret == loop.block, "a read");
      }
      done += ended;
    }
  };
}

auto by_streams(const Loop& loop, unsigned flags) {
  std::vector<CUstream> streams(loop.operations());
  for (CUstream& stream : streams) {
    require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess, "a stream");
    require(cuFileStreamRegister(stream, flags), "cuFileStreamRegister");
  }
  return [=](std::vector<off_t>& offsets) {
    std::vector<ssize_t> moved(streams.size());
    std::size_t bytes = loop.block;
    off_t none = 0;
    for (std::size_t i = 0; i < streams.size(); ++i) {
      require(cuFileReadAsync(loop.file, loop.buffers[i], &bytes, &offsets[i], &none, &moved[i],
                              streams[i]),
              "cuFileReadAsync");
    }
    for (std::size_t i = 0; i < streams.size(); ++i) {
      require(cudaStreamSynchronize(streams[i]) == cudaSuccess, "cudaStreamSynchronize");
      require(moved[i] == static_cast<ssize_t>(loop.block), "a read");
    }
  };
}

template <typename Read>
double rate(const Loop& loop, off_t blocks, double seconds, Read read) {
  std::vector<off_t> offsets(loop.operations());
  off_t next = 0;
  std::size_t bytes = 0;
  const double began = now();
  while (now() - began < seconds) {
    for (off_t& offset : offsets) offset = next++ % blocks * static_cast<off_t>(loop.block);
    read(offsets);
    bytes += offsets.size() * loop.block;
  }
  return static_cast<double>(bytes) / (now() - began);
}

}  // namespace

int main(int count, char** words) {
  require(count == 6, "reading the command line");
  Loop loop{};
  loop.block = static_cast<std::size_t>(std::atoll(words[2]));
  loop.buffers.resize(static_cast<std::size_t>(std::atoi(words[3])));
  const double seconds = std::atof(words[4]);
  const std::string way = words[5];

  require(cuFileDriverOpen(), "cuFileDriverOpen");
  const int file = open(words[1], O_RDONLY | O_DIRECT);
  require(file >= 0, "open");
  struct stat facts{};
  require(fstat(file, &facts) == 0, "fstat");
  CUfileDescr_t description{};
  description.type = CU_FILE_HANDLE_TYPE_OPAQUE_FD;
  description.handle.fd = file;
  require(cuFileHandleRegister(&loop.file, &description), "cuFileHandleRegister");
  for (void*& buffer : loop.buffers) {
    require(cudaMalloc(&buffer, loop.block) == cudaSuccess, "cudaMalloc");
  }
  const off_t blocks = facts.st_size / static_cast<off_t>(loop.block);
  const double found =
      way == "batch"
          ? rate(loop, blocks, seconds, by_batch(loop))
          : rate(loop, blocks, seconds, by_streams(loop, static_cast<unsigned>(std::stoul(way))));
  std::printf("%.0f\n", found);
  std::fflush(stdout);
  std::_Exit(0);  // cuFile's own end of a process has ended it by a double free.
}
