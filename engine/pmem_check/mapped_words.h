// A mapped file as persistent memory.
#pragma once

#include <span>
#include <string>

#include "pmem_check/durable_memory.h"
#include "storage/descriptor.h"

namespace tierscope {

// Makes stores durable by writing cache lines back where the file system maps its medium directly
// (DAX, with MAP_SYNC), else by msync.
class MappedWords : public DurableMemory {
 public:
  // Maps the first words of a file. Throws Unavailable.
  MappedWords(const std::string& path, std::size_t words);
  ~MappedWords() override;
  MappedWords(const MappedWords&) = delete;
  MappedWords& operator=(const MappedWords&) = delete;

  void store(std::size_t word, std::uint64_t value) override;
  void flush(std::size_t word, std::size_t words) override;
  void fence() override;
  // Writes the number to stdout, as a line. Throws OutputError.
  void acknowledge(std::uint64_t generation) override;

  std::span<const std::uint64_t> words() const { return {data_, words_}; }

 private:
  Descriptor file_;
  std::uint64_t* data_ = nullptr;
  std::size_t words_;
  bool direct_ = false;
};

}  // namespace tierscope
