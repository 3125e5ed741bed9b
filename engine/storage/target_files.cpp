#include "storage/target_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "errors.h"
#include "storage/owned_files.h"

namespace tierscope {

OpenFile::~OpenFile() {
  if (fd_ >= 0) close(fd_);
}

TargetFiles::TargetFiles(const TargetSpec& spec, FilePool&, int) : spec_(spec) {
  names_.push_back(spec.path);
  struct stat found{};
  ::stat(spec.path.c_str(), &found);
  const auto all = static_cast<std::uint64_t>(found.st_size);
  sizes_.push_back(spec.size != 0 ? std::min(spec.size, all) : all);
}

std::optional<std::uint32_t> TargetFiles::number(int) const { return std::nullopt; }

std::vector<OpenFile> TargetFiles::open(bool writes, bool direct) const {
  std::vector<OpenFile> files;
  const int flags = (writes ? O_RDWR : O_RDONLY) | (direct ? O_DIRECT : 0) | O_CLOEXEC;
  files.emplace_back(::open(spec_.path.c_str(), flags));
  return files;
}

}  // namespace tierscope
