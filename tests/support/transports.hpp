// SPDX-License-Identifier: Apache-2.0
#pragma once

// Transports for tests: one that takes its time and may fail, and one whose tensors go through a
// pair of sockets.

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
