// Files as cuFile knows them.
#pragma once

#include "gpu/cufile.h"

namespace tierscope {

// A descriptor's handle, the same one for all threads that use the descriptor: cuFile registers
// each only once. Throws Unavailable where cuFile does not take the file.
class CufileFile {
 public:
  CufileFile(const Cufile& library, int descriptor);
  ~CufileFile();
  CufileFile(const CufileFile&) = delete;
  CufileFile& operator=(const CufileFile&) = delete;

  cufile_abi::Handle handle() const { return handle_; }

 private:
  const Cufile& library_;
  int descriptor_;
  cufile_abi::Handle handle_ = nullptr;
};

}  // namespace tierscope
