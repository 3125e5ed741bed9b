// The lines of a manifest: written and read.
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "protocol/json_text.h"
#include "protocol/object_reader.h"
#include "storage/contents.h"
#include "storage/manifest.h"

namespace tierscope {
namespace {

constexpr std::string_view kCheck = ",\"check\":\"";
constexpr std::size_t kCheckDigits = 16;

using tables::Type;

constexpr tables::Field text_of(std::string_view name) {
  return {.name = name, .required = true, .type = Type::kText};
}
constexpr tables::Field flag_of(std::string_view name) {
  return {.name = name, .required = true, .type = Type::kBoolean};
}
constexpr tables::Field count_of(std::string_view name, tables::Value most) {
  return {.name = name,
          .required = true,
          .type = Type::kInteger,
          .least = std::int64_t{0},
          .most = most};
}

constexpr tables::Field kHeaderFields[] = {{.name = "tierscope_files",
                                            .required = true,
                                            .type = Type::kInteger,
                                            .least = std::int64_t{1},
                                            .most = std::int64_t{1}}};
constexpr tables::Table kHeader{kHeaderFields};
constexpr tables::Field kGoneFields[] = {text_of("gone")};
constexpr tables::Table kGone{kGoneFields};
constexpr tables::Field kEntryFields[] = {
    text_of("name"),
    text_of("device"),
    text_of("inode"),
    text_of("born"),
    text_of("handle"),
    text_of("token"),
    flag_of("xattr"),
    count_of("number", std::int64_t{0xffffffff}),
    count_of("size", {}),
    count_of("cell", std::int64_t{kCellBytes}),
    count_of("compressible", std::int64_t{100}),
    flag_of("filled"),
    flag_of("keep"),
    {.name = "closed", .otherwise = std::string_view{""}, .type = Type::kText},
    {.name = "files",
     .otherwise = std::int64_t{0},
     .type = Type::kInteger,
     .least = std::int64_t{1}}};
constexpr tables::Table kEntry{kEntryFields};

std::string check_of(std::string_view text) {
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

std::string with_check(const nlohmann::ordered_json& object) {
  std::string text = object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text.pop_back();  // The closing brace.
  return fmt::format("{}{}{}\"}}\n", text, kCheck, check_of(text));
}

// What stands before `check`, closed again.
std::string checked(std::string_view line, const std::string& where) {
  const std::size_t end = kCheck.size() + kCheckDigits + 2;
  if (line.size() <= end || !line.ends_with("\"}") ||
      line.substr(line.size() - end, kCheck.size()) != kCheck) {
    throw std::runtime_error(where + " is cut or not tierscope's");
  }
  const std::string_view text = line.substr(0, line.size() - end);
  if (line.substr(line.size() - 2 - kCheckDigits, kCheckDigits) != check_of(text)) {
    throw std::runtime_error(where + " was changed after tierscope wrote it");
  }
  return std::string(text) + "}";
}

std::string file_name(const ObjectReader& line) {
  std::string name = line.text("name");
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos) {
    throw line.error("name", "is not a name of a file");
  }
  return name;
}

FileEntry read_entry(const ObjectReader& line) {
  FileEntry entry{};
  entry.name = file_name(line);
  entry.identity = {line.text("device"), line.text("inode"), line.text("born"),
                    line.text("handle")};
  entry.token = line.text("token");
  entry.xattr = line.boolean("xattr");
  entry.number = line.integer<std::uint32_t>("number");
  entry.size = line.integer<std::uint64_t>("size");
  entry.cell = line.integer<std::uint32_t>("cell");
  entry.compressible = line.integer<int>("compressible");
  entry.filled = line.boolean("filled");
  entry.keep = line.boolean("keep");
  entry.closed = line.text("closed");
  entry.files = line.integer<std::uint64_t>("files");
  return entry;
}

void read_line(const std::string& text, const std::string& where, bool first,
               std::map<std::string, FileEntry>& entries) {
  const nlohmann::json value = parse_json(text, where);
  if (first) {
    const ObjectReader line(value, where, kHeader);
  } else if (value.is_object() && value.contains("gone")) {
    entries.erase(ObjectReader(value, where, kGone).text("gone"));
  } else {
    FileEntry entry = read_entry(ObjectReader(value, where, kEntry));
    entries.insert_or_assign(entry.token, std::move(entry));
  }
}

}  // namespace

std::string manifest_header() { return with_check({{"tierscope_files", 1}}); }

std::string manifest_gone(const std::string& token) { return with_check({{"gone", token}}); }

std::string manifest_line(const FileEntry& entry) {
  nlohmann::ordered_json line{{"name", entry.name},
                              {"device", entry.identity.device},
                              {"inode", entry.identity.inode},
                              {"born", entry.identity.born},
                              {"handle", entry.identity.handle},
                              {"token", entry.token},
                              {"xattr", entry.xattr},
                              {"number", entry.number},
                              {"size", entry.size},
                              {"cell", entry.cell},
                              {"compressible", entry.compressible},
                              {"filled", entry.filled},
                              {"keep", entry.keep}};
  if (!entry.closed.empty()) line["closed"] = entry.closed;
  if (entry.files != 0) line["files"] = entry.files;
  return with_check(line);
}

std::vector<FileEntry> parse_manifest(std::string_view text) {
  std::map<std::string, FileEntry> by_token;
  for (int number = 1; !text.empty(); ++number) {
    const std::string where = fmt::format("line {}", number);
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) throw std::runtime_error(where + " is cut");
    read_line(checked(text.substr(0, end), where), where, number == 1, by_token);
    text.remove_prefix(end + 1);
  }
  std::vector<FileEntry> entries;
  for (auto& [token, entry] : by_token) entries.push_back(std::move(entry));
  std::sort(entries.begin(), entries.end(),
            [](const FileEntry& a, const FileEntry& b) { return a.name < b.name; });
  return entries;
}

}  // namespace tierscope
