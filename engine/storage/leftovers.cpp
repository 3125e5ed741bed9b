#include "storage/leftovers.h"

#include <sys/stat.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "storage/changes.h"
#include "storage/descriptor.h"
#include "storage/manifest.h"
#include "storage/proof.h"
#include "storage/small_files.h"

namespace tierscope {
namespace {

constexpr std::uint64_t kStatBlock = 512;  // The unit of st_blocks.

std::string_view state_of(const PlainFile& found) {
  if (found.file) return "leftover";
  if (found.missing) return "missing";
  return found.in_use ? "in-use" : "unproven";
}

std::uint64_t bytes_of(const PlainFile& found) {
  struct stat status{};
  if (!found.file || fstat(found.file.get(), &status) != 0) return 0;
  return static_cast<std::uint64_t>(status.st_blocks) * kStatBlock;
}

nlohmann::ordered_json listed(const FileEntry& entry, const PlainFile& found) {
  nlohmann::ordered_json file{{"name", entry.name},
                              {"bytes", bytes_of(found)},
                              {"keep", entry.keep},
                              {"state", state_of(found)}};
  if (!found.problem.empty()) file["reason"] = "it " + found.problem;
  return file;
}

nlohmann::ordered_json file_left(const Descriptor& directory, const FileEntry& entry, bool remove) {
  PlainFile found = open_proven(directory, entry);
  if (remove && found.file) {
    const std::string since = settled_change_time(found.file);
    found.problem = foreign_contents(found.file, entry);
    if (found.problem.empty() && change_time(found.file) != since) {
      found.problem = "is being changed by another program";
    }
  }
  if (!found.problem.empty()) found.file.reset();
  nlohmann::ordered_json file = listed(entry, found);
  if (!remove || !found.file) return file;
  const std::string problem = remove_file(directory, entry.name, std::move(found.file));
  if (problem.empty()) {
    file["state"] = "removed";
  } else {
    file["reason"] = problem;
  }
  return file;
}

nlohmann::ordered_json small_files_left(const Descriptor& directory, const FileEntry& entry,
                                        bool remove) {
  const PlainFile found = open_proven_directory(directory, entry);
  nlohmann::ordered_json file = listed(entry, found);
  if (!found.file) return file;
  const SmallFilesLeft left = look_through(directory, entry, found.file, remove);
  file["bytes"] = left.bytes;
  file["files"] = left.files;
  if (remove && left.problem.empty()) file["state"] = "removed";
  if (!left.problem.empty()) file["reason"] = "it " + left.problem;
  return file;
}

// A host of a fleet looks after its own files only, and removes none that were to stay.
void walk_list(const Descriptor& directory, const std::string& path, const std::string& name,
               bool remove, nlohmann::ordered_json& files) {
  const bool of_host = name != kManifestName && name == manifest_name();
  Manifest manifest(directory, path, false, name);
  const std::vector<FileEntry> entries = manifest.entries();
  for (const FileEntry& entry : entries) {
    if (of_host && entry.keep) continue;
    nlohmann::ordered_json file = entry.files == 0 ? file_left(directory, entry, remove)
                                                   : small_files_left(directory, entry, remove);
    if (remove && (file["state"] == "removed" || file["state"] == "missing")) {
      manifest.remove(entry.token);
    }
    files.push_back(std::move(file));
  }
}

nlohmann::ordered_json walk(const std::string& path, bool remove) {
  const Descriptor directory = open_directory(path);
  auto files = nlohmann::ordered_json::array();
  std::vector<std::string> names = manifest_names(directory);
  if (names.front() != kManifestName) names.resize(1);
  for (const std::string& name : names) walk_list(directory, path, name, remove, files);
  const std::string real = path_of(directory);
  return {{"directory", real.empty() ? path : real}, {"files", std::move(files)}};
}

}  // namespace

nlohmann::ordered_json leftovers(const std::string& directory) { return walk(directory, false); }

nlohmann::ordered_json clean(const std::string& directory) { return walk(directory, true); }

}  // namespace tierscope
