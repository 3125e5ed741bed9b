#include "protocol/check_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "protocol/object_reader.h"

namespace tierscope {
namespace {

using nlohmann::json;
using tables::Field;
using tables::Rule;
using tables::Table;
using tables::Test;
using tables::Type;
using tables::Value;

// Where a value is; made to text only for an error.
struct Place {
  const Place* outer = nullptr;
  std::string_view key{};
  std::size_t index = 0;  // Of an element, which has no key.

  std::string text() const {
    if (outer == nullptr) return std::string(key);
    const std::string before = outer->text();
    if (key.empty()) return fmt::format("{}[{}]", before, index);
    return before.empty() ? std::string(key) : fmt::format("{}.{}", before, key);
  }
  [[noreturn]] void refuse(const std::string& what) const { throw PlanError(text(), what); }
};

bool equal(const Value& one, const Value& other) {
  const auto number = [](const Value& value) -> const std::int64_t* {
    return std::get_if<std::int64_t>(&value);
  };
  const auto real = [](const Value& value) { return std::get_if<double>(&value); };
  if (number(one) != nullptr && real(other) != nullptr) {
    return static_cast<double>(*number(one)) == *real(other);
  }
  if (real(one) != nullptr && number(other) != nullptr) return equal(other, one);
  return one == other;
}

double as_double(const Value& value) {
  const auto* const whole = std::get_if<std::int64_t>(&value);
  return whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value);
}

std::string written(const Value& value) {
  if (const auto* const text = std::get_if<std::string_view>(&value)) return std::string(*text);
  if (const auto* const real = std::get_if<double>(&value)) return fmt::format("{}", *real);
  return fmt::format("{}", std::get<std::int64_t>(value));
}

// Conditions

// A field that a path leads to: its value, or what it has where it is absent.
struct Found {
  const json* value = nullptr;
  const Field* field = nullptr;

  bool given() const {
    if (value != nullptr) return true;
    return field != nullptr && (field->otherwise.index() != 0 || by_default());
  }
  std::size_t elements() const { return value != nullptr ? value->size() : 0; }
  Value scalar_value() const {
    if (value == nullptr) return field != nullptr ? field->otherwise : Value{};
    return scalar(*value);
  }

 private:
  // An object or an array that is absent and not null is an empty one.
  bool by_default() const {
    const bool whole =
        field->type == Type::kObject || field->type == Type::kArray || field->type == Type::kMap;
    return whole && !field->nullable && !field->required;
  }
};

Found follow(const json& object, const Table& table, std::string_view path) {
  static const json empty = json::object();
  const std::size_t dot = path.find('.');
  const std::string_view key = path.substr(0, dot);
  const Field* const field = find_field(table, key);
  if (field == nullptr) return {};
  const auto at = object.find(key);
  const json* const value = at == object.end() || at->is_null() ? nullptr : &*at;
  const Found found{.value = value, .field = field};
  if (dot == std::string_view::npos) return found;
  if (!found.given() || field->type != Type::kObject) return {};
  const json& inner = value != nullptr ? *value : empty;
  return follow(inner, table_of(*field, inner), path.substr(dot + 1));
}

bool holds(const Test& test, const json& object, const Table& table) {
  const Found found = follow(object, table, test.path);
  const auto is = [&](const Value& one) {
    return one.index() == 0 ? !found.given() : equal(found.scalar_value(), one);
  };
  const auto compares = [&](auto compare) {
    Value other = test.values.front();
    if (const auto* const path = std::get_if<std::string_view>(&other)) {
      other = follow(object, table, *path).scalar_value();
    }
    return found.given() && other.index() != 0 && compare(found.scalar_value(), other);
  };
  switch (test.kind) {
    case Test::Kind::kIn:
      return std::ranges::any_of(test.values, is);
    case Test::Kind::kGiven:
      return found.given();
    case Test::Kind::kDiffers:
      return found.given() && !is(test.values.front());
    case Test::Kind::kBelow:
      return compares([](auto one, auto other) { return as_double(one) < as_double(other); });
    case Test::Kind::kUneven:
      return compares([](auto one, auto other) {
        return std::get<std::int64_t>(one) % std::get<std::int64_t>(other) != 0;
      });
    case Test::Kind::kSame:
      return compares([](auto one, auto other) { return equal(one, other); });
    case Test::Kind::kElements:
      return found.given() &&
             equal(static_cast<std::int64_t>(found.elements()), test.values.front());
  }
  return false;
}

void check_rules(const json& object, const Place& place, const Table& table,
                 std::span<const Rule> rules) {
  const auto held = [&](const Test& test) { return holds(test, object, table); };
  for (const Rule& rule : rules) {
    const bool allowed = !rule.unless.empty() && std::ranges::all_of(rule.unless, held);
    if (allowed || !std::ranges::all_of(rule.when, held)) continue;
    Place{.outer = &place, .key = rule.field}.refuse(std::string(rule.because));
  }
}

// Values

void check_value(const json& value, const Place& place, const Field& field);

void check_fields(const json& value, const Place& place, const Table& table) {
  if (!value.is_object()) place.refuse("is not an object");
  for (const auto& [key, inner] : value.items()) {
    if (find_field(table, key) == nullptr) {
      Place{.outer = &place, .key = key}.refuse("is not a known key");
    }
  }
  for (const Field& field : table.fields) {
    const Place here{.outer = &place, .key = field.name};
    const auto found = value.find(field.name);
    if (found != value.end()) {
      check_value(*found, here, field);
    } else if (field.required) {
      here.refuse("is missing");
    }
  }
  check_rules(value, place, table, table.rules);
}

void check_choice(const json& value, const Place& place, const Field& field) {
  if (field.choices.empty()) return;
  const Value given = scalar(value);
  std::string allowed;
  for (const Value& one : field.choices) {
    if (equal(one, given)) return;
    allowed += (allowed.empty() ? "" : ", ") + written(one);
  }
  place.refuse(fmt::format("'{}' is none of {}", written(given), allowed));
}

std::string range_of(const Field& field) {
  std::string text;
  if (field.least.index() != 0) {
    text = (field.above ? "above " : "at least ") + written(field.least);
  }
  if (field.most.index() == 0) return text;
  if (!text.empty()) text += " and ";
  return text + (field.below ? "below " : "at most ") + written(field.most);
}

void check_range(const json& value, const Place& place, const Field& field) {
  const Value given = scalar(value);
  const double number = as_double(given);
  const auto outside = [&](const Value& bound, bool low, bool open) {
    if (bound.index() == 0) return false;
    const auto* const whole = std::get_if<std::int64_t>(&given);
    const auto* const limit = std::get_if<std::int64_t>(&bound);
    const bool exact = whole != nullptr && limit != nullptr;
    const bool same = exact ? *whole == *limit : number == as_double(bound);
    const bool less = exact ? *whole < *limit : number < as_double(bound);
    if (same) return open;
    return low == less;
  };
  if (outside(field.least, true, field.above) || outside(field.most, false, field.below)) {
    place.refuse(fmt::format("{} is not {}", value.dump(), range_of(field)));
  }
}

void check_integer(const json& value, const Place& place, const Field& field) {
  if (!value.is_number_integer()) place.refuse("is not an integer");
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)) {
    place.refuse("is too large");
  }
  check_range(value, place, field);
  check_choice(value, place, field);
  const std::int64_t number = std::get<std::int64_t>(scalar(value));
  if (number % field.multiple != 0) {
    place.refuse(fmt::format("{} is not a multiple of {}", number, field.multiple));
  }
  if (field.power_of_two && !std::has_single_bit(static_cast<std::uint64_t>(number))) {
    place.refuse("is not a power of two");
  }
}

bool matches(const std::string& text, std::string_view pattern) {
  static std::map<std::string_view, std::regex> known;
  auto found = known.find(pattern);
  if (found == known.end()) {
    found = known.emplace(pattern, std::regex(std::string(pattern))).first;
  }
  return std::regex_search(text, found->second);
}

void check_length(std::size_t length, std::string_view of, const Place& place, const Field& field) {
  if (length < field.shortest || length > field.longest) {
    place.refuse(
        fmt::format("has {} {}; {} to {} are allowed", length, of, field.shortest, field.longest));
  }
}

void check_text(const json& value, const Place& place, const Field& field) {
  if (!value.is_string()) place.refuse("is not a string");
  const auto& text = value.get_ref<const std::string&>();
  constexpr unsigned kContinued = 0x80;  // The upper two bits of a byte that begins no character.
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != kContinued; };
  check_length(static_cast<std::size_t>(std::ranges::count_if(text, begins)), "characters", place,
               field);
  check_choice(value, place, field);
  if (!field.pattern.empty() && !matches(text, field.pattern)) {
    place.refuse(fmt::format("'{}' is not of the form {}", text, field.pattern));
  }
}

void check_distinct(const json& values, const Place& place, const Field& field) {
  std::vector<Value> keys;
  for (const json& value : values) {
    if (field.distinct_by.empty()) {
      keys.push_back(scalar(value));
      continue;
    }
    const Found found = follow(value, table_of(*field.element, value), field.distinct_by);
    keys.push_back(found.scalar_value());
  }
  std::ranges::sort(keys);
  const auto twice = std::ranges::adjacent_find(keys);
  if (twice != keys.end()) place.refuse(fmt::format("names {} twice", written(*twice)));
}

void check_array(const json& value, const Place& place, const Field& field) {
  if (!value.is_array()) place.refuse("is not an array");
  check_length(value.size(), "elements", place, field);
  std::size_t index = 0;
  for (const json& element : value) {
    check_value(element, {.outer = &place, .index = index}, *field.element);
    ++index;
  }
  if (field.distinct) check_distinct(value, place, field);
}

void check_map(const json& value, const Place& place, const Field& field) {
  if (!value.is_object()) place.refuse("is not an object");
  for (const auto& [key, element] : value.items()) {
    check_value(element, {.outer = &place, .key = key}, *field.element);
  }
}

// The table of an object that may not be what it should be; none: it says nothing of what it is.
const Table* chosen(const Field& field, const json& value) {
  if (field.variants.empty()) return field.table;
  for (const tables::Variant& one : field.variants) {
    const auto found = value.find(one.key);
    if (found == value.end()) continue;
    if (one.value.empty() ||
        (found->is_string() && found->get_ref<const std::string&>() == one.value)) {
      return one.table;
    }
  }
  return nullptr;
}

[[noreturn]] void refuse_variant(const json& value, const Place& place, const Field& field) {
  const tables::Variant& first = field.variants.front();
  std::string allowed;
  for (const tables::Variant& one : field.variants) {
    allowed += (allowed.empty() ? "" : ", ") + std::string(one.value.empty() ? one.key : one.value);
  }
  if (first.value.empty()) place.refuse("has none of the keys " + allowed);
  const Place tag{.outer = &place, .key = first.key};
  const auto found = value.find(first.key);
  if (found == value.end()) tag.refuse("is missing");
  tag.refuse(fmt::format("{} is none of {}", found->dump(), allowed));
}

void check_value(const json& value, const Place& place, const Field& field) {
  if (value.is_null() && field.nullable) return;
  switch (field.type) {
    case Type::kAny:
      return;
    case Type::kBoolean:
      if (!value.is_boolean()) place.refuse("is neither true nor false");
      return;
    case Type::kInteger:
      return check_integer(value, place, field);
    case Type::kNumber:
      if (!value.is_number()) place.refuse("is not a number");
      return check_range(value, place, field);
    case Type::kText:
      return check_text(value, place, field);
    case Type::kArray:
      return check_array(value, place, field);
    case Type::kMap:
      return check_map(value, place, field);
    case Type::kObject:
      break;
  }
  if (!value.is_object()) place.refuse("is not an object");
  const Table* const table = chosen(field, value);
  if (table == nullptr) refuse_variant(value, place, field);
  check_fields(value, place, *table);
  check_rules(value, place, *table, field.rules);
}

}  // namespace

const Field* find_field(const Table& table, std::string_view key) {
  const auto found = std::ranges::find(table.fields, key, &Field::name);
  return found == table.fields.end() ? nullptr : &*found;
}

const Table& table_of(const Field& field, const json& value) { return *chosen(field, value); }

Value scalar(const json& value) {
  switch (value.type()) {
    case json::value_t::boolean:
      return value.get<bool>();
    case json::value_t::string:
      return std::string_view(value.get_ref<const std::string&>());
    case json::value_t::number_float:
      return value.get<double>();
    case json::value_t::number_integer:
      return value.get<std::int64_t>();
    case json::value_t::number_unsigned:  // Integers that are larger were refused.
      return static_cast<std::int64_t>(
          std::min<std::uint64_t>(value.get<std::uint64_t>(), INT64_MAX));
    default:
      return {};
  }
}

void check_object(const json& value, std::string_view where, const Table& table) {
  check_fields(value, {.key = where}, table);
}

}  // namespace tierscope
