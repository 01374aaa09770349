// SPDX-License-Identifier: Apache-2.0

// Extents, shapes as values and their rules, text, hashes and random numbers.

#include "support.hpp"

#include "typeflow/core/philox.hpp"

using tf::Dims;

// An extent is a number or k * batch.
static_assert(tf::Extent{tf::batch} == -1);
static_assert(tf::Extent{4 * tf::batch} == -4 && tf::Extent{tf::batch * 4} == -4);
static_assert(tf::Extent{2 * (3 * tf::batch)} == -6);
static_assert(tf::is_symbolic(-4) && !tf::is_symbolic(0) && !tf::is_symbolic(7));
static_assert(tf::resolve(-4, 25) == 100 && tf::resolve(784, 25) == 784);

// The number of elements has a power of batch.
static_assert(tf::count_of(Dims{0, {}}) == tf::Count{1, 0});
static_assert(tf::count_of(Dims{3, {2, 3, 4}}) == tf::Count{24, 0});
static_assert(tf::count_of(Dims{2, {3, 0}}) == tf::Count{0, 0});
static_assert(tf::count_of(Dims{3, {-2, 5, -3}}) == tf::Count{30, 2});
static_assert(tf::count_of(Dims{3, {-2, 5, -3}}).resolve(10) == 3000);

// numpy's rules of broadcasting.
static_assert(tf::broadcast(Dims{2, {3, 4}}, Dims{1, {4}}) == Dims{2, {3, 4}});
static_assert(tf::broadcast(Dims{1, {4}}, Dims{2, {3, 4}}) == Dims{2, {3, 4}});
static_assert(tf::broadcast(Dims{2, {3, 1}}, Dims{1, {4}}) == Dims{2, {3, 4}});
static_assert(tf::broadcast(Dims{4, {8, 1, 6, 1}}, Dims{3, {7, 1, 5}}) == Dims{4, {8, 7, 6, 5}});
static_assert(tf::broadcast(Dims{0, {}}, Dims{2, {-1, 4}}) == Dims{2, {-1, 4}});
static_assert(tf::broadcast(Dims{1, {1}}, Dims{1, {0}}) == Dims{1, {0}});
static_assert(!tf::broadcast(Dims{1, {3}}, Dims{1, {4}}).valid());
static_assert(!tf::broadcast(Dims{2, {2, 1}}, Dims{3, {8, 4, 3}}).valid());
static_assert(!tf::broadcast(tf::no_dims, Dims{1, {4}}).valid());

// Other shape rules.
static_assert(tf::reduced(Dims{3, {2, 3, 4}}, 0b101, false) == Dims{1, {3}});
static_assert(tf::reduced(Dims{3, {2, 3, 4}}, 0b101, true) == Dims{3, {1, 3, 1}});
static_assert(tf::reduced(Dims{2, {2, 3}}, 0, false) == Dims{2, {2, 3}});
static_assert(tf::matrix_product(Dims{2, {2, 3}}, false, Dims{2, {3, 4}}, false) ==
              Dims{2, {2, 4}});
static_assert(tf::matrix_product(Dims{2, {3, 2}}, true, Dims{2, {4, 3}}, true) == Dims{2, {2, 4}});
static_assert(!tf::matrix_product(Dims{2, {2, 3}}, false, Dims{2, {4, 3}}, false).valid());
static_assert(!tf::matrix_product(Dims{1, {3}}, false, Dims{2, {3, 4}}, false).valid());
static_assert(tf::squeezed(Dims{4, {1, -1, 1, 3}}) == Dims{2, {-1, 3}});
static_assert(tf::normalize_axis(-1, 3) == 2 && tf::normalize_axis(0, 3) == 0);
static_assert(tf::normalize_axis(3, 3) == -1 && tf::normalize_axis(-4, 3) == -1);

// Shapes print as the user wrote them.
constexpr bool prints_as(const Dims& dims, std::string_view text) {
  tf::Message message{};
  message << dims;
  return message.view() == text;
}
static_assert(prints_as(Dims{2, {-1, 784}}, "[batch, 784]"));
static_assert(prints_as(Dims{2, {-4, 0}}, "[4*batch, 0]"));
static_assert(prints_as(Dims{0, {}}, "[]"));

constexpr bool numbers_print() {
  tf::Message message{};
  message << std::int64_t{-9223372036854775807 - 1} << ' ' << 0 << ' ' << 120;
  return message.view() == "-9223372036854775808 0 120";
}
static_assert(numbers_print());

constexpr bool a_message_too_long_is_cut() {
  tf::Message message{};
  for (int i = 0; i < 100; ++i) message << "0123456789";
  return message.length == tf::Message::capacity;
}
static_assert(a_message_too_long_is_cut());

static_assert(tf::file_name("/home/me/net.cpp") == "net.cpp" &&
              tf::file_name("net.cpp") == "net.cpp");

// FNV-1a's published values, of which a path's hash is made piece by piece.
static_assert(tf::hash("") == 0xcbf29ce484222325ull);
static_assert(tf::hash("a") == 0xaf63dc4c8601ec8cull);
static_assert(tf::hash("foobar") == 0x85944171f73967e8ull);
static_assert(tf::hash("bar", tf::hash("foo")) == tf::hash("foobar"));
static_assert(tf::hash_suffix(0, tf::hash("x")) == tf::hash("x_0"));
static_assert(tf::hash_suffix(1203, tf::hash("x")) == tf::hash("x_1203"));

// Philox4x32-10's published values (Random123, kat_vectors).
constexpr bool philox_is(std::uint64_t key, std::uint64_t low, std::uint64_t high, std::uint32_t a,
                         std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  const tf::Philox p = tf::Philox::generate(key, low, high);
  return p.word[0] == a && p.word[1] == b && p.word[2] == c && p.word[3] == d;
}
static_assert(philox_is(0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
static_assert(philox_is(~0ull, ~0ull, ~0ull, 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
static_assert(philox_is(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e, 0xd16cfe09,
                        0x94fdcceb, 0x5001e420, 0x24126ea1));

// Uniform elements are made of a word's upper bits, four floats or two doubles a counter.
static_assert(tf::uniform_element<float>(0, 0, 0) == (0x6627e8d5u >> 8) * 0x1p-24f);
static_assert(tf::uniform_element<float>(0, 0, 3) == (0x9b00dbd8u >> 8) * 0x1p-24f);
static_assert(tf::uniform_element<double>(0, 0, 0) == (0x6627e8d5e169c58dull >> 11) * 0x1p-53);
static_assert(tf::uniform_element<double>(0, 0, 1) == (0xbc57ac4c9b00dbd8ull >> 11) * 0x1p-53);

// Element types.
static_assert(tf::dtype_of<int> == tf::DType::int32 && tf::dtype_of<long long> == tf::DType::int64);
static_assert(std::is_same_v<tf::element_of<tf::DType::uint8>, std::uint8_t>);
static_assert(tf::Element<std::int16_t> && tf::Element<std::complex<double>>);
static_assert(!tf::Element<char> && !tf::Element<long double> && !tf::Element<float*>);
static_assert(tf::size_of(tf::DType::boolean) == 1 && tf::size_of(tf::DType::float64) == 8);

// A model sees of a graph what models need: not what it is made of, and nothing that adds to it.
template <class G>
concept ShowsRecords = requires(G& g) { g.nodes; } || requires(G& g) { g.values; } ||
                       requires(G& g) { g.names; } || requires(G& g) { g.variable_records; };
template <class G>
concept AddsRecords = requires(G& g) { g.add_name("x", {}, 0); } ||
                      requires(G& g) { g.intern(tf::Type{}); } || requires(G& g) { g.scope = 0; };
static_assert(!ShowsRecords<tf::Graph> && !AddsRecords<tf::Graph>);
static_assert(ShowsRecords<tf::ir::Graph> && AddsRecords<tf::ir::Graph>);
static_assert(records(tf::Graph(tf::inference)).mode() == tf::inference);
