// Lines of stdin, read so that a signal ends the waiting.
#pragma once

#include <optional>
#include <string>

namespace tierscope {

class LineReader {
 public:
  explicit LineReader(int file) : file_(file) {}

  // The next line without its newline; nothing at the end of the file or once a signal came. Throws
  // Failure where reading fails.
  std::optional<std::string> next();

 private:
  bool fill();
  bool wait_for_input() const;

  int file_;
  std::string buffer_;
  std::size_t searched_ = 0;  // Bytes of the buffer that hold no newline.
};

}  // namespace tierscope
