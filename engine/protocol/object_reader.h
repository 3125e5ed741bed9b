// Reads a JSON object as a table has it: the whole object is checked before anything is read.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/tables.h"

namespace tierscope {

// What is wrong with a plan: "measurements[3].pattern.size: 70 is not a multiple of 64".
class PlanError : public std::runtime_error {
 public:
  PlanError(const std::string& where, const std::string& what)
      : std::runtime_error(where.empty() ? what : where + ": " + what) {}
};

class ObjectReader {
 public:
  // Checks the object: its keys, their types and ranges, and the rules that are data. `where` is
  // its place, for error messages; empty: of a whole plan. Throws PlanError, as all do.
  ObjectReader(const nlohmann::json& value, std::string where, const tables::Table& table);

  // Whether a key has a value, which may be its default. False of a key that the table lacks.
  bool has(std::string_view key) const;

  // The values of keys, their defaults where they are absent.
  bool boolean(std::string_view key) const;
  double number(std::string_view key) const;
  std::string text(std::string_view key) const;
  template <typename Integer = std::int64_t>
  Integer integer(std::string_view key) const {
    return static_cast<Integer>(std::get<std::int64_t>(value_of(key)));
  }
  std::size_t bytes(std::string_view key) const { return integer<std::size_t>(key); }
  // An object that is absent has its defaults.
  ObjectReader object(std::string_view key) const;
  std::vector<ObjectReader> objects(std::string_view key) const;
  // The values of an object whose keys are names.
  std::vector<std::pair<std::string, ObjectReader>> named_objects(std::string_view key) const;
  std::vector<int> integers(std::string_view key) const;
  std::vector<std::vector<int>> integer_sets(std::string_view key) const;
  std::vector<std::string> texts(std::string_view key) const;
  // As it is; null where it is absent.
  const nlohmann::json& any(std::string_view key) const;

  // The entry of `choices`, pairs of name and value, that the key names.
  template <typename Choices>
  auto choice(std::string_view key, const Choices& choices) const {
    const std::string name = text(key);
    for (const auto& [known, value] : choices) {
      if (name == known) return value;
    }
    throw error(key, "'" + name + "' is not known to this engine");
  }

  // Throws the sentence of a rule that the engine has code for unless the rule is kept.
  template <typename... Values>
  void check(const tables::Check& rule, bool kept, const Values&... values) const {
    if (!kept) throw error(rule.field, fmt::format(fmt::runtime(rule.because), values...));
  }

  PlanError error(std::string_view key, const std::string& what) const;

 private:
  struct Checked {};
  ObjectReader(Checked /*unused*/, const nlohmann::json& value, std::string where,
               const tables::Table& table)
      : value_(&value), where_(std::move(where)), table_(&table) {}

  const tables::Field& field(std::string_view key) const;
  tables::Value value_of(std::string_view key) const;
  ObjectReader reader_of(const tables::Field& field, const nlohmann::json& value,
                         std::string where) const;
  std::string place(std::string_view key) const;

  const nlohmann::json* value_;
  std::string where_;
  const tables::Table* table_;
};

}  // namespace tierscope
