#include "gpu/cufile_errors.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>

namespace tierscope {
namespace {

struct Meaning {
  int code;
  std::string_view what;
  std::string_view remedy;
};

constexpr std::string_view kCheck = "`gdscheck -p` shows what this machine's cuFile can do";
constexpr std::string_view kRetry = "run it again; cuFile's log says more";

constexpr std::array kMeanings{
    Meaning{5001, "no GPUDirect way is open (neither nvidia-fs nor PCI P2PDMA)",
            "load nvidia-fs, or allow cuFile's compatibility mode: CUFILE_ALLOW_COMPAT_MODE=true"},
    Meaning{5002, "a property has an invalid value", "look through cufile.json"},
    Meaning{5003, "a property is out of range", "look through cufile.json"},
    Meaning{5004, "the driver nvidia-fs has another version than the library",
            "install nvidia-fs and libcufile of one release"},
    Meaning{5005, "the version of the driver nvidia-fs cannot be read", kCheck},
    Meaning{5006, "the driver is closing", kRetry},
    Meaning{5007, "GPUDirect Storage does not support this platform", kCheck},
    Meaning{5008, "GPUDirect Storage does not support this file", kCheck},
    Meaning{5009, "GPUDirect Storage does not support this GPU", kCheck},
    Meaning{5010, "the driver nvidia-fs reported an error", "`dmesg` says more"},
    Meaning{5011, "CUDA's driver reported an error", "`nvidia-smi` shows whether the GPU works"},
    Meaning{5012, "the buffer is not memory of a GPU", kRetry},
    Meaning{5013, "cuFile does not take this type of memory", "use memory of type device"},
    Meaning{5014, "the buffer ends beyond its allocation", kRetry},
    Meaning{5015, "the buffer belongs to another CUDA context", kRetry},
    Meaning{5016, "more memory is registered than may be pinned",
            "raise max_device_pinned_mem_size_kb in cufile.json, or do not register buffers"},
    Meaning{5017, "the access goes beyond what is mapped", kRetry},
    Meaning{5018, "this is not a type of file that cuFile takes",
            "use a regular file on a local drive"},
    Meaning{5019, "the file is open with a flag that cuFile does not take",
            "open it with O_DIRECT"},
    Meaning{5020, "the file is not open with O_DIRECT", "use direct I/O"},
    Meaning{5022, "an argument is invalid", kRetry},
    Meaning{5023, "the buffer is registered already", kRetry},
    Meaning{5024, "the buffer is not registered", kRetry},
    Meaning{5025, "this user may not use the driver or the file", "check the permissions of both"},
    Meaning{5026, "the driver is open already", kRetry},
    Meaning{5027, "cuFile cannot register the file", kCheck},
    Meaning{5028, "the file is registered already", kRetry},
    Meaning{5029, "cuFile finds no such GPU", "`nvidia-smi` shows which there are"},
    Meaning{5030, "cuFile met an internal error", kRetry},
    Meaning{5031, "no new file descriptor can be had", "raise `ulimit -n`"},
    Meaning{5033, "the driver nvidia-fs cannot be set up",
            "load nvidia-fs and check that CUDA's driver is installed"},
    Meaning{5034, "cufile.json disables GPUDirect Storage for this file",
            "look through cufile.json"},
    Meaning{5035, "a batch cannot be submitted", "use a smaller batch"},
    Meaning{5036, "memory of the GPU cannot be pinned",
            "free its BAR1 space, or use smaller buffers (`nvidia-smi -q -d MEMORY`)"},
    Meaning{5037, "the batch is full", "use a smaller batch"},
    Meaning{5038, "cuFile cannot make stream operations here", "use the backend cufile"},
    Meaning{5039, "a batch cannot be set up", kRetry},
    Meaning{5040, "a batch cannot be submitted, for an internal reason", kRetry},
    Meaning{5041, "a batch's status cannot be read", kRetry},
    Meaning{5042, "a batch cannot be cancelled", kRetry},
    Meaning{5043, "memory ran out", "use smaller blocks or fewer threads"},
    Meaning{5044, "the I/O failed", "`dmesg` says whether the drive reported an error"},
    Meaning{5045, "the buffer cannot be registered", "measure without registered buffers"},
    Meaning{5046, "a hash operation failed", kRetry},
    Meaning{5047, "the CUDA context is invalid", kRetry},
    Meaning{5048, "the driver nvidia-fs met an internal error", "`dmesg` says more"},
    Meaning{5049, "batches need compatibility mode here", "set CUFILE_ALLOW_COMPAT_MODE=true"},
    Meaning{5050, "more I/O is in flight than cuFile takes", "use a smaller depth"},
};

const Meaning* meaning_of(int code) {
  for (const Meaning& meaning : kMeanings) {
    if (meaning.code == code) return &meaning;
  }
  return nullptr;
}

std::string remedy_of(int code) {
  const Meaning* meaning = meaning_of(code);
  return std::string(meaning == nullptr ? kRetry : meaning->remedy);
}

std::string text_of(cufile_abi::Error error) {
  const std::string text = describe_cufile(error.code);
  return error.code == cufile_abi::kCudaDriverError
             ? fmt::format("{} (CUDA error {})", text, error.cuda_error)
             : text;
}

std::string path_of(int descriptor) {
  std::array<char, 4096> path{};
  const std::string link = fmt::format("/proc/self/fd/{}", descriptor);
  const ssize_t length = readlink(link.c_str(), path.data(), path.size() - 1);
  return length > 0 ? std::string(path.data(), static_cast<std::size_t>(length)) : link;
}

// The file system's type as the kernel's list of mounts has it: "ext4"; empty where it does not
// say.
std::string type_of_mount(const std::string& volume) {
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string id, parent, number, word;
    fields >> id >> parent >> number;
    if (number != volume) continue;
    while (fields >> word && word != "-") {
    }
    if (fields >> word) return word;
  }
  return "";
}

bool udev_knows(const std::string& volume, const std::string& udev) {
  std::ifstream entry(fmt::format("{}/b{}", udev, volume));
  for (std::string line; std::getline(entry, line);) {
    if (line.starts_with("E:ID_FS_USAGE=")) return true;
  }
  return false;
}

}  // namespace

std::string describe_cufile(int code) {
  const Meaning* meaning = meaning_of(code);
  return fmt::format("cuFile error {}: {}", code,
                     meaning == nullptr ? "unknown to this version" : meaning->what);
}

void refuse_cufile(cufile_abi::Error error, const std::string& what) {
  throw Unavailable(Cause::kStorage, fmt::format("{}: {}", what, text_of(error)),
                    remedy_of(error.code));
}

Unavailable unregistered_file(const std::string& path, const std::string& volume,
                              const std::string& type, const std::string& udev) {
  const bool on_drive = !volume.starts_with("0:");
  if (on_drive && !udev_knows(volume, udev)) {
    return {Cause::kStorage,
            fmt::format("cuFile refuses {} (error 5027): udev's database does not say that volume "
                        "{} holds a file system, as in containers and where no udevd runs",
                        path, volume),
            fmt::format("as root: mkdir -p {0}; printf "
                        "'I:1\\nE:ID_FS_USAGE=filesystem\\nE:ID_FS_TYPE={1}\\n' > {0}/b{2}",
                        udev, type.empty() ? "ext4" : type, volume)};
  }
  return {Cause::kStorage,
          fmt::format("cuFile refuses {} (error 5027): it takes no file on {}", path,
                      type.empty() ? "this file system" : type),
          "use ext4 or xfs on a local drive, or a backend whose name begins with staged"};
}

void refuse_cufile_file(cufile_abi::Error error, int descriptor) {
  const std::string path = path_of(descriptor);
  struct stat status{};
  if (error.code == cufile_abi::kHandleNotRegistered && fstat(descriptor, &status) == 0) {
    const std::string volume = fmt::format("{}:{}", major(status.st_dev), minor(status.st_dev));
    throw unregistered_file(path, volume, type_of_mount(volume), "/run/udev/data");
  }
  refuse_cufile(error, fmt::format("cuFile refuses {}", path));
}

void fail_cufile(cufile_abi::Error error, const std::string& what) {
  throw Failure(fmt::format("{}: {}; {}", what, text_of(error), remedy_of(error.code)),
                Cause::kStorage);
}

}  // namespace tierscope
