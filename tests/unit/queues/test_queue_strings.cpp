// SPDX-License-Identifier: Apache-2.0

// Strings as items: whose bytes they are, beside plain containers of std::string.

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <new>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "support/message_of.hpp"
#include "typeflow/control_flow.hpp"
#include "typeflow/devices.hpp"
#include "typeflow/queues.hpp"
#include "typeflow/run_limits.hpp"
#include "typeflow/strings.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;
using namespace std::literals;

namespace {

using Text = tf::Item<std::string_view>;
using Texts = tf::Queue<tf::Fifo{.capacity = 4}, Text>;
using Pairs = tf::Queue<tf::Fifo{.capacity = 6}, tf::Item<std::int32_t>, Text>;
using Lines = tf::Queue<tf::Fifo{.capacity = 5}, tf::Item<std::string_view, tf::at_most(3)>, Text>;
using Pages =
    tf::Queue<tf::Fifo{.capacity = 5}, tf::Item<std::string_view, tf::at_most(2), tf::at_most(3)>>;
using Jobs = tf::Queue<tf::Priority{.capacity = 16}, Text>;
using Mixed = tf::Queue<tf::Shuffle{.capacity = 20, .min_after_dequeue = 5, .seed = 3}, Text,
                        tf::Item<std::int64_t>>;
using Joined = tf::Barrier<6, tf::Item<std::int32_t>, Text, tf::Item<std::string_view, 2>>;

/// A plain generator, so that the tests' choices are not the library's.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 2654435761u + 1) {}
  std::int64_t below(std::int64_t n) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::int64_t>((state_ >> 33) % static_cast<std::uint64_t>(n));
  }
  /// Up to 40 bytes of any value, often none.
  std::string text() {
    std::string out(static_cast<std::size_t>(std::max<std::int64_t>(below(60) - 20, 0)), ' ');
    for (char& c : out) c = static_cast<char>(below(256));
    return out;
  }

 private:
  std::uint64_t state_;
};

/// A text that no small string of std::string holds.
std::string long_text(std::int64_t i) {
  return "element number " + std::to_string(i) + " of a queue of strings";
}

}  // namespace

TEST_CASE("a queue of strings is a std::deque of std::string") {
  Random random(1);
  Pairs queue;
  std::deque<std::pair<std::int32_t, std::string>> expected;
  for (int i = 0; i < 3000; ++i) {
    if (random.below(2) == 0) {
      std::string text = random.text();
      const bool room = expected.size() < 6;
      REQUIRE(queue.try_push(i, text) == room);
      if (room) expected.emplace_back(i, text);
      std::fill(text.begin(), text.end(), '?');  // the queue has a copy
    } else {
      const std::optional<std::tuple<std::int32_t, std::string>> got = queue.try_pop();
      REQUIRE(got.has_value() == !expected.empty());
      if (!got) continue;
      CHECK(std::get<0>(*got) == expected.front().first);
      CHECK(std::get<1>(*got) == expected.front().second);
      expected.pop_front();
    }
  }
}

TEST_CASE("strings leave a queue by their priority, and those of one priority as they came") {
  Random random(2);
  Jobs queue;
  std::multimap<std::int64_t, std::string> expected;  // equal keys stay in order
  for (int i = 0; i < 2000; ++i) {
    if (random.below(2) == 0 && expected.size() < 16) {
      const std::int64_t priority = random.below(4);
      const std::string text = random.text();
      queue.push(priority, text);
      expected.emplace(priority, text);
    } else if (!expected.empty()) {
      const auto [priority, text] = queue.pop();
      CHECK(priority == expected.begin()->first);
      CHECK(text == expected.begin()->second);
      expected.erase(expected.begin());
    }
  }
}

TEST_CASE("a shuffling queue keeps each string with its element, and loses none") {
  Random random(3);
  Mixed queue;
  std::map<std::int64_t, std::string> inside;
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < 2000; ++i) {
    if (random.below(2) == 0 && inside.size() < 20) {
      const std::string text = random.text();
      queue.push(text, i);
      inside[i] = text;
    } else if (const auto got = queue.try_pop()) {
      const auto& [text, number] = *got;
      REQUIRE(inside.count(number) == 1);
      CHECK(text == inside[number]);
      inside.erase(number);
      order.push_back(number);
    }
  }
  CHECK_FALSE(std::is_sorted(order.begin(), order.end()));
  queue.close();
  while (const auto got = queue.pop_or_end()) {
    CHECK(std::get<0>(*got) == inside[std::get<1>(*got)]);
    inside.erase(std::get<1>(*got));
  }
  CHECK(inside.empty());
}

TEST_CASE("shorter rows of strings are padded with empty ones") {
  Lines queue;
  queue.push(std::vector<std::string>{"one", long_text(2)}, "a"sv);
  queue.push(std::vector<std::string_view>{}, std::string("b"));
  const std::string_view three[] = {"", "x", ""};
  queue.push(three, "");
  for (const auto& [words, name, length] :
       std::vector{std::tuple{std::vector<std::string>{"one", long_text(2), ""}, "a"s, 2},
                   {{"", "", ""}, "b", 0},
                   {{"", "x", ""}, "", 3}}) {
    const auto [got, last, lengths] = queue.pop();
    CHECK(std::vector<std::string>(got.begin(), got.end()) == words);
    CHECK(last == name);
    CHECK(lengths[0] == length);
  }

  Pages pages;
  tf::Array<std::string, 2> page({2, 2});
  page(0, 0) = "a";
  page(0, 1) = long_text(1);
  page(1, 0) = "";
  page(1, 1) = "d";
  pages.push(page);
  const auto [padded, extents] = pages.pop();
  CHECK(std::vector<std::string>(padded.begin(), padded.end()) ==
        std::vector<std::string>{"a", long_text(1), "", "", "d", ""});
  CHECK(extents[0] == 2);
  CHECK(extents[1] == 2);
}

TEST_CASE("the rest of a closed queue of strings is popped at once") {
  Lines queue;
  for (int i = 0; i < 4; ++i) {
    queue.push(std::vector<std::string>(static_cast<std::size_t>(i), long_text(i)), long_text(-i));
  }
  queue.close();
  const auto [words, names, lengths] = queue.pop_up_to(3);
  CHECK(words ==
        std::vector<std::string>{"", "", "", long_text(1), "", "", long_text(2), long_text(2), ""});
  CHECK(names == std::vector<std::string>{long_text(0), long_text(-1), long_text(-2)});
  CHECK(lengths[2][0] == 2);
  CHECK(std::get<1>(queue.pop_up_to(3)) == std::vector<std::string>{long_text(-3)});
  CHECK(std::get<0>(queue.pop_up_to(3)).empty());
  CHECK_FALSE(queue.pop_or_end().has_value());
  CHECK_THROWS_AS(queue.pop(), tf::OutOfRange);
}

TEST_CASE("rows that do not fit leave a queue of strings as it was") {
  Lines queue;
  queue.push(std::vector<std::string>{"x"}, "first");
  CHECK(message_of([&] {
          queue.push(std::vector<std::string>(4, long_text(0)), "second");
        }).find("expected at most 3 along axis 0 of item 0, got 4") != std::string::npos);
  queue.close();
  CHECK_THROWS_AS(queue.push(std::vector<std::string>{long_text(1)}, "third"), tf::Cancelled);
  CHECK(queue.size() == 1);
  CHECK(std::get<1>(queue.pop()) == "first");
}

#if !defined(__SANITIZE_ADDRESS__)
TEST_CASE("strings for which there is no memory leave a queue as it was") {
  Lines queue;
  const std::string_view endless("x", std::size_t{1} << 62);
  CHECK_THROWS_AS(queue.push(std::vector<std::string>{long_text(1)}, endless), std::bad_alloc);
  CHECK(queue.size() == 0);
  queue.push(std::vector<std::string>{long_text(2)}, "second");
  CHECK(std::get<0>(queue.pop())(0) == long_text(2));
}
#endif

TEST_CASE("threads push and pop strings, and each one arrives once") {
  Mixed queue;
  constexpr std::int64_t each = 3000;
  std::atomic<int> open{3};
  std::vector<std::multiset<std::string>> got(3);
  {
    std::vector<std::jthread> threads;
    for (std::int64_t t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        for (std::int64_t i = t * each; i < (t + 1) * each; ++i) queue.push(long_text(i), i);
        if (--open == 0) queue.close();
      });
      threads.emplace_back([&, t] {
        while (const auto element = queue.pop_or_end()) {
          const auto& [text, number] = *element;
          if (text != long_text(number)) break;
          got[static_cast<std::size_t>(t)].insert(text);
        }
      });
    }
  }
  std::multiset<std::string> all;
  for (const auto& part : got) all.insert(part.begin(), part.end());
  std::multiset<std::string> expected;
  for (std::int64_t i = 0; i < 3 * each; ++i) expected.insert(long_text(i));
  CHECK(all == expected);
}

namespace {

constexpr void texts_model(tf::Graph& g) {
  auto q = tf::queue<Texts>(g, "q");
  auto x = placeholder<std::string_view>(g, "x");
  enqueue(q, x).named("put");
  enqueue(q, string_join("-", x, "made")).named("put_made");
  enqueue(q, "a text").named("put_text");
  auto xs = placeholder<std::string_view, tf::batch>(g, "xs");
  enqueue_many(q, xs).named("put_many");
  dequeue(q).named("next");
  string_join("", "<", dequeue(q), ">").named("next_quoted");
  dequeue_many<3>(q).named("three");
  const auto [some, count] = dequeue_up_to<3>(q);
  some.named("some");
  count.named("count");
  const auto [last, more] = dequeue_or_end(q);
  last.named("last");
  more.named("more");
  auto kept = tf::variable<std::string_view>(g, "kept", tf::zeros());
  assign(kept, dequeue(q)).named("keep");
  kept.named("kept_value");
  enqueue(q, kept).named("put_kept");
  close(q).named("close");
  close(q, {.cancel_pending_enqueues = true}).named("cancel");
  size(q).named("size");
}

constexpr void lines_model(tf::Graph& g) {
  auto q = tf::queue<Lines>(g, "lines");
  auto words = placeholder<std::string_view, tf::batch>(g, "words");
  enqueue(q, words, placeholder<std::string_view>(g, "name")).named("put");
  auto many = placeholder<std::string_view, tf::batch, 2>(g, "many");
  auto names = placeholder<std::string_view, tf::batch>(g, "names");
  enqueue_many(q, many, names).named("put_many");
  const auto [line, name, lengths, count] = dequeue_up_to<4>(q);
  line.named("line");
  reduce_join<1>(line, "|").named("joined");
  name.named("name_of");
  lengths.named("lengths");
  count.named("count");
}

template <class A>
std::vector<std::string> strings_of(const A& array) {
  return {array.begin(), array.end()};
}

}  // namespace

TEST_CASE("a run's strings outlive it in a queue, and a queue's strings outlive it in results") {
  tf::Variables variables;
  tf::Session<texts_model> session(variables);
  {
    std::string x = long_text(1);
    session.run<"put">(tf::feed<"x">(std::string_view(x)));
    session.run<"put_made">(tf::feed<"x">(std::string_view(x)));
    session.run<"put_text">();
    std::fill(x.begin(), x.end(), '?');
  }
  CHECK(session.run<"size">() == 3);
  CHECK(session.run<"next">() == long_text(1));
  CHECK(session.run<"next_quoted">() == "<" + long_text(1) + "-made>");
  session.run<"keep">();
  CHECK(session.run<"kept_value">() == "a text");
  session.run<"put_kept">();
  session.run<"put">(tf::feed<"x">(std::string_view("")));
  session.run<"keep">();
  session.run<"keep">();
  CHECK(session.run<"kept_value">() == "");

  const std::vector<std::string> xs = {long_text(5), "", "z"};
  session.run<"put_many">(tf::feed<"xs">(xs));
  CHECK(strings_of(session.run<"three">()) == xs);

  // In C++ it is the same object.
  auto& queue = variables.resource<Texts>("q");
  queue.push(long_text(6));
  std::string into;
  session.run<"next">(tf::into<"next">(into));
  CHECK(into == long_text(6));
  session.run<"put">(tf::feed<"x">("y"sv));
  CHECK(queue.pop() == "y");
}

TEST_CASE("at the end of a closed queue, strings are empty") {
  tf::Variables variables;
  tf::Session<texts_model> session(variables);
  const std::vector<std::string> xs = {long_text(1), long_text(2), long_text(3), long_text(4)};
  session.run<"put_many">(tf::feed<"xs">(xs));
  session.run<"close">();
  CHECK(session.run<"count">() == 3);
  const auto [some, count] = session.run<"some", "count">();
  CHECK(count == 1);
  CHECK(strings_of(some) == std::vector<std::string>{long_text(4), "", ""});
  const auto [last, more] = session.run<"last", "more">();
  CHECK(last == "");
  CHECK_FALSE(more);
  CHECK_THROWS_AS(session.run<"next">(), tf::OutOfRange);
  CHECK_FALSE(tf::try_run<"three">(session).has_value());
  CHECK_THROWS_AS(session.run<"put">(tf::feed<"x">("late"sv)), tf::Cancelled);
}

TEST_CASE("runs pad rows of strings with empty ones, and give their lengths") {
  tf::Variables variables;
  tf::Session<lines_model> session(variables);
  session.run<"put">(tf::feed<"words">(std::vector<std::string>{long_text(1), "b", "c"}),
                     tf::feed<"name">("first"sv));
  const tf::Array<std::string, 2> many = [] {
    tf::Array<std::string, 2> out({2, 2});
    out(0, 0) = "d";
    out(1, 1) = long_text(2);
    return out;
  }();
  session.run<"put_many">(tf::feed<"many">(many),
                          tf::feed<"names">(std::vector<std::string>{"second", ""}));
  CHECK(message_of([&] {
          session.run<"put">(tf::feed<"words">(std::vector<std::string>(4)),
                             tf::feed<"name">("wrong"sv));
        }).find("queue 'lines': expected at most 3 along axis 0 of item 0, got 4") !=
        std::string::npos);
  variables.resource<Lines>("lines").close();
  const auto [line, joined, name, lengths, count] =
      session.run<"line", "joined", "name_of", "lengths", "count">();
  CHECK(count == 3);
  CHECK(strings_of(line) == std::vector<std::string>{long_text(1), "b", "c", "d", "", "", "",
                                                     long_text(2), "", "", "", ""});
  CHECK(strings_of(joined) ==
        std::vector<std::string>{long_text(1) + "|b|c", "d||", "|" + long_text(2) + "|", "||"});
  CHECK(strings_of(name) == std::vector<std::string>{"first", "second", "", ""});
  CHECK(std::vector<std::int64_t>(lengths.begin(), lengths.end()) ==
        std::vector<std::int64_t>{3, 2, 2, 0});
}

TEST_CASE("runs that wait for strings get them") {
  tf::Variables variables;
  tf::Session<texts_model> session(variables, {.threads = 2});
  constexpr std::int64_t count = 60;
  std::vector<std::string> got(static_cast<std::size_t>(count));
  {
    std::vector<std::jthread> runs;
    for (std::string& to : got) {
      runs.emplace_back([&] { to = session.run<"next_quoted">(); });
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const std::string x = long_text(i);
      session.run<"put">(tf::feed<"x">(std::string_view(x)));
    }
  }
  std::vector<std::string> expected;
  for (std::int64_t i = 0; i < count; ++i) expected.push_back("<" + long_text(i) + ">");
  std::sort(got.begin(), got.end());
  std::sort(expected.begin(), expected.end());
  CHECK(got == expected);
}

TEST_CASE("runs that wait with strings to enqueue are done after a close, or cancelled") {
  for (const bool cancel : {false, true}) {
    CAPTURE(cancel);
    tf::Variables variables;
    tf::Session<texts_model> session(variables);
    const std::vector<std::string> xs = {"1", "2", "3", "4"};
    session.run<"put_many">(tf::feed<"xs">(xs));
    std::atomic<int> cancelled{0};
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        const std::string x = long_text(7);
        try {
          session.run<"put_made">(tf::feed<"x">(std::string_view(x)));
        } catch (const tf::Cancelled&) {
          ++cancelled;
        }
      });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // they have begun to wait
    if (cancel) {
      session.run<"cancel">();
    } else {
      session.run<"close">();
    }
    std::vector<std::string> rest;
    while (const auto x = tf::try_run<"next">(session)) rest.push_back(*x);
    threads.clear();
    CHECK(cancelled == (cancel ? 3 : 0));
    std::vector<std::string> expected = xs;
    if (!cancel) expected.insert(expected.end(), 3, long_text(7) + "-made");
    CHECK(rest == expected);
  }
}

TEST_CASE("a run that is cancelled while it waits takes and leaves no string") {
  tf::Variables variables;
  tf::Session<texts_model> session(variables);
  auto& queue = variables.resource<Texts>("q");
  queue.push(long_text(1));
  std::stop_source stop;
  std::jthread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stop.request_stop();
  });
  CHECK_THROWS_AS(session.run<"three">(tf::stop_when(stop.get_token())), tf::Cancelled);
  CHECK(queue.size() == 1);
  for (std::int64_t i = 2; i < 5; ++i) queue.push(long_text(i));
  const std::string five = long_text(5);
  CHECK_THROWS_AS(session.run<"put">(tf::feed<"x">(std::string_view(five)),
                                     tf::within(std::chrono::milliseconds(20))),
                  tf::DeadlineExceeded);
  CHECK(strings_of(session.run<"three">()) ==
        std::vector<std::string>{long_text(1), long_text(2), long_text(3)});
  CHECK(queue.size() == 1);
  CHECK(queue.pop() == long_text(4));
}

namespace {

/// A producer and a consumer in one run, on two devices, each in a loop.
constexpr void loops_model(tf::Graph& g) {
  auto q = tf::queue<Texts>(g, "q");
  auto x = placeholder<std::int64_t>(g, "x");
  auto sent = on(g, tf::cpu(1), [&] {
    return fori_loop(
        0, 30,
        [&](auto, auto state) {
          return after(enqueue(q, string_join("", as_string(state), "000000000000000")), state + 1);
        },
        x);
  });
  auto got = on(g, tf::cpu(0), [&] {
    return fori_loop(
        0, 30, [&](auto, auto state) { return state + string_to_number<std::int64_t>(dequeue(q)); },
        tf::constant<std::int64_t>(g, 0));
  });
  sent.named("sent");
  got.named("got");
  // On two devices without a loop.
  auto word = placeholder<std::string_view>(g, "word");
  auto far = on(g, tf::cpu(1), [&] { return dequeue(q); });
  auto quoted = on(g, tf::cpu(0), [&] { return string_join("", "<", far, ">"); });
  quoted.named("quoted");
  enqueue(q, on(g, tf::cpu(1), [&] { return string_join("", word, "!"); })).named("put");
}

/// Fails after its dequeues, if the strings are no number.
constexpr void failing_model(tf::Graph& g) {
  auto q = tf::queue<Texts>(g, "q");
  auto first = dequeue(q);
  auto second = dequeue(q);
  string_to_number<float>(string_join("", first, second)).named("number");
}

}  // namespace

TEST_CASE("strings pass between two devices by a queue, in loops") {
  tf::Variables variables;
  tf::Session<loops_model> session(variables, {.devices = tf::DeviceList::of(2)});
  const auto [sent, got] = session.run<"sent", "got">(tf::feed<"x">(std::int64_t{5}));
  CHECK(sent == 35);
  CHECK(got == (34 * 35 - 4 * 5) / 2 * 1'000'000'000'000'000);
  const std::string word = long_text(1);
  session.run<"put">(tf::feed<"word">(std::string_view(word)));
  CHECK(session.run<"quoted">() == "<" + word + "!>");
}

TEST_CASE("a run that fails after its dequeues frees their strings") {
  tf::Variables variables;
  tf::Session<failing_model> session(variables);
  auto& queue = variables.resource<Texts>("q");
  queue.push("x is no number");
  queue.push("3");
  CHECK(message_of([&] { session.run<"number">(); }).find("x is no number") != std::string::npos);
  CHECK(queue.size() == 0);
  queue.push("1");
  queue.push("5");
  const float number = session.run<"number">();  // dequeues have no order
  CHECK((number == 15 || number == 51));
}

namespace {

constexpr void batch_model(tf::Graph& g) {
  auto words = placeholder<std::string_view, tf::batch, 3>(g, "words");
  auto names = placeholder<std::string_view, tf::batch>(g, "names");
  auto lengths = placeholder<std::int64_t, tf::batch>(g, "lengths");
  reduce_join<1>(words, "|").named("joined");
  names.named("same");
  (lengths + 0).named("seen");
  string_to_number<float>(names).named("numbers");
}

}  // namespace

TEST_CASE("batches of a queue of strings are fed") {
  Lines queue;
  queue.push(std::vector<std::string>{long_text(1)}, "1");
  queue.push(std::vector<std::string>{"a", "b", "c"}, "x");
  queue.push(std::vector<std::string>{}, "3");
  queue.close();
  tf::Variables variables;
  tf::Session<batch_model> session(variables);
  auto batches = tf::batches<"words", "names", "lengths">(queue, 2);
  CHECK_THROWS_AS(batches.run<"numbers">(session), tf::Error);  // the elements stay
  CHECK(batches.is_kept());
  const auto first = batches.run<"joined", "same", "seen">(session);
  REQUIRE(first.has_value());
  CHECK(strings_of(std::get<0>(*first)) == std::vector<std::string>{long_text(1) + "||", "a|b|c"});
  CHECK(strings_of(std::get<1>(*first)) == std::vector<std::string>{"1", "x"});
  CHECK(std::get<2>(*first)(1) == 3);
  const auto last = batches.run<"joined", "numbers">(session);
  REQUIRE(last.has_value());
  CHECK(strings_of(std::get<0>(*last)) == std::vector<std::string>{"||"});
  CHECK(std::get<1>(*last)(0) == 3);
  CHECK_FALSE(batches.run<"joined">(session).has_value());
}

namespace {

constexpr void barrier_model(tf::Graph& g) {
  auto b = tf::barrier<Joined>(g, "b");
  auto keys = placeholder<std::int64_t, tf::batch>(g, "keys");
  insert_many<0>(b, keys, placeholder<std::int32_t, tf::batch>(g, "numbers")).named("put_0");
  insert_many<1>(b, keys, placeholder<std::string_view, tf::batch>(g, "texts")).named("put_1");
  insert_many<2>(b, keys, placeholder<std::string_view, tf::batch, 2>(g, "pairs")).named("put_2");
  const auto [index, key, number, text, pair, count] = take_up_to<3>(b);
  key.named("key");
  number.named("number");
  text.named("text");
  pair.named("pair");
  count.named("count");
  close(b).named("close");
  close(b, {.cancel_pending_enqueues = true}).named("cancel");
}

}  // namespace

TEST_CASE("a barrier joins strings that come at different times") {
  tf::Variables variables;
  tf::Session<barrier_model> session(variables);
  const std::int64_t keys[] = {7, 8, 9, 10};
  const std::int64_t turned[] = {9, 8, 7};
  session.run<"put_2">(tf::feed<"keys">(keys), tf::feed<"pairs">([] {
                         tf::Array<std::string, 2> pairs({4, 2});
                         for (std::size_t i = 0; i < 4; ++i) {
                           pairs(i, i % 2) = long_text(static_cast<std::int64_t>(i));
                         }
                         return pairs;
                       }()));
  {
    std::vector<std::string> texts = {long_text(90), "", long_text(70)};
    session.run<"put_1">(tf::feed<"keys">(turned), tf::feed<"texts">(texts));
    for (std::string& text : texts) std::fill(text.begin(), text.end(), '?');
  }
  CHECK(message_of([&] {
          session.run<"put_1">(tf::feed<"keys">(turned),
                               tf::feed<"texts">(std::vector<std::string>(3, long_text(0))));
        }).find("expected item 1 of key") != std::string::npos);
  const std::int32_t numbers[] = {1, 2, 3, 4};
  session.run<"put_0">(tf::feed<"keys">(keys), tf::feed<"numbers">(numbers));
  session.run<"cancel">();  // 10 lacks an item, and is dropped
  const auto [key, number, text, pair, count] =
      session.run<"key", "number", "text", "pair", "count">();
  CHECK(count == 3);
  CHECK(std::vector<std::int64_t>(key.begin(), key.end()) == std::vector<std::int64_t>{7, 8, 9});
  CHECK(std::vector<std::int32_t>(number.begin(), number.end()) ==
        std::vector<std::int32_t>{1, 2, 3});
  CHECK(strings_of(text) == std::vector<std::string>{long_text(70), "", long_text(90)});
  CHECK(strings_of(pair) ==
        std::vector<std::string>{long_text(0), "", "", long_text(1), long_text(2), ""});
  CHECK_THROWS_AS(session.run<"text">(), tf::OutOfRange);
}

TEST_CASE("a barrier that ends with strings in it frees them, and rows without element are empty") {
  tf::Variables variables;
  tf::Session<barrier_model> session(variables);
  const std::int64_t keys[] = {1, 2};
  tf::Array<std::string, 2> pairs({2, 2});
  for (std::string& text : pairs) text = long_text(1);
  session.run<"put_2">(tf::feed<"keys">(keys), tf::feed<"pairs">(pairs));
  session.run<"put_1">(tf::feed<"keys">(std::vector<std::int64_t>{2}),
                       tf::feed<"texts">(std::vector<std::string>{long_text(2)}));
  session.run<"put_0">(tf::feed<"keys">(std::vector<std::int64_t>{2}),
                       tf::feed<"numbers">(std::vector<std::int32_t>{22}));
  session.run<"cancel">();
  const auto [text, pair, count] = session.run<"text", "pair", "count">();
  CHECK(count == 1);
  CHECK(strings_of(text) == std::vector<std::string>{long_text(2), "", ""});
  CHECK(strings_of(pair) == std::vector<std::string>{long_text(1), long_text(1), "", "", "", ""});
}
