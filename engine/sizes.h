// Sizes that many files name, in bytes.
#pragma once

#include <cstddef>

namespace tierscope {

inline constexpr std::size_t kMiB = std::size_t{1} << 20;
inline constexpr std::size_t kCacheLine = 64;  // No CPU here has shorter lines.

}  // namespace tierscope
