// SPDX-License-Identifier: Apache-2.0
#pragma once

// Transports for tests: one that takes its time and may fail, one that delivers in any order, and
// one whose tensors go through a pair of sockets.

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <typeflow/exec/transport.hpp>

namespace test {

namespace tf = typeflow;

/// Copies in a thread of its own, a while after each transfer began. The transfer of number
/// `fails_at` fails, that of `hangs_at` lasts until it is cancelled.
class SlowTransport final : public tf::Transport {
 public:
  explicit SlowTransport(std::chrono::microseconds delay = std::chrono::microseconds(50))
      : delay_(delay), thread_([this](const std::stop_token& stop) { work(stop); }) {}

  void begin(const tf::Transfer& transfer, tf::Completion& over) override {
    bytes += transfer.bytes;
    const std::lock_guard lock(mutex_);
    waiting_.push_back({transfer, &over, count++});
    changed_.notify_one();
  }
  void cancel(tf::Completion& over) noexcept override {
    ++cancelled;
    const std::lock_guard lock(mutex_);
    if (hanging_ == &over) std::exchange(hanging_, nullptr)->fail("cancelled");
  }

  std::atomic<std::int64_t> bytes{0};
  std::atomic<int> count{0};  ///< of transfers
  std::atomic<int> cancelled{0};
  std::atomic<int> fails_at{-1};
  std::atomic<int> hangs_at{-1};

 private:
  struct Waiting {
    tf::Transfer transfer;
    tf::Completion* over;
    int number;
  };

  void work(const std::stop_token& stop) {
    while (true) {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [&] { return !waiting_.empty(); })) return;
      const Waiting next = waiting_.front();
      waiting_.pop_front();
      if (next.number == hangs_at) {
        hanging_ = next.over;
        continue;
      }
      lock.unlock();
      std::this_thread::sleep_for(delay_);
      if (next.number == fails_at) {
        next.over->fail("the cable is cut");
        continue;
      }
      const tf::Transfer& t = next.transfer;
      tf::exec::transfer(t.from_memory, t.from, t.to_memory, t.to, t.bytes);
      next.over->done();
    }
  }

  const std::chrono::microseconds delay_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Waiting> waiting_;
  tf::Completion* hanging_ = nullptr;
  std::jthread thread_;
};

/// Carries tensors between some pairs of devices in a thread of its own, in any order and each
/// after a time of its own; between the others at once. As long as a tensor is under way, its place
/// at the receiver holds other bytes, which only a mistake of the plan can let anybody see.
class LateTransport final : public tf::Transport {
 public:
  explicit LateTransport(std::uint64_t seed)
      : seed_(seed), thread_([this](const std::stop_token& stop) { work(stop); }) {}

  void begin(const tf::Transfer& transfer, tf::Completion& over) override {
    const long number = count.fetch_add(1);
    const std::uint64_t drawn = mix(seed_ + 31 * static_cast<std::uint64_t>(number));
    if (number == fails_at) {
      met = true;
      if (drawn % 3 == 0) throw std::runtime_error("the cable is cut");
      if (drawn % 3 == 1) return over.fail("the cable is cut");
    }
    ++under_way;
    if (number != fails_at && number != hangs_at && !is_late(transfer)) {
      tf::exec::transfer(transfer.from_memory, transfer.from, transfer.to_memory, transfer.to,
                         transfer.bytes);
      --under_way;
      return over.done();
    }
    std::array<std::byte, 64> other{};
    other.fill(std::byte{0xcd});
    for (std::int64_t at = 0; at < transfer.bytes; at += 64) {
      tf::exec::transfer(nullptr, other.data(), transfer.to_memory,
                         static_cast<std::byte*>(transfer.to) + at,
                         std::min<std::int64_t>(transfer.bytes - at, 64));
    }
    const std::lock_guard lock(mutex_);
    if (number == hangs_at) {
      met = true;
      hanging_ = &over;
      return;
    }
    waiting_.push_back({transfer, &over, drawn, number == fails_at});
    changed_.notify_one();
  }
  void cancel(tf::Completion& over) noexcept override {
    const std::lock_guard lock(mutex_);
    if (hanging_ == &over) {
      hanging_ = nullptr;
      --under_way;
      return over.fail("cancelled");
    }
    const auto found = std::find_if(waiting_.begin(), waiting_.end(),
                                    [&](const Waiting& w) { return w.over == &over; });
    if (found == waiting_.end() || found->drawn % 2 == 0) return;  // it will be over soon
    waiting_.erase(found);
    --under_way;
    over.fail("cancelled");
  }

  std::atomic<long> count{0};  ///< of transfers
  std::atomic<long> late{0};   ///< of those that came later
  std::atomic<int> under_way{0};
  std::atomic<long> fails_at{-1};
  std::atomic<long> hangs_at{-1};
  std::atomic<bool> met{false};  ///< a transfer that failed or hung

 private:
  struct Waiting {
    tf::Transfer transfer;
    tf::Completion* over;
    std::uint64_t drawn;
    bool fails;
  };

  static std::uint64_t mix(std::uint64_t x) {
    x = (x + 1) * 0x9E3779B97F4A7C15ull;
    return (x ^ x >> 29) * 0xBF58476D1CE4E5B9ull >> 20;
  }
  bool is_late(const tf::Transfer& transfer) const {
    const int pair = 64 * transfer.from_device.index + transfer.to_device.index;
    return mix(seed_ + static_cast<std::uint64_t>(pair)) % 4 != 0;
  }
  void work(const std::stop_token& stop) {
    std::uint64_t turn = seed_;
    while (true) {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [&] { return !waiting_.empty(); })) return;
      const std::uint64_t drawn = mix(++turn);
      lock.unlock();  // others may come meanwhile, and this one be cancelled
      if (drawn % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(drawn / 4 % 60));
      if (drawn % 4 == 1) std::this_thread::yield();
      lock.lock();
      if (waiting_.empty()) continue;
      const std::size_t i = drawn / 4 % waiting_.size();
      const Waiting next = waiting_[i];
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
      lock.unlock();
      if (next.fails) {
        --under_way;
        next.over->fail("the cable is cut");
        continue;
      }
      const tf::Transfer& t = next.transfer;
      tf::exec::transfer(t.from_memory, t.from, t.to_memory, t.to, t.bytes);
      ++late;
      --under_way;
      next.over->done();
    }
  }

  const std::uint64_t seed_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<Waiting> waiting_;
  tf::Completion* hanging_ = nullptr;
  std::jthread thread_;
};

/// Writes tensors to a socket in one thread, and reads them from the other end in another one, as
/// two processes would: a header with the number of the transfer, then its bytes.
class SocketTransport final : public tf::Transport {
 public:
  SocketTransport() {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()) != 0) {
      throw std::system_error(errno, std::generic_category(), "socketpair");
    }
    writer_ = std::jthread([this](const std::stop_token& stop) { write_all(stop); });
    reader_ = std::jthread([this] { read_all(); });
  }
  SocketTransport(const SocketTransport&) = delete;
  SocketTransport& operator=(const SocketTransport&) = delete;
  ~SocketTransport() {
    writer_.request_stop();
    writer_.join();
    shutdown(ends_[0], SHUT_RDWR);  // the reader ends
    reader_.join();
    close(ends_[0]);
    close(ends_[1]);
  }

  void begin(const tf::Transfer& transfer, tf::Completion& over) override {
    const std::lock_guard lock(mutex_);
    const std::int64_t number = next_++;
    expected_[number] = {transfer, &over};
    to_write_.emplace_back(number, transfer);
    changed_.notify_one();
  }

  std::atomic<std::int64_t> bytes{0};  ///< through the sockets, without headers

 private:
  struct Expected {
    tf::Transfer transfer;
    tf::Completion* over;
  };

  void write_all(const std::stop_token& stop) {
    while (true) {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [&] { return !to_write_.empty(); })) return;
      const auto [number, transfer] = to_write_.front();
      to_write_.pop_front();
      lock.unlock();
      send_bytes(&number, sizeof number);
      std::vector<std::byte> host(static_cast<std::size_t>(transfer.bytes));
      tf::exec::transfer(transfer.from_memory, transfer.from, nullptr, host.data(), transfer.bytes);
      send_bytes(host.data(), host.size());
    }
  }
  void read_all() {
    std::int64_t number = 0;
    while (receive_bytes(&number, sizeof number)) {
      Expected now{};
      {
        const std::lock_guard lock(mutex_);
        now = expected_.at(number);
        expected_.erase(number);
      }
      std::vector<std::byte> host(static_cast<std::size_t>(now.transfer.bytes));
      if (!receive_bytes(host.data(), host.size())) return now.over->fail("the socket is closed");
      bytes += now.transfer.bytes;
      tf::exec::transfer(nullptr, host.data(), now.transfer.to_memory, now.transfer.to,
                         now.transfer.bytes);
      now.over->done();
    }
  }
  void send_bytes(const void* data, std::size_t size) const {
    const auto* at = static_cast<const std::byte*>(data);
    while (size > 0) {
      const ssize_t sent = ::send(ends_[0], at, size, MSG_NOSIGNAL);
      if (sent <= 0) return;
      at += sent;
      size -= static_cast<std::size_t>(sent);
    }
  }
  bool receive_bytes(void* data, std::size_t size) const {
    auto* at = static_cast<std::byte*>(data);
    while (size > 0) {
      const ssize_t received = recv(ends_[1], at, size, 0);
      if (received <= 0) return false;
      at += received;
      size -= static_cast<std::size_t>(received);
    }
    return true;
  }

  std::array<int, 2> ends_{};
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::int64_t next_ = 0;
  std::map<std::int64_t, Expected> expected_;
  std::deque<std::pair<std::int64_t, tf::Transfer>> to_write_;
  std::jthread writer_;
  std::jthread reader_;
};

}  // namespace test
