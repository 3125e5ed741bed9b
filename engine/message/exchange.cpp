#include "message/exchange.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr int kPollsBetweenLooks = 64;  // At the clock, while waiting: a look costs as a poll does.
constexpr double kMostRepeats = 1 << 24;

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

struct Failed : std::runtime_error {
  Failed(TsMessageResult why, const std::string& what) : std::runtime_error(what), result(why) {}
  TsMessageResult result;
};

// What the source says before each sample.
struct Order {
  std::int64_t sample;
  std::int64_t repeats;  // 0: there is no further sample.
};

// Contents of a sample's messages from one of the two ranks: words in arithmetic progression from a
// mixed seed (splitmix64), so that neither another sample's nor the other rank's bytes pass for
// them.
void fill(std::vector<std::byte>& data, std::uint64_t seed, std::int64_t sample, bool of_source) {
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15U;
  std::uint64_t word =
      seed + kGolden * (2 * static_cast<std::uint64_t>(sample) + (of_source ? 1 : 0));
  word = (word ^ (word >> 30U)) * 0xbf58476d1ce4e5b9U;
  word = (word ^ (word >> 27U)) * 0x94d049bb133111ebU;
  word ^= word >> 31U;
  for (std::size_t at = 0; at < data.size(); at += sizeof word, word += kGolden) {
    std::memcpy(data.data() + at, &word, std::min(sizeof word, data.size() - at));
  }
}

class Exchange {
 public:
  Exchange(const TsMessageExchange& asked, TsMessageSamples& samples)
      : asked_(asked),
        samples_(samples),
        control_(2 * asked.window),
        requests_(static_cast<std::size_t>(control_ + 2) * asked.mpi.request_size),
        statuses_(static_cast<std::size_t>(control_ + 2) * asked.mpi.status_size),
        contents_(static_cast<std::size_t>(asked.size)),
        received_(contents_.size()) {}

  // Takes samples.
  void lead() {
    Order order{0, 1};
    const double began = now();
    do {
      prepare(order.sample);
      tell(order);
      const double start = now();
      send_sample(order.repeats);
      const double seconds = now() - start;
      check(order.sample);
      samples_.starts[samples_.count] = start - began;
      samples_.durations[samples_.count] = seconds;
      samples_.values[samples_.count] = value(order.repeats, seconds);
      ++samples_.count;
      ++order.sample;
      const double repeats = static_cast<double>(order.repeats) * asked_.sample_seconds / seconds;
      order.repeats = static_cast<std::int64_t>(std::clamp(repeats, 1.0, kMostRepeats));
    } while (now() - began < asked_.seconds && samples_.count < samples_.capacity);
    tell({order.sample, 0});
    finish();
  }

  // Takes part in the source's samples until it has enough.
  void follow() {
    for (;;) {
      Order order{};
      receive(control_, &order, sizeof order, 1);
      wait(control_, 1);
      if (order.repeats > 0) prepare(order.sample);
      if (order.repeats > 0 && asked_.operation == kTsLatency) receive_message(0);
      send(control_, &answer_, 1, 1);
      wait(control_, 1);
      if (order.repeats == 0) break;
      receive_sample(order.repeats);
      check(order.sample);
    }
    finish();
  }

 private:
  void send(int slot, const void* data, int bytes, int kind) {
    const TsMessageMpi& mpi = asked_.mpi;
    succeed(mpi.isend(data, bytes, mpi.byte, asked_.partner, asked_.tag + kind, mpi.comm,
                      request(slot)),
            "MPI_Isend");
  }

  void receive(int slot, void* data, int bytes, int kind) {
    const TsMessageMpi& mpi = asked_.mpi;
    succeed(mpi.irecv(data, bytes, mpi.byte, asked_.partner, asked_.tag + kind, mpi.comm,
                      request(slot)),
            "MPI_Irecv");
  }

  void send_message(int slot) { send(slot, asked_.send, asked_.size, 0); }
  void receive_message(int slot) { receive(slot, asked_.receive, asked_.size, 0); }

  // Polls until all of these requests are complete.
  void wait(int first, int count) {
    double until = 0;
    for (;;) {
      for (int poll = 0; poll < kPollsBetweenLooks; ++poll) {
        int done = 0;
        succeed(asked_.mpi.testall(count, request(first), &done, statuses_.data()), "MPI_Testall");
        if (done != 0) return;
      }
      if (until == 0) until = now() + asked_.patience_s;
      if (now() > until) {
        std::array<char, 32> patience{};
        std::snprintf(patience.data(), patience.size(), "%g s", asked_.patience_s);
        throw Failed(kTsSilent, "rank " + std::to_string(asked_.partner) + " did not answer for " +
                                    patience.data());
      }
    }
  }

  // Has the destination get ready for a sample, or for the end.
  void tell(const Order& order) {
    receive(control_ + 1, &answer_, 1, 1);
    send(control_, &order, sizeof order, 1);
    wait(control_, 2);
  }

  void send_sample(std::int64_t repeats) {
    for (std::int64_t i = 0; i < repeats; ++i) {
      if (asked_.operation == kTsLatency) {
        send_message(0);
        receive_message(1);
        wait(0, 2);
      } else {
        move_window(true);
      }
    }
    if (asked_.operation == kTsBothWays) {  // the last window of this rank has to be there, too
      receive(control_, &answer_, 1, 1);
      wait(control_, 1);
    }
    count_messages(repeats);
  }

  // The first receive of a latency's sample is posted already, and each further one while the
  // message before it is answered.
  void receive_sample(std::int64_t repeats) {
    if (asked_.operation == kTsLatency) wait(0, 1);
    for (std::int64_t i = 0; i < repeats; ++i) {
      if (asked_.operation == kTsLatency) {
        send_message(1);
        if (i + 1 < repeats) receive_message(0);
        i + 1 < repeats ? wait(0, 2) : wait(1, 1);
      } else {
        move_window(false);
      }
    }
    if (asked_.operation == kTsBothWays) {
      send(control_, &answer_, 1, 1);
      wait(control_, 1);
    }
    count_messages(asked_.operation == kTsBandwidth ? 0 : repeats);
  }

  // One window, of the source's messages or of both ranks'.
  void move_window(bool leads) {
    const int window = asked_.window;
    const bool both = asked_.operation == kTsBothWays;
    if (both || !leads) {
      for (int slot = 0; slot < window; ++slot) receive_message(slot);
    }
    if (both || leads) {
      for (int slot = 0; slot < window; ++slot) send_message(both ? window + slot : slot);
    }
    wait(0, both ? 2 * window : window);
    if (both) return;
    leads ? receive(control_, &answer_, 1, 1) : send(control_, &answer_, 1, 1);
    wait(control_, 1);
  }

  void count_messages(std::int64_t repeats) {
    const std::int64_t each = asked_.operation == kTsLatency ? 1 : asked_.window;
    samples_.messages += static_cast<std::uint64_t>(repeats * each);
  }

  double value(std::int64_t repeats, double seconds) const {
    const auto times = static_cast<double>(repeats);
    if (asked_.operation == kTsLatency) return seconds / (2 * times) * 1e9;
    const double bytes = times * asked_.window * asked_.size / seconds;
    return asked_.operation == kTsBothWays ? 2 * bytes : bytes;
  }

  // Gives this rank's messages of a sample their contents.
  void prepare(std::int64_t sample) {
    fill(contents_, asked_.seed, sample, asked_.source != 0);
    copy(asked_.send, contents_.data());
  }

  // Compares what came last with what the partner sent.
  void check(std::int64_t sample) {
    if (asked_.operation == kTsBandwidth && asked_.source != 0) return;
    fill(contents_, asked_.seed, sample, asked_.source == 0);
    copy(received_.data(), asked_.receive);
    const auto wrong = std::mismatch(received_.begin(), received_.end(), contents_.begin()).first;
    if (wrong == received_.end() || !wrong_.empty()) return;
    wrong_ = "byte " + std::to_string(wrong - received_.begin()) + " of a message of sample " +
             std::to_string(sample) + " from rank " + std::to_string(asked_.partner) +
             " is not what was sent";
  }

  // Wrong contents end the exchange only here, so that the partner does not wait.
  void finish() const {
    if (!wrong_.empty()) throw Failed(kTsWrongContents, wrong_);
  }

  void copy(void* to, const void* from) const {
    if (asked_.copy == nullptr) {
      std::memcpy(to, from, contents_.size());
    } else {
      succeed(asked_.copy(to, from, contents_.size()), "copying to or from the GPU");
    }
  }

  static void succeed(int code, const char* what) {
    if (code != 0) {
      throw Failed(kTsMpiFailed, std::string(what) + " failed with code " + std::to_string(code));
    }
  }

  void* request(int slot) {
    return requests_.data() + static_cast<std::size_t>(slot) * asked_.mpi.request_size;
  }

  const TsMessageExchange& asked_;
  TsMessageSamples& samples_;
  int control_;  // Slot of requests behind those of two windows, as the next one.
  std::vector<std::byte> requests_;
  std::vector<std::byte> statuses_;
  std::vector<std::byte> contents_;
  std::vector<std::byte> received_;
  char answer_ = 0;
  std::string wrong_;
};

// Keeps an exchange that failed as long as the process lives: what it posted may still refer to its
// requests.
void keep(std::unique_ptr<Exchange> failed) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<std::unique_ptr<Exchange>>;
  const std::lock_guard lock(mutex);
  kept->push_back(std::move(failed));
}

}  // namespace

std::int32_t ts_message_exchange(const TsMessageExchange* exchange, TsMessageSamples* samples) {
  samples->count = 0;
  samples->messages = 0;
  samples->error[0] = '\0';
  TsMessageResult result = kTsDone;
  std::string error;
  std::unique_ptr<Exchange> made;
  try {
    made = std::make_unique<Exchange>(*exchange, *samples);
    exchange->source != 0 ? made->lead() : made->follow();
  } catch (const Failed& failed) {
    result = failed.result;
    error = failed.what();
  } catch (const std::exception& failed) {
    result = kTsMpiFailed;
    error = failed.what();
  }
  if (result != kTsDone) keep(std::move(made));
  const std::size_t length = std::min(error.size(), sizeof samples->error - 1);
  std::memcpy(samples->error, error.data(), length);
  samples->error[length] = '\0';
  return result;
}
