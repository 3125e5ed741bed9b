// The objects of a plan as the models declare them: fields, and rules of what goes with what.
// tables.cpp has them, and constants.h the sentences of rules that the engine has code for; both
// are written by `make schema`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <variant>

namespace tierscope::tables {

// The value of a field; none: it is absent.
using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string_view>;

// What a field, dotted below the object, has to have.
struct Test {
  enum class Kind {
    kIn,        // One of `values`.
    kBelow,     // Less than the value; as for the next two, that of another field where it is text.
    kUneven,    // Not a multiple of the value.
    kSame,      // The value of another field, too.
    kGiven,     // Any value.
    kDiffers,   // Any value but this one.
    kElements,  // An array of so many elements.
  };
  std::string_view path;
  Kind kind;
  std::span<const Value> values;
};

// Refuses objects for which all of `when` holds, unless all of `unless` does, where that has tests.
struct Rule {
  std::string_view field;    // What the sentence is about.
  std::string_view because;  // The sentence, without the field that it begins with.
  std::span<const Test> when;
  std::span<const Test> unless{};
};

// A rule that the engine has code for.
struct Check {
  std::string_view field;
  std::string_view because;  // Each "{}" stands for a value.
};

enum class Type { kAny, kBoolean, kInteger, kNumber, kText, kObject, kArray, kMap };

struct Table;

// One of the tables that an object may have.
struct Variant {
  std::string_view key;    // That the object has,
  std::string_view value;  // and its value, where it says so.
  const Table* table;
};

struct Field {
  std::string_view name{};
  bool required = false;
  Value otherwise{};  // Where it is absent.
  bool nullable = false;
  Type type = Type::kAny;
  std::span<const Value> choices{};  // Of texts and integers; empty: any.
  // Of integers.
  std::int64_t multiple = 1;
  bool power_of_two = false;
  // Of integers and numbers; absent: any.
  Value least{};
  bool above = false;  // `least` itself is too little.
  Value most{};
  bool below = false;  // `most` itself is too much.
  // Of texts, in characters, and of arrays.
  std::size_t shortest = 0;
  std::size_t longest = std::numeric_limits<std::size_t>::max();
  std::string_view pattern{};
  // Of arrays and maps.
  const Field* element = nullptr;
  bool distinct = false;
  std::string_view distinct_by{};  // The field of elements that differs; empty: they do themselves.
  // Of objects: one table, or one of several.
  const Table* table = nullptr;
  std::span<const Variant> variants{};
  std::span<const Rule> rules{};  // That it has to obey here, besides its table's.
};

struct Table {
  std::span<const Field> fields;
  std::span<const Rule> rules{};
};

// The table of a whole plan.
const Table& plan();

struct Model {
  std::string_view name;  // As src/tierscope calls it.
  const Table* table;
};

// The tables of all objects of a plan.
std::span<const Model> models();

}  // namespace tierscope::tables
