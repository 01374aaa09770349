// SPDX-License-Identifier: Apache-2.0

#include "queues.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/host_tensors.hpp"
#include "support/machines.hpp"
#include "typeflow/control_flow.hpp"
#include "typeflow/interpret/program.hpp"
#include "typeflow/queues.hpp"
#include "typeflow/strings.hpp"
#include "typeflow/typeflow.hpp"

namespace fuzz {

namespace {

namespace tf = typeflow;
using test::Random;
using Number = tf::Expr<std::int64_t>;
using Elements = std::vector<std::int64_t>;

// Elements are numbers: that of their queue, and what they carry.

constexpr std::int64_t modulus = 1009;
constexpr std::int64_t queue_unit = 2048;
constexpr int max_queues = 16;

enum class Act {
  put,
  put_two,
  take,
  take_two,
  take_up_to,
  take_or_end,
  close,
  gather,
  forward,
  loop,
  branch
};

struct Op {
  Act act;
  int queue = 0;
  int number = 0;           ///< that the operation adds; of a loop the trip count
  int to = 0;               ///< forward: the queue into which the element goes
  std::list<Op> body = {};  ///< of a loop, or a branch for an even state
  std::list<Op> other = {};
};

/// Mixes an element into the state of a process.
constexpr std::int64_t mix(std::int64_t state, std::int64_t element, int number) {
  return (state * 3 + element + number) % modulus;
}
constexpr std::int64_t carried(std::int64_t state, int number) {
  return (state + number) % modulus;
}

// Queues, by kind.

template <std::int64_t Capacity>
using Channel = tf::Queue<tf::Fifo{Capacity}, tf::Item<std::int64_t>>;
using Shuffled = tf::Queue<tf::Shuffle{.capacity = 4, .seed = 3}, tf::Item<std::int64_t>>;
using ByPriority = tf::Queue<tf::Priority{4}, tf::Item<std::int64_t>>;
/// Elements as decimal texts of 18 bytes: text_unit more than the number.
using Texts = tf::Queue<tf::Fifo{4}, tf::Item<std::string_view>>;
constexpr std::int64_t text_unit = 100'000'000'000'000'000;
template <class Q>
constexpr bool has_texts = std::is_same_v<Q, Texts>;

enum class QueueKind { one, two, four, shuffled, by_priority, texts };

constexpr std::int64_t capacity_of(QueueKind kind) {
  return kind == QueueKind::one ? 1 : kind == QueueKind::two ? 2 : 4;
}
template <class F>
auto with_kind(QueueKind kind, const F& f) {
  switch (kind) {
    case QueueKind::one:
      return f(static_cast<Channel<1>*>(nullptr));
    case QueueKind::two:
      return f(static_cast<Channel<2>*>(nullptr));
    case QueueKind::shuffled:
      return f(static_cast<Shuffled*>(nullptr));
    case QueueKind::by_priority:
      return f(static_cast<ByPriority*>(nullptr));
    case QueueKind::texts:
      return f(static_cast<Texts*>(nullptr));
    default:
      return f(static_cast<Channel<4>*>(nullptr));
  }
}

struct QueueOf {
  QueueKind kind;
  int from = 0;  ///< of a channel
  int to = 0;
  bool shared = false;
  bool closed = false;  ///< a process closes it
};

struct Network {
  std::vector<QueueOf> queues;
  std::deque<std::list<Op>> processes;
  int sinks = 0;  ///< the last processes
  int first_sink() const { return static_cast<int>(processes.size()) - sinks; }
};

/// Runs a network in plain C++: one operation of any process after the other.
class Simulation {
 public:
  explicit Simulation(const Network& network, bool bounded = true)
      : network_(network), bounded_(bounded) {
    for (std::size_t p = 0; p < network.processes.size(); ++p) add_process();
    queues.resize(max_queues);
  }
  void add_process() {
    const int p = static_cast<int>(states.size());
    states.push_back(p * 7 + 1);
    frames_.emplace_back();
    begun_.push_back(network_.processes[static_cast<std::size_t>(p)].begin());
  }

  struct Queue {
    std::deque<std::int64_t> contents;
    Elements puts;
    Elements takes;
    bool closed = false;
  };
  std::vector<Queue> queues;
  std::vector<std::int64_t> states;
  long operations = 0;  ///< that are done

  /// Does one operation. Returns false if the process has to wait or is at its end.
  bool step(int p, std::list<Op>* trace = nullptr) {
    auto& frames = frames_[index(p)];
    for (;;) {
      if (frames.empty()) {
        if (at_end(p)) return false;
        const Op& op = *begun_[index(p)];
        if (enter(p, op)) continue;
        if (!perform(p, op)) return false;
        if (trace != nullptr) trace->clear();
        next(p);
        return true;
      }
      Frame& frame = frames.back();
      if (frame.at == frame.ops->end()) {
        if (--frame.times > 0) {
          frame.at = frame.ops->begin();
          continue;
        }
        frames.pop_back();
        if (frames.empty()) {
          if (trace != nullptr) trace->clear();
          next(p);
        } else {
          ++frames.back().at;
        }
        continue;
      }
      const Op& op = *frame.at;
      if (enter(p, op)) continue;
      if (!perform(p, op)) return false;
      if (trace != nullptr) trace->push_back(op);
      ++frames_[index(p)].back().at;
      return true;
    }
  }
  /// Whether a process has come to its end.
  bool at_end(int p) const {
    return frames_[index(p)].empty() && begun_[index(p)] == network_.processes[index(p)].end();
  }
  /// Runs until no process can go on. Returns whether all are at their ends.
  bool run() {
    for (bool went_on = true; went_on;) {
      went_on = false;
      for (int p = 0; p < static_cast<int>(states.size()); ++p) {
        while (step(p)) went_on = true;
      }
    }
    for (int p = 0; p < static_cast<int>(states.size()); ++p) {
      if (!at_end(p)) return false;
    }
    return true;
  }
  /// The top-level operation at which a process waits.
  std::list<Op>::const_iterator position(int p) const { return begun_[index(p)]; }
  /// The process was at its end, and has got a further operation.
  void continue_with_last(int p) {
    begun_[index(p)] = std::prev(network_.processes[index(p)].end());
  }

 private:
  struct Frame {
    const std::list<Op>* ops;
    std::list<Op>::const_iterator at;
    int times;
  };
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  void next(int p) { ++begun_[index(p)]; }
  bool enter(int p, const Op& op) {
    if (op.act == Act::loop) {
      const auto first = op.number > 0 ? op.body.begin() : op.body.end();
      frames_[index(p)].push_back({&op.body, first, op.number});
      return true;
    }
    if (op.act == Act::branch) {
      const auto& arm = states[index(p)] % 2 == 0 ? op.body : op.other;
      frames_[index(p)].push_back({&arm, arm.begin(), 1});
      return true;
    }
    return false;
  }
  bool has_room(int q, std::int64_t count) const {
    const QueueOf& of = network_.queues[index(q)];
    if (of.shared && !bounded_) return true;
    return static_cast<std::int64_t>(queues[index(q)].contents.size()) + count <=
           capacity_of(of.kind);
  }
  void put(int q, std::int64_t carries) {
    Queue& queue = queues[index(q)];
    queue.contents.push_back(q * queue_unit + carries);
    queue.puts.push_back(queue.contents.back());
  }
  std::int64_t take(int q) {
    Queue& queue = queues[index(q)];
    const std::int64_t element = queue.contents.front();
    queue.contents.pop_front();
    queue.takes.push_back(element);
    return element - q * queue_unit;
  }
  bool perform(int p, const Op& op) {
    std::int64_t& v = states[index(p)];
    Queue& queue = queues[index(op.queue)];
    const auto size = static_cast<std::int64_t>(queue.contents.size());
    switch (op.act) {
      case Act::put:
        if (!has_room(op.queue, 1)) return false;
        put(op.queue, carried(v, op.number));
        break;
      case Act::put_two:
        if (!has_room(op.queue, 2)) return false;
        put(op.queue, carried(v, op.number));
        put(op.queue, carried(v, op.number + 1));
        break;
      case Act::take:
        if (size < 1) return false;
        v = mix(v, take(op.queue), op.number);
        break;
      case Act::take_two: {
        if (size < 2) return false;
        const std::int64_t first = take(op.queue);
        v = mix(mix(v, first, op.number), take(op.queue), op.number);
        break;
      }
      case Act::take_up_to: {
        if (size < 3 && (!queue.closed || size == 0)) return false;
        const std::int64_t count = std::min<std::int64_t>(size, 3);
        std::int64_t sum = 0;
        for (std::int64_t i = 0; i < count; ++i) sum += take(op.queue) * (i + 1);
        v = mix(v, sum + count, op.number);
        break;
      }
      case Act::take_or_end:
        if (size < 1 && !queue.closed) return false;
        v = mix(v, size < 1 ? 0 : take(op.queue) + 1, op.number);
        break;
      case Act::close:
        queue.closed = true;
        break;
      case Act::gather:
        if (size < 1) return false;
        v += take(op.queue);
        break;
      case Act::forward:  // two steps
        if (size < 1 || !has_room(op.to, 1)) return false;
        put(op.to, carried(take(op.queue), op.number));
        ++operations;
        break;
      default:
        break;
    }
    ++operations;
    return true;
  }

  const Network& network_;
  const bool bounded_;
  std::vector<std::vector<Frame>> frames_;
  std::vector<std::list<Op>::const_iterator> begun_;
};

class Generator {
 public:
  Generator(std::uint64_t seed, bool closes)
      : random_(seed + 4242), closes_(closes), first_text_(seed % 3) {}

  /// If it may not `block`, processes end where they would wait for ever.
  Network make(bool block) {
    add_queues();
    Simulation simulation(network_, false);
    const int processes = static_cast<int>(network_.processes.size());
    std::vector<std::list<Op>> traces(network_.processes.size());
    const int attempts = 8 + random_.below(40);
    for (int i = 0; i < attempts; ++i) {
      const int p = random_.below(processes);
      if (simulation.at_end(p)) {
        std::list<Op>& ops = network_.processes[static_cast<std::size_t>(p)];
        if (!add_operation(ops, p, simulation, 0)) continue;
        simulation.continue_with_last(p);
      }
      for (int k = 0; k < processes; ++k) {
        const int next = (p + k) % processes;
        while (simulation.step(next, &traces[static_cast<std::size_t>(next)])) {
        }
      }
    }
    for (bool went_on = true; went_on;) {
      went_on = false;
      for (int p = 0; p < processes; ++p) {
        while (simulation.step(p, &traces[static_cast<std::size_t>(p)])) went_on = true;
      }
    }
    for (int p = 0; p < processes && !block; ++p) {
      if (simulation.at_end(p)) continue;
      std::list<Op>& ops = network_.processes[static_cast<std::size_t>(p)];
      ops.erase(simulation.position(p), ops.end());
      ops.splice(ops.end(), traces[static_cast<std::size_t>(p)]);
    }
    add_sinks(simulation);
    return std::move(network_);
  }

 private:
  void add_queues() {
    network_.processes.resize(static_cast<std::size_t>(2 + random_.below(4)));
    const int processes = static_cast<int>(network_.processes.size());
    const int channels = 1 + random_.below(6);
    for (int c = 0; c < channels; ++c) {
      const auto kind = static_cast<QueueKind>(random_.below(3));
      network_.queues.push_back({kind, random_.below(processes), random_.below(processes)});
    }
    const int shared = random_.below(3);
    for (int s = 0; s < shared; ++s) {
      const auto kind = static_cast<QueueKind>(2 + random_.below(3));
      network_.queues.push_back({.kind = kind, .shared = true});
    }
    // Rows behind the last element would be no texts of numbers.
    std::uint64_t number = first_text_;
    for (QueueOf& queue : network_.queues) {
      const bool fits = !closes_ && queue.kind == QueueKind::four;
      if (fits && ++number % 3 != 0) queue.kind = QueueKind::texts;
    }
  }

  /// An operation of the process on any queue. It is more often one that need not wait now.
  bool add_operation(std::list<Op>& ops, int p, const Simulation& simulation, int depth) {
    const int choice = random_.below(10);
    if (depth < 2 && choice == 0) {
      Op loop{.act = Act::loop, .number = random_.below(6)};
      add_operations(loop.body, 1 + random_.below(3), p, simulation, depth + 1);
      if (loop.body.empty()) return false;
      ops.push_back(std::move(loop));
      return true;
    }
    if (depth < 2 && choice == 1) {
      Op branch{.act = Act::branch};
      add_operations(branch.body, random_.below(3), p, simulation, depth + 1);
      add_operations(branch.other, 1 + random_.below(2), p, simulation, depth + 1);
      ops.push_back(std::move(branch));
      return true;
    }
    for (int attempt = 0; attempt < 8; ++attempt) {
      const int q = random_.below(static_cast<int>(network_.queues.size()));
      const bool any = depth > 0 || random_.chance(0.1);
      if (add_on_queue(ops, p, q, simulation, any, depth)) return true;
    }
    return false;
  }
  void add_operations(std::list<Op>& ops, int count, int p, const Simulation& simulation,
                      int depth) {
    for (int i = 0; i < count; ++i) add_operation(ops, p, simulation, depth);
  }
  bool add_on_queue(std::list<Op>& ops, int p, int q, const Simulation& simulation, bool any,
                    int depth) {
    QueueOf& of = network_.queues[static_cast<std::size_t>(q)];
    const auto& now = simulation.queues[static_cast<std::size_t>(q)];
    const auto size = static_cast<std::int64_t>(now.contents.size());
    const std::int64_t capacity = capacity_of(of.kind);
    const int number = random_.below(50);
    const auto add = [&](Act act) {
      ops.push_back({.act = act, .queue = q, .number = number});
      return true;
    };
    if ((of.shared || of.from == p) && (of.shared || of.to != p || random_.chance(0.5))) {
      if (of.closed) return false;
      if (closes_ && !of.shared && depth == 0 && of.to != p && simulation.at_end(of.to) &&
          random_.chance(0.1)) {
        of.closed = true;
        return add(Act::close);
      }
      const std::int64_t count = capacity > 1 && random_.chance(0.3) ? 2 : 1;
      if (!of.shared && !any && size + count > capacity) return false;
      return add(count == 1 ? Act::put : Act::put_two);
    }
    if (of.shared || of.to != p) return false;
    const int choice = random_.below(5);
    if (choice == 0 && capacity > 1 && (any || size > 1)) return add(Act::take_two);
    if (choice == 1 && closes_ && capacity > 2 && (any || size > 2 || (of.closed && size > 0))) {
      return add(Act::take_up_to);
    }
    if (choice == 2 && closes_ && (any || size > 0 || of.closed)) return add(Act::take_or_end);
    return (any || size > 0) && add(Act::take);
  }

  void add_sinks(const Simulation& simulation) {
    std::int64_t forwarded = 0;
    const int queues = static_cast<int>(network_.queues.size());
    for (int q = 0; q < queues; ++q) {
      if (!network_.queues[static_cast<std::size_t>(q)].shared) continue;
      const auto puts = simulation.queues[static_cast<std::size_t>(q)].puts.size();
      std::int64_t left = static_cast<std::int64_t>(puts) + std::exchange(forwarded, 0);
      const bool forwards = q + 1 < queues && random_.chance(0.5);
      if (forwards) forwarded = left;
      const int number = random_.below(50);
      while (left > 0) {
        const std::int64_t count = random_.chance(0.4) ? left : 1 + random_.below(4);
        add_sink(q, static_cast<int>(std::min(count, left)), forwards, number);
        left -= std::min(count, left);
      }
    }
  }
  void add_sink(int q, int count, bool forwards, int number) {
    const Op op{
        .act = forwards ? Act::forward : Act::gather, .queue = q, .number = number, .to = q + 1};
    std::list<Op>& ops = network_.processes.emplace_back();
    ++network_.sinks;
    if (random_.chance(0.5)) {
      ops.push_back({.act = Act::loop, .number = count, .body = {op}});
    } else {
      ops.assign(static_cast<std::size_t>(count), op);
    }
  }

  Random random_;
  const bool closes_;
  const std::uint64_t first_text_;
  Network network_;
};

// The network as a graph.

class Tracer {
 public:
  Tracer(tf::Graph& graph, const Network& network) : graph_(graph), network_(network) {}

  void run() {
    for (int q = 0; q < static_cast<int>(network_.queues.size()); ++q) {
      with_kind(network_.queues[static_cast<std::size_t>(q)].kind, [&]<class Q>(Q*) {
        handles_[static_cast<std::size_t>(q)] = tf::queue<Q>(graph_, {"q", q}).id();
      });
    }
    int p = 0;
    for (const std::list<Op>& ops : network_.processes) {
      const Number start = tf::constant<std::int64_t>(graph_, p * 7 + 1);
      // The first dequeue of a process depends on nothing.
      State state{start};
      run_all(ops, state);
      (state.value + 0).named({"p", p++});
    }
  }

 private:
  struct State {
    Number value;
    tf::Id last = tf::none;  ///< a value of the operation after which the next one comes
    bool iterates = false;   ///< the next operation must come after the iteration before
  };

  void run_all(const std::list<Op>& ops, State& state) {
    for (const Op& op : ops) run(op, state);
  }
  /// The function of a region.
  Number region(const std::list<Op>& ops, const Number& value, bool iterates) {
    State state{value, tf::none, iterates};
    run_all(ops, state);
    return state.value;
  }
  void run(const Op& op, State& state) {
    if (op.act == Act::loop) {
      state.value = tf::fori_loop(
          0, op.number, [&](auto, const Number& v) { return region(op.body, v, true); },
          ordered(state));
      return after_control(state);
    }
    if (op.act == Act::branch) {
      const Number value = ordered(state);
      state.value = tf::cond(
          tf::equal(tf::mod(value, 2), 0), [&] { return region(op.body, value, false); },
          [&] { return region(op.other, value, false); });
      return after_control(state);
    }
    with_kind(network_.queues[static_cast<std::size_t>(op.queue)].kind, [&]<class Q>(Q*) {
      const auto queue = declare<Q>(op.queue);
      const bool is_put = op.act == Act::put || op.act == Act::put_two || op.act == Act::close;
      if (!is_put && state.iterates && state.last == tf::none) {
        // Only a branch lets a dequeue come after the state's value.
        state.value = tf::cond(
            tf::greater_equal(state.value, 0),
            [&] {
              State inner{state.value};
              run_on(op, queue, inner);
              return inner.value;
            },
            [&] { return state.value; });
        return after_control(state);
      }
      run_on(op, queue, state);
    });
  }

  template <class Q>
  void run_on(const Op& op, const tf::Resource<Q>& queue, State& state) {
    const auto first = [&](const auto& x) {
      if constexpr (tf::TypedExpr<std::remove_cvref_t<decltype(x)>>) {
        return chain(state, x.id());
      } else {
        return chain(state, std::get<0>(x).id());
      }
    };
    const auto mixed = [&](const Number& v, const Number& x) {
      return tf::mod(v * 3 + (x + op.number), modulus);
    };
    const auto carried_by = [&](const Number& v, int number) {
      return tf::mod(v + number, modulus) + op.queue * queue_unit;
    };
    const std::int64_t base = op.queue * queue_unit;
    switch (op.act) {
      case Act::put:
        return put(state, enqueue_element(queue, carried_by(state.value, op.number)));
      case Act::put_two:
        if constexpr (Q::capacity > 1) {
          put(state, enqueue_two(queue, tf::stack<0>(carried_by(state.value, op.number),
                                                     carried_by(state.value, op.number + 1))));
        }
        return;
      case Act::close:
        return put(state, tf::close(queue));
      case Act::take: {
        const auto element = tf::dequeue(queue);
        first(element);
        state.value = mixed(state.value, value_of<Q>(element) - base);
        return;
      }
      case Act::take_two:
        if constexpr (Q::capacity > 1) {
          const auto elements = tf::dequeue_many<2>(queue);
          first(elements);
          const auto [a, b] = tf::unstack<0>(value_of<Q>(elements) - base);
          state.value = mixed(mixed(state.value, a), b);
        }
        return;
      case Act::take_up_to:
        if constexpr (Q::most_at_once > 2 && Q::item_count == 1 && !has_texts<Q>) {
          const auto [elements, count] = tf::dequeue_up_to<3>(queue);
          chain(state, elements.id());
          const auto [a, b, c] = tf::unstack<0>(elements);
          const Number one = tf::constant<std::int64_t>(graph_, 1);
          const Number none = tf::constant<std::int64_t>(graph_, 0);
          const auto part = [&](const Number& x, int i) {
            return tf::where(tf::greater(count, i), (x - base) * (i + 1), none);
          };
          state.value = mixed(state.value, part(a, 0) + part(b, 1) + part(c, 2) + count * one);
        }
        return;
      case Act::take_or_end:
        if constexpr (Q::item_count == 1 && !has_texts<Q>) {
          const auto [element, more] = tf::dequeue_or_end(queue);
          chain(state, element.id());
          const Number none = tf::constant<std::int64_t>(graph_, 0);
          state.value = mixed(state.value, tf::where(more, element - base + 1, none));
        }
        return;
      case Act::gather: {
        const auto element = tf::dequeue(queue);
        first(element);
        state.value = state.value + (value_of<Q>(element) - base);
        return;
      }
      case Act::forward: {
        const auto element = tf::dequeue(queue);
        first(element);
        const Number carries = tf::mod(value_of<Q>(element) - base + op.number, modulus);
        with_kind(network_.queues[static_cast<std::size_t>(op.to)].kind, [&]<class R>(R*) {
          put(state, enqueue_element(declare<R>(op.to), carries + op.to * queue_unit));
        });
        return;
      }
      default:
        return;
    }
  }

  template <class Q>
  tf::Resource<Q> declare(int number) {
    return {graph_, handles_[static_cast<std::size_t>(number)]};
  }
  template <class Q>
  tf::Effect enqueue_element(const tf::Resource<Q>& queue, const Number& x) {
    if constexpr (Q::item_count == 2) {
      return tf::enqueue(queue, tf::mod(x, 3), x);
    } else if constexpr (has_texts<Q>) {
      return tf::enqueue(queue, tf::as_string(x + text_unit));
    } else {
      return tf::enqueue(queue, x);
    }
  }
  template <class Q, class X>
  tf::Effect enqueue_two(const tf::Resource<Q>& queue, const X& x) {
    if constexpr (Q::item_count == 2) {
      return tf::enqueue_many(queue, tf::mod(x, 3), x);
    } else if constexpr (has_texts<Q>) {
      return tf::enqueue_many(queue, tf::as_string(x + text_unit));
    } else {
      return tf::enqueue_many(queue, x);
    }
  }
  template <class Q, class X>
  static auto value_of(const X& element) {
    if constexpr (Q::item_count == 2) {
      return std::get<1>(element);
    } else if constexpr (has_texts<Q>) {
      return tf::string_to_number<std::int64_t>(element) - text_unit;
    } else {
      return element;
    }
  }

  /// The operation that computes x comes next.
  void chain(State& state, tf::Id x) {
    tf::ir::Graph& records = graph_;
    if (state.last != tf::none) tf::detail::add_controls(records, x, &state.last, 1);
    state.last = x;
  }
  void put(State& state, const tf::Effect& effect) {
    chain(state, effect.token());
    state.value = tf::after(effect, state.value);
  }
  /// The state's value, after the last operation.
  Number ordered(const State& state) {
    if (state.last == tf::none) return state.value;
    return tf::after(tf::Effect(graph_, state.last), state.value);
  }
  void after_control(State& state) {
    const tf::ir::Graph& records = graph_;
    const tf::ir::Node& node = records.node_of(state.value.id());
    if (tf::is<tf::ops::Result>(*node.op)) state.last = records.input(node, 0);  // its token
  }

  tf::Graph& graph_;
  const Network& network_;
  std::vector<tf::Id> handles_ = std::vector<tf::Id>(max_queues, tf::none);
};

// Kernels of queues, which the interpreter of kernels does not have.

/// What happened to a queue: from one side of a channel, one operation after the other.
struct Side {
  std::mutex mutex;
  Elements elements;
};

/// The present run. Its atomics are relaxed, so that they order nothing.
struct Watch {
  enum Kind { nothing, error_before, error_after, no_memory, stop, stop_outside };
  struct Queue {
    std::atomic<tf::detail::QueueCore*> core{nullptr};
    std::atomic<int> items{0};  ///< 0: one of texts
  };

  std::array<Side, max_queues> puts;
  std::array<Side, max_queues> takes;
  std::array<Queue, 4096> queues;  ///< by step
  std::atomic<long> done{0};       ///< operations
  std::atomic<long> calls{0};      ///< of kernels
  std::atomic<bool> met{false};
  long at = -1;
  Kind kind = nothing;
  std::stop_source* source = nullptr;

  void begin() {
    for (Side& side : puts) side.elements.clear();
    for (Side& side : takes) side.elements.clear();
    done = calls = 0;
    met = false;
  }
  void note(std::array<Side, max_queues>& sides, const std::int64_t* elements, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      Side& side = sides[static_cast<std::size_t>(elements[i] / queue_unit)];
      const std::lock_guard lock(side.mutex);
      side.elements.push_back(elements[i]);
    }
    done.fetch_add(1, std::memory_order_relaxed);
  }
  std::map<tf::detail::QueueCore*, int> all_queues() const {
    std::map<tf::detail::QueueCore*, int> all;
    for (const Queue& queue : queues) {
      if (auto* core = queue.core.load(std::memory_order_relaxed)) {
        all[core] = queue.items.load(std::memory_order_relaxed);
      }
    }
    return all;
  }
} watch;

/// The number that a text stands for.
std::int64_t number_of(std::string_view text) { return std::stoll(std::string(text)) - text_unit; }

/// The operands of a kernel, inputs first.
std::vector<tf::cpu_kernels::Tensor> operands_of(const tf::KernelCall& call) {
  const auto& spec = *static_cast<const tf::ir::KernelSpec*>(call.description);
  std::vector<tf::cpu_kernels::Tensor> tensors;
  const std::int64_t* extents = call.extents;
  for (int i = 0; i < spec.inputs + spec.stores; ++i) {
    const int rank = tf::ir::tensor_rank(spec, i);
    tensors.push_back({call.operands[i],
                       tf::ir::tensor_dtype(spec, i),
                       {extents, static_cast<std::size_t>(rank)}});
    extents += rank;
  }
  return tensors;
}

template <class Q>
struct QueueOperations {
  template <class O, class F>
  static void call(const tf::KernelCall& call, const F& note) {
    const auto& spec = *static_cast<const tf::ir::KernelSpec*>(call.description);
    const std::vector<tf::cpu_kernels::Tensor> tensors = operands_of(call);
    const tf::cpu_kernels::Tensor* const out = tensors.data() + spec.inputs;
    auto* const queue = static_cast<Q*>(out[0].data);
    auto& seen = watch.queues[static_cast<std::size_t>(call.step) % watch.queues.size()];
    const int items = has_texts<Q> ? 0 : static_cast<int>(Q::item_count);
    seen.items.store(items, std::memory_order_relaxed);
    seen.core.store(queue, std::memory_order_relaxed);
    O::compute(tf::decode<O>(call.words), *queue, tensors.data(), out + 1, call);
    if (call.failure == nullptr || call.failure->what != tf::Failure::must_wait) {
      note(tensors.data(), out + 1);
    }
  }
  using Tensor = tf::cpu_kernels::Tensor;
  static const std::int64_t* numbers(const Tensor& tensor) {
    return static_cast<const std::int64_t*>(tensor.data);
  }
  static void note(std::array<Side, max_queues>& sides, const Tensor& elements,
                   std::int64_t count) {
    if constexpr (has_texts<Q>) {
      const auto* const texts = static_cast<const std::string_view*>(elements.data);
      Elements all;
      for (std::int64_t i = 0; i < count; ++i) all.push_back(number_of(texts[i]));
      watch.note(sides, all.data(), count);
    } else {
      watch.note(sides, numbers(elements), count);
    }
  }

  template <bool Many>
  static void enqueue(const tf::KernelCall& of) {
    call<tf::ops::Enqueue<Q, Many>>(of, [](const Tensor* in, const Tensor*) {
      const Tensor& elements = in[Q::item_count - 1];
      note(watch.puts, elements, Many ? elements.extents[0] : 1);
    });
  }
  template <tf::detail::Taking How, std::int64_t N>
  static void dequeue(const tf::KernelCall& of) {
    call<tf::ops::Dequeue<Q, How, N>>(of, [](const Tensor*, const Tensor* out) {
      std::int64_t count = N;
      if (How == tf::detail::Taking::up_to) count = *numbers(out[Q::item_count]);
      if (How == tf::detail::Taking::one_or_none) {
        count = *static_cast<const bool*>(out[Q::item_count].data) ? 1 : 0;
      }
      note(watch.takes, out[Q::item_count - 1], count);
    });
  }
  static void close(const tf::KernelCall& of) {
    call<tf::ops::Close<Q>>(of, [](const Tensor*, const Tensor*) {
      watch.done.fetch_add(1, std::memory_order_relaxed);
    });
  }

  template <class Table>
  static void add_to(Table& table) {
    using tf::detail::Taking;
    table[tf::ops::Enqueue<Q, false>::name] = &enqueue<false>;
    table[tf::ops::Enqueue<Q, true>::name] = &enqueue<true>;
    table[tf::ops::Dequeue<Q, Taking::one, 1>::name] = &dequeue<Taking::one, 1>;
    table[tf::ops::Dequeue<Q, Taking::many, 2>::name] = &dequeue<Taking::many, 2>;
    table[tf::ops::Dequeue<Q, Taking::up_to, 3>::name] = &dequeue<Taking::up_to, 3>;
    table[tf::ops::Dequeue<Q, Taking::one_or_none, 1>::name] = &dequeue<Taking::one_or_none, 1>;
    table[tf::ops::Close<Q>::name] = &close;
  }
};

/// The kernels of texts that the interpreter of kernels does not have.
struct TextOperations {
  static void write(const tf::KernelCall& call) {
    const auto tensors = operands_of(call);
    tf::cpu_kernels::kernel_of<tf::ops::AsString>::run<void, std::int64_t>({}, tensors.data(),
                                                                           &tensors[1], call);
  }
  static void read(const tf::KernelCall& call) {
    const auto tensors = operands_of(call);
    tf::cpu_kernels::kernel_of<tf::ops::StringToNumber>::run<void>({}, tensors.data(), &tensors[1],
                                                                   call);
  }
  template <class Table>
  static void add_to(Table& table) {
    table[tf::ops::AsString::name] = &write;
    table[tf::ops::StringToNumber::name] = &read;
  }
};

void run_queue_kernel(const tf::KernelCall& call) {
  using Run = void (*)(const tf::KernelCall&);
  static const std::map<std::string_view, Run> table = [] {
    std::map<std::string_view, Run> all;
    QueueOperations<Channel<1>>::add_to(all);
    QueueOperations<Channel<2>>::add_to(all);
    QueueOperations<Channel<4>>::add_to(all);
    QueueOperations<Shuffled>::add_to(all);
    QueueOperations<ByPriority>::add_to(all);
    QueueOperations<Texts>::add_to(all);
    TextOperations::add_to(all);
    return all;
  }();
  const bool now = watch.calls.fetch_add(1, std::memory_order_relaxed) == watch.at;
  if (now) {
    watch.met = true;
    if (watch.kind == Watch::stop) watch.source->request_stop();
    if (watch.kind == Watch::error_before) throw tf::Error("injected");
    if (watch.kind == Watch::no_memory) throw std::bad_alloc();
  }
  const auto& spec = *static_cast<const tf::ir::KernelSpec*>(call.description);
  const auto found = spec.op == nullptr ? table.end() : table.find(spec.op->name);
  if (found != table.end()) {
    found->second(call);
  } else {
    test::run_on_machine(call);
  }
  if (now && watch.kind == Watch::error_after) throw tf::Error("injected");
}

// Checks.

/// The elements of all queues, which are then empty. Those that waited are not among them.
std::array<Elements, max_queues> drained() {
  std::array<Elements, max_queues> all;
  for (const auto& [core, items] : watch.all_queues()) {
    std::int64_t priority = 0;
    std::int64_t element = 0;
    std::string_view text;
    tf::Characters characters;
    tf::detail::ItemTarget targets[3] = {
        {&priority, nullptr}, {&element, nullptr}, {&text, nullptr}};
    const tf::detail::ItemTarget* const target = &targets[items == 2 ? 0 : items == 1 ? 1 : 2];
    while (core->try_dequeue(target, 1, 1, characters) == 1) {
      if (items == 0) element = number_of(text);
      all[static_cast<std::size_t>(element / queue_unit)].push_back(element);
    }
  }
  return all;
}
std::string text_of(const Elements& elements) {
  std::string text = "[";
  for (const std::int64_t x : elements) text += ' ' + std::to_string(x % queue_unit);
  return text + " ]";
}
Elements sorted(Elements elements) {
  std::sort(elements.begin(), elements.end());
  return elements;
}
bool begins_with(const Elements& all, const Elements& first) {
  return first.size() <= all.size() && std::equal(first.begin(), first.end(), all.begin());
}

constexpr std::string_view too_many_groups = "such groups on all devices";

class Checked {
 public:
  Checked(std::uint64_t seed, bool closes, bool blocks)
      : network(Generator(seed, closes).make(blocks)) {
    for (Watch::Queue& queue : watch.queues) queue.core = nullptr;
    tf::Graph graph;
    Tracer(graph, network).run();
    const int devices = 1 + static_cast<int>(seed % 4);
    machine_ = std::make_unique<test::Machine>(devices, 0u, seed, seed / 4 % 2 == 1);
    graph_ = std::make_unique<tf::ir::Graph>(test::pinned(graph, devices, seed));
    tf::ir::FusionLimits limits;
    limits.run = 1;
    limits.row = 1;
    limits.part = 1;
    limits.joined = 1;
    if (seed % 3 == 0) limits.members = 3;
    program_ = std::make_unique<tf::ir::ProgramInterpreter>(
        *graph_, 1, limits, machine_->interpreted(&run_queue_kernel));
    for (std::size_t p = 0; p < network.processes.size(); ++p) {
      fetches_.push_back("p_" + std::to_string(p));
    }
  }

  const Network network;
  using Over = std::function<bool()>;
  using Beside = std::function<void(std::stop_source&, const Over& over)>;

  /// A run; its error, or an empty text. `beside` runs in another thread meanwhile.
  std::string run(Watch::Kind kind, long at, const Beside& beside) {
    std::stop_source source;
    program_->stop = source.get_token();
    watch.begin();
    watch.kind = kind;
    watch.at = at;
    watch.source = &source;
    std::atomic<bool> ended{false};
    std::jthread guard([&] {  // ends a run that hangs
      const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      const Over over = [&] { return ended || std::chrono::steady_clock::now() > last; };
      if (beside) beside(source, over);
      while (!over()) std::this_thread::sleep_for(std::chrono::microseconds(100));
      if (!ended) hung_ = true;
      if (!ended) source.request_stop();
    });
    std::string error;
    try {
      results_ = program_->run(fetches_);
    } catch (const tf::Error& found) {
      error = found.what();
    }
    ended = true;
    guard.join();
    program_->stop = {};
    if (error.find(too_many_groups) != error.npos) throw tf::Error(error);
    watch.at = -1;
    return hung_ ? "hangs: " + error : error;
  }
  std::string run() { return run(Watch::nothing, -1, {}); }

  /// Compares a run without errors.
  std::string difference(const Simulation& meant) const {
    std::int64_t gathered = 0;
    std::int64_t meant_gathered = 0;
    for (std::size_t p = 0; p < results_.size(); ++p) {
      const std::int64_t got = static_cast<std::int64_t>(results_[p].value(0));
      if (static_cast<int>(p) >= network.first_sink()) {
        gathered += got;
        meant_gathered += meant.states[p];
      } else if (got != meant.states[p]) {
        return "process " + std::to_string(p) + " is " + std::to_string(got) + " instead of " +
               std::to_string(meant.states[p]);
      }
    }
    if (gathered != meant_gathered) {
      return "sinks gather " + std::to_string(gathered) + " instead of " +
             std::to_string(meant_gathered);
    }
    return {};
  }
  /// Compares what happened to queues, which it empties: all of what is meant, or a part of it.
  std::string difference_of_queues(const Simulation& meant, bool all) const {
    const auto contents = drained();
    for (std::size_t q = 0; q < network.queues.size(); ++q) {
      const Simulation::Queue& queue = meant.queues[q];
      const bool shared = network.queues[q].shared;
      const Elements& puts = watch.puts[q].elements;
      const Elements& takes = watch.takes[q].elements;
      Elements moved = takes;
      moved.insert(moved.end(), contents[q].begin(), contents[q].end());
      const auto same = [&](const Elements& a, const Elements& b) {
        return shared ? sorted(a) == sorted(b) : a == b;
      };
      const bool kept = same(moved, puts);
      const bool right = all ? same(puts, queue.puts) && same(takes, queue.takes)
                             : shared || begins_with(queue.puts, puts);
      if (kept && right) continue;
      return "queue " + std::to_string(q) + (kept ? "" : " has lost or doubled elements") +
             ": put " + text_of(puts) + ", taken " + text_of(takes) + ", left " +
             text_of(contents[q]) + "; meant " + text_of(queue.puts) + " and " +
             text_of(queue.takes);
    }
    return {};
  }
  /// The same, and whether each operation was done once.
  std::string difference_of_all(const Simulation& meant) const {
    const std::string wrong = difference_of_queues(meant, true);
    if (!wrong.empty() || watch.done == meant.operations) return wrong;
    return std::to_string(watch.done) + " operations instead of " +
           std::to_string(meant.operations);
  }

 private:
  std::unique_ptr<test::Machine> machine_;
  std::unique_ptr<tf::ir::Graph> graph_;
  std::unique_ptr<tf::ir::ProgramInterpreter> program_;
  std::vector<std::string> fetches_;
  std::vector<tf::HostTensor> results_;
  std::atomic<bool> hung_{false};
};

void print(std::string& to, const std::list<Op>& ops, const std::string& indent) {
  constexpr const char* names[] = {"put",        "put_two",     "take",  "take_two",
                                   "take_up_to", "take_or_end", "close", "gather",
                                   "forward",    "loop",        "branch"};
  for (const Op& op : ops) {
    to += indent + names[static_cast<int>(op.act)] + ' ';
    if (op.act != Act::loop && op.act != Act::branch) to += "q" + std::to_string(op.queue) + ' ';
    if (op.act != Act::branch) to += std::to_string(op.number);
    to += '\n';
    print(to, op.body, indent + "  ");
    if (op.act != Act::branch) continue;
    to += indent + "else\n";
    print(to, op.other, indent + "  ");
  }
}

}  // namespace

/// What is wrong, unless the planner refuses a graph that has too many groups of steps that wait.
static std::string unless_refused(const tf::Error& error) {
  const std::string text = error.what();
  return text.find(too_many_groups) != text.npos ? std::string() : "error: " + text;
}

std::string check_queues(std::uint64_t seed) {
  try {
    const bool closes = seed % 2 == 1;
    Checked checked(seed, closes, false);
    for (int run = 0; run < (closes ? 1 : 2); ++run) {
      Simulation meant(checked.network);
      if (!meant.run()) return "the simulation waits for ever";
      const std::string error = checked.run();
      if (!error.empty()) return "run " + std::to_string(run) + ": " + error;
      std::string wrong = checked.difference_of_all(meant);
      if (wrong.empty()) wrong = checked.difference(meant);
      if (!wrong.empty()) return "run " + std::to_string(run) + ": " + wrong;
    }
    return {};
  } catch (const tf::Error& error) {
    return unless_refused(error);
  }
}

std::string check_queue_failures(std::uint64_t seed, int runs, int& checked) {
  try {
    Checked network(seed, false, false);
    Simulation meant(network.network);
    if (!meant.run()) return "the simulation waits for ever";
    const auto run_right = [&] {
      const std::string error = network.run();
      if (!error.empty()) return error;
      const std::string wrong = network.difference_of_all(meant);
      return wrong.empty() ? network.difference(meant) : wrong;
    };
    std::string wrong = run_right();
    if (!wrong.empty()) return wrong;
    const long calls = watch.calls;
    if (calls == 0) return {};
    Random random(seed + 55);
    for (int i = 0; i < runs; ++i) {
      const auto kind = static_cast<Watch::Kind>(1 + random.below(5));
      const long at = random.below(static_cast<int>(calls));
      const int spins = random.below(200000);
      const auto stop_soon = [&](std::stop_source& source, const Checked::Over&) {
        for (int k = 0; k < spins; ++k) std::atomic_signal_fence(std::memory_order_seq_cst);
        source.request_stop();
      };
      const bool outside = kind == Watch::stop_outside;
      const std::string error =
          outside ? network.run(kind, -1, stop_soon) : network.run(kind, at, {});
      const bool met = watch.met;
      checked += met || !error.empty();
      const std::string what = "kernel " + std::to_string(at) + " of " + std::to_string(calls) +
                               ", kind " + std::to_string(kind) + ": ";
      const char* const why = kind == Watch::no_memory ? "no memory for what its kernel needs"
                              : kind >= Watch::stop    ? "run: was cancelled"
                                                       : "injected";
      const bool may_pass = kind >= Watch::stop || !met;  // (attempts differ from run to run)
      if (error.find(why) == error.npos && !(error.empty() && may_pass)) {
        return what + "ended with: " + error;
      }
      wrong = network.difference_of_queues(meant, error.empty());
      if (wrong.empty()) wrong = run_right();
      if (!wrong.empty()) return what + wrong;
    }
    return {};
  } catch (const tf::Error& error) {
    return unless_refused(error);
  }
}

std::string check_queue_deadlock(std::uint64_t seed, int& blocked) {
  try {
    Checked network(seed, false, true);
    Simulation meant(network.network);
    if (meant.run()) return {};
    ++blocked;
    const bool closes = seed % 2 == 0;
    const auto end_it = [&](std::stop_source& source, const Checked::Over& over) {
      while (!over() && watch.done.load(std::memory_order_relaxed) < meant.operations) {
        std::this_thread::yield();
      }
      if (!closes) source.request_stop();
      while (closes && !over()) {
        for (const auto& [core, items] : watch.all_queues()) {
          core->close({.cancel_pending_enqueues = true});
        }
        std::this_thread::yield();
      }
    };
    const std::string error = network.run(Watch::nothing, -1, end_it);
    const bool right = closes ? error.find("is closed") != error.npos ||
                                    error.find("a closed queue with") != error.npos
                              : error.find("run: was cancelled") != error.npos;
    if (!right) return "a run that waits for ever ended with: " + error;
    return network.difference_of_all(meant);
  } catch (const tf::Error& error) {
    return unless_refused(error);
  }
}

std::string queues_text(std::uint64_t seed, bool closes, bool blocks) {
  const Network network = Generator(seed, closes).make(blocks);
  std::string text;
  for (std::size_t q = 0; q < network.queues.size(); ++q) {
    const QueueOf& of = network.queues[q];
    text += "q" + std::to_string(q) + ": capacity " + std::to_string(capacity_of(of.kind));
    text += of.shared ? ", shared\n"
                      : ", from process " + std::to_string(of.from) + " to " +
                            std::to_string(of.to) + '\n';
  }
  int p = 0;
  for (const std::list<Op>& ops : network.processes) {
    text += "process " + std::to_string(p++) + ":\n";
    print(text, ops, "  ");
  }
  return text;
}

}  // namespace fuzz
