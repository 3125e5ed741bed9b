// Reads a JSON object strictly: every key must be asked for, have the right type and be in range.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tierscope {

// What is wrong with a plan: "measurements[3].pattern.size: 70 is not a multiple of 64".
class PlanError : public std::runtime_error {
 public:
  PlanError(const std::string& where, const std::string& what)
      : std::runtime_error(where + ": " + what) {}
};

class ObjectReader {
 public:
  // `where` is the object's place in the plan, for error messages. Throws PlanError, as all do.
  ObjectReader(const nlohmann::json& value, std::string where);

  bool has(std::string_view key) const;
  const nlohmann::json& any(std::string_view key);
  std::string text(std::string_view key);
  bool truth(std::string_view key);
  bool boolean(std::string_view key);
  std::int64_t integer(std::string_view key, std::int64_t low, std::int64_t high);
  // A size in bytes: 64..2^50, a multiple of 64.
  std::size_t bytes(std::string_view key);
  // Above zero and at most `high`.
  double positive(std::string_view key, double high);
  // The same, or zero.
  double not_negative(std::string_view key, double high);
  ObjectReader object(std::string_view key);
  // Its elements, of which there is at least one and at most `most`.
  const nlohmann::json& array(std::string_view key, std::size_t most);
  std::vector<int> distinct_integers(std::string_view key, int low, int high, std::size_t most);
  // An array of such arrays, each and all of them with `most` elements at most.
  std::vector<std::vector<int>> distinct_integer_sets(std::string_view key, int low, int high,
                                                      std::size_t most);

  // The entry of `choices`, pairs of name and value, that the key names.
  template <typename Choices>
  auto choice(std::string_view key, const Choices& choices) {
    const std::string name = text(key);
    std::string allowed;
    for (const auto& [known, value] : choices) {
      if (name == known) return value;
      allowed += (allowed.empty() ? "" : ", ") + std::string(known);
    }
    throw error(key, "'" + name + "' is none of " + allowed);
  }

  // Refuses the object if it has a key that nobody asked for. Call last.
  void finish() const;

  PlanError error(std::string_view key, const std::string& what) const;
  const std::string& where() const { return where_; }

 private:
  const nlohmann::json& value_;
  std::string where_;
  std::set<std::string, std::less<>> read_;
};

}  // namespace tierscope
