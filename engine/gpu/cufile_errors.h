// cuFile's errors as ours, one line each.
#pragma once

#include <string>

#include "errors.h"
#include "gpu/cufile_abi.h"

namespace tierscope {

// What an error code of cuFile, 5001 and up, means: "5033: the driver nvidia-fs cannot be set up".
std::string describe_cufile(int code);

// Throws Unavailable: something cannot be set up on this machine as it is.
[[noreturn]] void refuse_cufile(cufile_abi::Error error, const std::string& what);

// Throws Unavailable for a file that cuFile does not take, with what helps.
[[noreturn]] void refuse_cufile_file(cufile_abi::Error error, int descriptor);

// Why cuFile did not register (5027) a file of a volume, "254:0", with that type of file system.
// `udev`: the folder of udev's database, which cuFile asks what the volume holds.
Unavailable unregistered_file(const std::string& path, const std::string& volume,
                              const std::string& type, const std::string& udev);

// Throws Failure: an operation could be tried, and went wrong.
[[noreturn]] void fail_cufile(cufile_abi::Error error, const std::string& what);

}  // namespace tierscope
