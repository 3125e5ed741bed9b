#include "protocol/object_reader.h"

#include <fmt/format.h>

#include <algorithm>

namespace tierscope {

using nlohmann::json;

ObjectReader::ObjectReader(const json& value, std::string where)
    : value_(value), where_(std::move(where)) {
  if (!value.is_object()) throw PlanError(where_, "is not an object");
}

PlanError ObjectReader::error(std::string_view key, const std::string& what) const {
  return {fmt::format("{}.{}", where_, key), what};
}

bool ObjectReader::has(std::string_view key) const { return value_.contains(key); }

const json& ObjectReader::any(std::string_view key) {
  const auto found = value_.find(key);
  if (found == value_.end()) throw error(key, "is missing");
  read_.emplace(key);
  return *found;
}

std::string ObjectReader::text(std::string_view key) {
  const json& value = any(key);
  if (!value.is_string()) throw error(key, "is not a string");
  return value.get<std::string>();
}

bool ObjectReader::boolean(std::string_view key) {
  const json& value = any(key);
  if (!value.is_boolean()) throw error(key, "is neither true nor false");
  return value.get<bool>();
}

namespace {

std::int64_t checked_integer(const ObjectReader& reader, std::string_view key, const json& value,
                             std::int64_t low, std::int64_t high) {
  if (!value.is_number_integer()) throw reader.error(key, "is not an integer");
  const bool too_large = value.is_number_unsigned() &&
                         value.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX);
  const auto number = too_large ? INT64_MAX : value.get<std::int64_t>();
  if (number < low || number > high) {
    throw reader.error(key, fmt::format("{} is not in {}..{}", value.dump(), low, high));
  }
  return number;
}

}  // namespace

bool ObjectReader::truth(std::string_view key) {
  const json& value = any(key);
  if (!value.is_boolean()) throw error(key, "is neither true nor false");
  return value.get<bool>();
}

std::int64_t ObjectReader::integer(std::string_view key, std::int64_t low, std::int64_t high) {
  return checked_integer(*this, key, any(key), low, high);
}

std::size_t ObjectReader::bytes(std::string_view key) {
  constexpr std::int64_t kLine = 64;
  const std::int64_t number = integer(key, kLine, std::int64_t{1} << 50);
  if (number % kLine != 0) throw error(key, fmt::format("{} is not a multiple of 64", number));
  return static_cast<std::size_t>(number);
}

double ObjectReader::positive(std::string_view key, double high) {
  const json& value = any(key);
  if (!value.is_number()) throw error(key, "is not a number");
  const auto number = value.get<double>();
  if (!(number > 0 && number <= high)) {
    throw error(key, fmt::format("{} is not above 0 and at most {}", value.dump(), high));
  }
  return number;
}

double ObjectReader::not_negative(std::string_view key, double high) {
  const json& value = any(key);
  return value.is_number() && value.get<double>() == 0 ? 0 : positive(key, high);
}

ObjectReader ObjectReader::object(std::string_view key) {
  return {any(key), fmt::format("{}.{}", where_, key)};
}

namespace {

const json& checked_array(const ObjectReader& reader, std::string_view key, const json& value,
                          std::size_t most) {
  if (!value.is_array()) throw reader.error(key, "is not an array");
  if (value.empty() || value.size() > most) {
    throw reader.error(key,
                       fmt::format("has {} elements; 1 to {} are allowed", value.size(), most));
  }
  return value;
}

std::vector<int> checked_distinct(const ObjectReader& reader, std::string_view key,
                                  const json& values, int low, int high, std::size_t most) {
  std::vector<int> numbers;
  for (const json& value : checked_array(reader, key, values, most)) {
    numbers.push_back(static_cast<int>(checked_integer(reader, key, value, low, high)));
  }
  std::vector<int> sorted = numbers;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) throw reader.error(key, fmt::format("names {} twice", *twice));
  return numbers;
}

}  // namespace

const json& ObjectReader::array(std::string_view key, std::size_t most) {
  return checked_array(*this, key, any(key), most);
}

std::vector<int> ObjectReader::distinct_integers(std::string_view key, int low, int high,
                                                 std::size_t most) {
  return checked_distinct(*this, key, any(key), low, high, most);
}

std::vector<std::vector<int>> ObjectReader::distinct_integer_sets(std::string_view key, int low,
                                                                  int high, std::size_t most) {
  std::vector<std::vector<int>> sets;
  for (const json& set : array(key, most)) {
    sets.push_back(checked_distinct(*this, key, set, low, high, most));
  }
  return sets;
}

void ObjectReader::finish() const {
  for (const auto& [key, value] : value_.items()) {
    if (!read_.contains(key)) throw error(key, "is not a known key");
  }
}

}  // namespace tierscope
