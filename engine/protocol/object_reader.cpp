#include "protocol/object_reader.h"

#include <algorithm>
#include <utility>

#include "protocol/check_object.h"

namespace tierscope {

using nlohmann::json;
using tables::Field;

ObjectReader::ObjectReader(const json& value, std::string where, const tables::Table& table)
    : ObjectReader(Checked{}, value, std::move(where), table) {
  check_object(value, where_, table);
}

std::string ObjectReader::place(std::string_view key) const {
  return where_.empty() ? std::string(key) : fmt::format("{}.{}", where_, key);
}

PlanError ObjectReader::error(std::string_view key, const std::string& what) const {
  return {place(key), what};
}

const Field& ObjectReader::field(std::string_view key) const {
  const Field* const found = find_field(*table_, key);
  if (found == nullptr) throw std::logic_error(fmt::format("no table has {}", place(key)));
  return *found;
}

const json& ObjectReader::any(std::string_view key) const {
  static const json nothing;
  const auto found = value_->find(key);
  return found == value_->end() ? nothing : *found;
}

tables::Value ObjectReader::value_of(std::string_view key) const {
  const Field& declared = field(key);
  const json& value = any(key);
  return value.is_null() ? declared.otherwise : scalar(value);
}

bool ObjectReader::has(std::string_view key) const {
  const Field* const declared = find_field(*table_, key);
  if (declared == nullptr) return false;
  return !any(key).is_null() || declared->otherwise.index() != 0;
}

bool ObjectReader::boolean(std::string_view key) const { return std::get<bool>(value_of(key)); }

double ObjectReader::number(std::string_view key) const {
  const tables::Value value = value_of(key);
  const auto* const whole = std::get_if<std::int64_t>(&value);
  return whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value);
}

std::string ObjectReader::text(std::string_view key) const {
  return std::string(std::get<std::string_view>(value_of(key)));
}

ObjectReader ObjectReader::reader_of(const Field& field, const json& value,
                                     std::string where) const {
  static const json no_object = json::object();
  const json& object = value.is_null() ? no_object : value;
  return {Checked{}, object, std::move(where), table_of(field, object)};
}

ObjectReader ObjectReader::object(std::string_view key) const {
  return reader_of(field(key), any(key), place(key));
}

std::vector<ObjectReader> ObjectReader::objects(std::string_view key) const {
  const Field& element = *field(key).element;
  std::vector<ObjectReader> found;
  for (const json& value : any(key)) {
    found.push_back(reader_of(element, value, fmt::format("{}[{}]", place(key), found.size())));
  }
  return found;
}

std::vector<std::pair<std::string, ObjectReader>> ObjectReader::named_objects(
    std::string_view key) const {
  const Field& element = *field(key).element;
  std::vector<std::pair<std::string, ObjectReader>> found;
  const json& values = any(key);
  if (values.is_null()) return found;
  for (const auto& [name, value] : values.items()) {
    found.emplace_back(name, reader_of(element, value, fmt::format("{}.{}", place(key), name)));
  }
  return found;
}

std::vector<int> ObjectReader::integers(std::string_view key) const {
  return any(key).is_null() ? std::vector<int>{} : any(key).get<std::vector<int>>();
}

std::vector<std::vector<int>> ObjectReader::integer_sets(std::string_view key) const {
  return any(key).get<std::vector<std::vector<int>>>();
}

std::vector<std::string> ObjectReader::texts(std::string_view key) const {
  return any(key).get<std::vector<std::string>>();
}

}  // namespace tierscope
