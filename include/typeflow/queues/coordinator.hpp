// SPDX-License-Identifier: Apache-2.0
#pragma once

// Threads that work until one of them says stop, and threads that fill a queue. TensorFlow's
// Coordinator and QueueRunner.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/queues/queue_core.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Starts threads, tells them when to stop, and waits for them.
///
///   tf::Coordinator coordinator;
///   coordinator.start([&] { while (!coordinator.should_stop()) work(); });
///   ...
///   coordinator.request_stop();
///   coordinator.join();
///
/// A thread that ends with an exception stops all, and join() throws it: the first one, if there
/// are several. OutOfRange is no failure: the data has come to its end. All members can be called
/// by any thread; join() by one that was not started here.
class Coordinator {
 public:
  Coordinator() = default;
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;
  /// Stops the threads and waits for them.
  ~Coordinator() {
    request_stop();
    wait();
  }

  bool should_stop() const { return stop_.load(); }

  /// From now on should_stop() is true.
  void request_stop() { stop(nullptr); }
  /// The same because of a failure, which join() throws.
  void request_stop(std::exception_ptr failure) { stop(std::move(failure)); }

  /// Waits until somebody requests a stop. False if nobody has when the time is over.
  template <class Rep, class Period>
  bool wait_for_stop(std::chrono::duration<Rep, Period> time) {
    std::unique_lock lock(mutex_);
    return stopped_.wait_for(lock, time, [this] { return should_stop(); });
  }

  /// Calls f() in a thread of its own.
  void start(std::function<void()> f) {
    const std::lock_guard lock(mutex_);
    threads_.emplace_back([this, f = std::move(f)] {
      try {
        f();
      } catch (const OutOfRange&) {
        request_stop();
      } catch (...) {
        request_stop(std::current_exception());
      }
    });
  }
  /// Calls f() once, when a stop is requested; at once if it has been. It may wake threads that
  /// wait, by closing what they wait for. It must not throw.
  void on_stop(std::function<void()> f) {
    {
      const std::lock_guard lock(mutex_);
      if (!should_stop()) {
        on_stop_.push_back(std::move(f));
        return;
      }
    }
    f();
  }

  /// Waits for all threads to end; those may start further ones meanwhile. Throws their first
  /// failure, once.
  void join() {
    wait();
    std::unique_lock lock(mutex_);
    if (const std::exception_ptr failure = std::exchange(failure_, nullptr)) {
      lock.unlock();
      std::rethrow_exception(failure);
    }
  }

 private:
  void stop(std::exception_ptr failure) {
    std::vector<std::function<void()>> calls;
    {
      const std::lock_guard lock(mutex_);
      if (failure_ == nullptr) failure_ = std::move(failure);
      stop_ = true;
      calls.swap(on_stop_);
    }
    stopped_.notify_all();
    for (const auto& call : calls) call();
  }
  void wait() {
    for (;;) {
      std::thread next;
      {
        const std::lock_guard lock(mutex_);
        if (threads_.empty()) return;
        next = std::move(threads_.back());
        threads_.pop_back();
      }
      next.join();
    }
  }

  mutable std::mutex mutex_;
  std::condition_variable stopped_;
  std::atomic<bool> stop_{false};
  std::exception_ptr failure_;
  std::vector<std::function<void()>> on_stop_;
  std::vector<std::thread> threads_;
};

/// Threads that fill a queue: each calls enqueue() again and again, until the coordinator says
/// stop, or enqueue() throws OutOfRange (its data has come to its end) or Cancelled (the queue is
/// closed). The last of them closes the queue, and does not stop the other threads: they have
/// elements left. Any other exception of enqueue() stops all.
///
///   tf::QueueRunner runner(queue, 16, [&] { session.run<"enqueue">(); });
///   runner.start(coordinator);
class QueueRunner {
 public:
  /// `queue` (a Queue or a Barrier) must live as long as the coordinator.
  template <class Q>
  QueueRunner(Q& queue, int threads, std::function<void()> enqueue)
      : shared_(std::make_shared<Shared>()) {
    if (threads < 1) throw Error("QueueRunner", "at least 1 thread", std::to_string(threads));
    shared_->threads = threads;
    shared_->enqueue = std::move(enqueue);
    shared_->close = [&queue](CloseOptions options) { queue.close(options); };
  }

  /// Starts the threads. A stop closes the queue and cancels the enqueues that wait. Error if the
  /// threads are at work.
  void start(Coordinator& coordinator) {
    if (shared_->running.exchange(shared_->threads) != 0) {
      throw Error("QueueRunner::start", "no threads at work", "a second call");
    }
    coordinator.on_stop([shared = shared_] { shared->close({.cancel_pending_enqueues = true}); });
    for (int i = 0; i < shared_->threads; ++i) {
      coordinator.start([shared = shared_, &coordinator] { fill(*shared, coordinator); });
    }
  }

 private:
  struct Shared {
    int threads = 0;
    std::function<void()> enqueue;
    std::function<void(CloseOptions)> close;
    std::atomic<int> running{0};
  };

  static void fill(Shared& shared, Coordinator& coordinator) {
    try {
      while (!coordinator.should_stop()) shared.enqueue();
    } catch (const OutOfRange&) {
    } catch (const Cancelled&) {
    } catch (...) {
      coordinator.request_stop(std::current_exception());
    }
    if (shared.running.fetch_sub(1) == 1) shared.close({});
  }

  std::shared_ptr<Shared> shared_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
