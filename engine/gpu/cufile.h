// cuFile, NVIDIA's library for I/O between storage and GPUs: the one place that opens it, loaded at
// run time. Everything else calls it through Cufile, once open_cufile() has returned.
#pragma once

#include <string>

#include "gpu/cufile_abi.h"

namespace tierscope {

// Every function is there where `missing` is empty, but for those that 1.11 has not: statistics,
// see `counts`, and get_pool, which may be null.
struct Cufile {
  using Error = cufile_abi::Error;

  Error (*get_version)(int*) = nullptr;
  Error (*open_driver)() = nullptr;
  Error (*get_properties)(cufile_abi::DriverProperties*) = nullptr;
  Error (*register_handle)(cufile_abi::Handle*, cufile_abi::FileDescription*) = nullptr;
  void (*deregister_handle)(cufile_abi::Handle) = nullptr;
  Error (*register_buffer)(const void*, std::size_t, int) = nullptr;
  Error (*deregister_buffer)(const void*) = nullptr;
  ssize_t (*read)(cufile_abi::Handle, void*, std::size_t, off_t, off_t) = nullptr;
  ssize_t (*write)(cufile_abi::Handle, const void*, std::size_t, off_t, off_t) = nullptr;
  Error (*read_async)(cufile_abi::Handle, void*, std::size_t*, off_t*, off_t*, ssize_t*,
                      cufile_abi::CudaStream) = nullptr;
  Error (*write_async)(cufile_abi::Handle, void*, std::size_t*, off_t*, off_t*, ssize_t*,
                       cufile_abi::CudaStream) = nullptr;
  Error (*register_stream)(cufile_abi::CudaStream, unsigned) = nullptr;
  Error (*deregister_stream)(cufile_abi::CudaStream) = nullptr;
  Error (*set_up_batch)(cufile_abi::BatchHandle*, unsigned) = nullptr;
  Error (*submit_batch)(cufile_abi::BatchHandle, unsigned, cufile_abi::BatchOperation*,
                        unsigned) = nullptr;
  Error (*batch_status)(cufile_abi::BatchHandle, unsigned, unsigned*, cufile_abi::BatchEvent*,
                        timespec*) = nullptr;
  Error (*get_pool)(std::size_t* sizes, std::size_t* counts, int length) = nullptr;
  // Statistics, from 1.15 on; all of them or none.
  Error (*set_statistics_level)(int) = nullptr;
  Error (*start_statistics)() = nullptr;
  Error (*get_statistics1)(void*) = nullptr;
  Error (*get_statistics3)(void*) = nullptr;

  int version = 0;      // 1150 for 1.15.
  bool counts = false;  // Has statistics.
  std::string missing;  // Why there is no cuFile; empty where there is.

  // As in "1.15".
  std::string release() const;
};

// How cuFile was started, once for the process.
struct CufileSettings {
  bool allow_compat_mode = true;
  std::string set_by;  // Who chose allow_compat_mode: "tierscope" or the environment's variable.
  std::string log;     // cuFile's log file.
  double driver_open_s = 0;
  unsigned batch_entries = 0;  // Operations that a batch takes.
};

// Starts cuFile's driver unless it was started before. `gpu` has to answer CUDA first: without
// CUDA's driver, some versions of cuFileDriverOpen never return. Throws Unavailable with the
// remedy.
const Cufile& open_cufile(int gpu);

// Of a driver that was started.
const CufileSettings& cufile_settings();

// Adds the time of its life to that of registering files and buffers.
class RegistrationTime {
 public:
  RegistrationTime();
  ~RegistrationTime();
  RegistrationTime(const RegistrationTime&) = delete;
  RegistrationTime& operator=(const RegistrationTime&) = delete;

  // Seconds since it was last asked.
  static double take();

 private:
  double begin_;
};

}  // namespace tierscope
