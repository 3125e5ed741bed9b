// What tierscope left in a directory: listed, and removed where it is proven to be tierscope's.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace tierscope {

// {"directory": path, "files": [{"name", "bytes", "keep", "state", "files"?, "reason"?}, ...]};
// bytes are those that it takes on the device; a directory of small files has the number of those
// that are proven. States:
//
//   leftover  tierscope's, and no process uses it
//   in-use    by another tierscope
//   missing   somebody removed it, or gave it another name
//   unproven  something else has its name, or nothing proves it; the reason says what
//
// Changes nothing. Throws Unavailable where the directory or its manifest cannot be read.
nlohmann::ordered_json leftovers(const std::string& directory);

// Removes the leftovers, kept files included, and forgets the missing ones; the manifest goes with
// the last of them. The same list, where those that went have the state "removed".
nlohmann::ordered_json clean(const std::string& directory);

}  // namespace tierscope
