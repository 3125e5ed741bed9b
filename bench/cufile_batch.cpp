// The shortest loop of cuFile batches: fill a batch with sequential reads, submit it, wait for all
// of it, and again. Prints bytes/s. Built by nvcc with cufile.h and libcufile.
//
// cufile_batch FILE BLOCK_BYTES OPERATIONS SECONDS
#include <cuda_runtime.h>
#include <cufile.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

void require(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "cufile_batch: %s failed\n", what);
  std::exit(1);
}

void require(const CUfileError_t& error, const char* what) {
  require(error.err == CU_FILE_SUCCESS, what);
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

int main(int count, char** words) {
  require(count == 5, "reading the command line");
  const auto block = static_cast<std::size_t>(std::atoll(words[2]));
  const auto operations = static_cast<unsigned>(std::atoi(words[3]));
  const double seconds = std::atof(words[4]);

  require(cuFileDriverOpen(), "cuFileDriverOpen");
  const int file = open(words[1], O_RDONLY | O_DIRECT);
  require(file >= 0, "open");
  struct stat facts{};
  require(fstat(file, &facts) == 0, "fstat");
  CUfileDescr_t description{};
  description.type = CU_FILE_HANDLE_TYPE_OPAQUE_FD;
  description.handle.fd = file;
  CUfileHandle_t handle = nullptr;
  require(cuFileHandleRegister(&handle, &description), "cuFileHandleRegister");

  std::vector<CUfileIOParams_t> batch(operations);
  for (CUfileIOParams_t& one : batch) {
    void* buffer = nullptr;
    require(cudaMalloc(&buffer, block) == cudaSuccess, "cudaMalloc");
    one.mode = CUFILE_BATCH;
    one.fh = handle;
    one.opcode = CUFILE_READ;
    one.u.batch.devPtr_base = buffer;
    one.u.batch.size = block;
  }
  std::vector<CUfileIOEvents_t> events(operations);
  CUfileBatchHandle_t id = nullptr;
  require(cuFileBatchIOSetUp(&id, operations), "cuFileBatchIOSetUp");

  const off_t blocks = facts.st_size / static_cast<off_t>(block);
  off_t next = 0;
  std::size_t bytes = 0;
  const double began = now();
  while (now() - began < seconds) {
    for (CUfileIOParams_t& one : batch) {
      one.u.batch.file_offset = next++ % blocks * static_cast<off_t>(block);
    }
    require(cuFileBatchIOSubmit(id, operations, batch.data(), 0), "cuFileBatchIOSubmit");
    for (unsigned done = 0; done < operations;) {
      unsigned ended = operations - done;
      require(cuFileBatchIOGetStatus(id, ended, &ended, events.data(), nullptr),
              "cuFileBatchIOGetStatus");
      for (unsigned i = 0; i < ended; ++i) {
        require(events[i].status == CUFILE_COMPLETE && events[i].ret == block, "a read");
        bytes += events[i].ret;
      }
      done += ended;
    }
  }
  std::printf("%.0f\n", static_cast<double>(bytes) / (now() - began));
  cuFileBatchIODestroy(id);
  cuFileHandleDeregister(handle);
  cuFileDriverClose();
}
