// The records of a key-value server, and which of them clients ask for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/zipf_order.h"

namespace tierscope::key_value {

// A key as YCSB names them: "user17".
std::string key_of(std::uint64_t record);

// Records 0..count-1 whose values all have the same size. A value follows from the record's number,
// so that any client can verify it: 8 bytes that no other record has, then a piece of one sequence
// of random bytes, from a place that the number chooses.
class Records {
 public:
  // At least one record, of at least one byte.
  Records(std::uint64_t count, std::size_t value_bytes);

  std::uint64_t count() const { return count_; }
  std::size_t value_bytes() const { return value_bytes_; }

  std::string value_of(std::uint64_t record) const;
  bool is_value_of(std::uint64_t record, std::string_view found) const;

 private:
  std::uint64_t count_;
  std::size_t value_bytes_;
  std::string random_;
};

struct Request {
  std::uint64_t record;
  bool write;
  std::int64_t due_ns = 0;  // In an open loop: when it was to be sent, since the loop's start.
};

// What one thread asks for. Records are chosen by Zipf's law over scattered ranks, as in YCSB's
// workloads A, B and C (Cooper et al., "Benchmarking cloud serving systems with YCSB", SoCC 2010);
// `skew` is the law's exponent. With 0 all are equally likely.
class Choices {
 public:
  // `writes`: share of the requests that store a record, 0..1. `seed` tells threads apart.
  Choices(std::uint64_t records, double skew, double writes, std::uint64_t seed);
  Request next();

 private:
  std::uint64_t records_;
  std::optional<ZipfOrder> zipf_;
  double writes_;
  std::uint64_t order_;  // States of two generators.
  std::uint64_t kinds_;
};

}  // namespace tierscope::key_value
