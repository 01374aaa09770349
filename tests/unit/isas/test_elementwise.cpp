// SPDX-License-Identifier: Apache-2.0

// Every elementwise operation at signed zeros, infinities, NaN and denormal numbers, in the
// registers of one instruction set, by the interpreter, and by the C++ library. CMakeLists.txt
// builds this file once for each instruction set.
//
// The kernels' bodies are called through a table and not compiled into sessions: a graph is traced
// at run time, and LaneInterpreter computes its elementwise nodes in registers. So an operation
// costs one small function for each element type, and gradients cost nothing.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <typeflow/cpu/apply.hpp>
#include <typeflow/graph.hpp>
#include <typeflow/interpret/interpret.hpp>
#include <typeflow/special_functions.hpp>

#include "elementwise.hpp"  // rows of docs/operations/
#include "static/bodies.hpp"

namespace {

namespace tf = typeflow;
namespace cpu_kernels = tf::cpu_kernels;
using tf::AnyExpr;
using tf::DType;

using Arch = cpu_kernels::DefaultArch;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// Bodies by number.

/// One operation on the elements of these tensors, register by register.
using Apply = void (*)(const std::uint32_t* words, const tf::HostTensor* const* in,
                       tf::HostTensor& out);

/// `count` elements of x from number `first` of the result on; what is behind the last one is the
/// last one.
template <class L, class T>
[[gnu::noinline]] typename L::template of<T> load(const tf::HostTensor& x,
                                                  const tf::HostTensor& out, std::int64_t first) {
  cpu_kernels::Array<T, L::size> elements;
  for (int i = 0; i < L::size; ++i) {
    const std::int64_t at = std::min(first + i, out.size() - 1);
    elements.v[i] = tf::to<T>(x[tf::broadcast_index(at, out.dims, x.dims)]);
  }
  return L::template from<T>(elements);
}
template <class L, class T>
[[gnu::noinline]] void store(const typename L::template of<T>& y, tf::HostTensor& out,
                             std::int64_t first) {
  const auto elements = L::template elements<T>(y);
  for (int i = 0; i < L::size && first + i < out.size(); ++i) {
    out[first + i] = tf::number_from(elements.v[i]);
  }
}
template <class L, class O, class R, class... X>
void apply(const std::uint32_t* words, const tf::HostTensor* const* in, tf::HostTensor& out) {
  const O op = tf::decode<O>(words);
  for (std::int64_t i = 0; i < out.size(); i += L::size) {
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      store<L, R>(cpu_kernels::apply_lanes<L, R, X...>(op, {}, load<L, X>(*in[K], out, i)...), out,
                  i);
    }(std::index_sequence_for<X...>{});
  }
}

struct Entry {
  bool wide;  ///< whether registers have elements of 8 bytes
  std::uint64_t op;
  DType element;  ///< of the last input
  DType result;
  Apply apply;
};
std::vector<Entry>& table() {
  static std::vector<Entry> entries;
  return entries;
}

template <bool Wide, class O, class T>
void add() {
  if constexpr (O::kind == tf::Kind::elementwise && tf::contains(O::domain, tf::dtype_of<T>)) {
    using L = cpu_kernels::Lanes<Wide, Arch>;
    using R = tf::element_of<O::result(tf::dtype_of<T>)>;
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      table().push_back(
          {Wide, tf::record<O>.id, tf::dtype_of<T>, tf::dtype_of<R>,
           &apply<L, O, R, std::conditional_t<O::condition_first && K == 0, bool, T>...>});
    }(tf::detail::InputsOf<O>{});
  }
}
template <bool Wide, class From, class... To>
void add_casts() {
  (table().push_back({Wide, tf::record<tf::ops::Cast>.id, tf::dtype_of<From>, tf::dtype_of<To>,
                      &apply<cpu_kernels::Lanes<Wide, Arch>, tf::ops::Cast, To, From>}),
   ...);
}
template <bool Wide, class... T, class... O>
void add_all(bodies::List<O...>) {
  ([]<class One>() { (add<Wide, One, T>(), ...); }.template operator()<O>(), ...);
}

/// Elementwise nodes by the table, others by plain loops.
class LaneInterpreter : public tf::Interpreter {
 public:
  LaneInterpreter(const tf::ir::Graph& graph, bool wide) : Interpreter(graph), wide_(wide) {}

 protected:
  void run_nodes(const tf::ir::Graph& graph, const tf::Pool<tf::Id>& nodes) override {
    for (const tf::Id id : nodes) {
      const tf::ir::Node& node = graph.nodes[id];
      if (node.op->kind != tf::Kind::elementwise || node.inputs.count == 0) {
        compute(graph, id);
        continue;
      }
      const tf::Id last = graph.input(node, node.inputs.count - 1);
      const DType element = graph.dtype_of(last);
      const tf::Type& type = graph.type_of(node.outputs.first);
      const auto found = std::find_if(table().begin(), table().end(), [&](const Entry& e) {
        return e.wide == wide_ && e.op == node.op->id && e.element == element &&
               e.result == type.dtype;
      });
      if (found == table().end()) {
        FAIL("no body of " << std::string(node.op->name) << " for this element type");
      }
      std::array<const tf::HostTensor*, 8> in{};
      for (int k = 0; k < node.inputs.count; ++k) {
        in[static_cast<std::size_t>(k)] = &value(graph.input(node, k));
      }
      tf::HostTensor out = tf::host_tensor(type.dtype, type.dims);
      found->apply(graph.words_of(node), in.data(), out);
      set(node.outputs.first, std::move(out));
    }
  }

 private:
  bool wide_;
};

// What is tested, and what it is compared with.

/// One call of a function, as the rows of docs/operations/elementwise.hpp name it.
struct Case {
  std::string_view function;
  int inputs;
  AnyExpr (*call)(const AnyExpr* x);
  double (*expected)(const double* x, DType type);  ///< null if the C++ library has none
  double units = 4;          ///< in the last place, that the result may be off
  bool rounds_once = false;  ///< where the instruction set can: nothing may under- or overflow
};
#define ONE(name, value)                                                 \
  {#name, 1, [](const AnyExpr* x) -> AnyExpr { return tf::name(x[0]); }, \
   [](const double* p, DType) -> double {                                \
     const double x = p[0];                                              \
     return value;                                                       \
   }}
#define TWO(name, value)                                                       \
  {#name, 2, [](const AnyExpr* x) -> AnyExpr { return tf::name(x[0], x[1]); }, \
   [](const double* p, DType) -> double {                                      \
     const double a = p[0];                                                    \
     const double b = p[1];                                                    \
     return value;                                                             \
   }}
#define OPERATOR(name, symbol)                                             \
  {#name, 2, [](const AnyExpr* x) -> AnyExpr { return x[0] symbol x[1]; }, \
   [](const double* x, DType) { return x[0] symbol x[1]; }}
#define ALONE(name) {#name, 1, [](const AnyExpr* x) -> AnyExpr { return tf::name(x[0]); }, nullptr}

/// To the nearest number of those that an operation on this type computes with.
double rounded(double x, DType type) {
  return type == DType::float64 ? x : static_cast<double>(static_cast<float>(x));
}
double relu(double x) { return x < 0 ? 0 : x; }
double clip(double x, double low, double high) {
  const double below = x > high ? high : x;
  return below < low ? low : below;
}
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return relu(x) + std::log1p(std::exp(-std::abs(x))); }
/// x g(x) for a g that is 0 at -infinity.
double gated(double x, double gate) { return x == -infinity ? -0.0 : x * gate; }
double mod(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
double larger(double a, double b) { return a != a || b != b ? nan : a < b ? b : a; }
double smaller(double a, double b) { return a != a || b != b ? nan : b < a ? b : a; }

/// The functions of docs/operations/elementwise.hpp, and the sums of products that passes make.
const Case cases[] = {
    {"fma", 3,
     [](const AnyExpr* x) -> AnyExpr {
       return tf::detail::apply_untyped(tf::ops::Fma{}, x[0], x[1], x[2]);
     },
     [](const double* x, DType) { return std::fma(x[0], x[1], x[2]); }, 4, true},
    {"fms", 3,
     [](const AnyExpr* x) -> AnyExpr {
       return tf::detail::apply_untyped(tf::ops::Fms{}, x[0], x[1], x[2]);
     },
     [](const double* x, DType) { return std::fma(x[0], x[1], -x[2]); }, 4, true},
    {"fnma", 3,
     [](const AnyExpr* x) -> AnyExpr {
       return tf::detail::apply_untyped(tf::ops::Fnma{}, x[0], x[1], x[2]);
     },
     [](const double* x, DType) { return std::fma(-x[0], x[1], x[2]); }, 4, true},
    OPERATOR(add, +),
    OPERATOR(sub, -),
    OPERATOR(mul, *),
    OPERATOR(div, /),
    {"floordiv", 2, [](const AnyExpr* x) -> AnyExpr { return tf::floordiv(x[0], x[1]); },
     [](const double* x, DType type) { return std::floor(rounded(x[0] / x[1], type)); }},
    TWO(mod, mod(a, b)),
    TWO(pow, std::pow(a, b)),
    TWO(maximum, larger(a, b)),
    TWO(minimum, smaller(a, b)),
    TWO(squared_difference, (a - b) * (a - b)),
    TWO(atan2, std::atan2(a, b)),
    TWO(add_n, a + b),
    TWO(equal, a == b),
    TWO(not_equal, a != b),
    TWO(less, a < b),
    TWO(less_equal, a <= b),
    TWO(greater, a > b),
    TWO(greater_equal, a >= b),
    {"igamma", 2, [](const AnyExpr* x) -> AnyExpr { return tf::igamma(x[0], x[1]); }, nullptr},
    {"igammac", 2, [](const AnyExpr* x) -> AnyExpr { return tf::igammac(x[0], x[1]); }, nullptr},
    {"zeta", 2, [](const AnyExpr* x) -> AnyExpr { return apply(tf::ops::Zeta{}, x[0], x[1]); },
     nullptr},
    {"betainc", 3, [](const AnyExpr* x) -> AnyExpr { return tf::betainc(x[0], x[1], x[2]); },
     nullptr},
    {"igammainv", 2, [](const AnyExpr* x) -> AnyExpr { return tf::igammainv(x[0], x[1]); },
     nullptr},
    {"igammacinv", 2, [](const AnyExpr* x) -> AnyExpr { return tf::igammacinv(x[0], x[1]); },
     nullptr},
    {"betaincinv", 3, [](const AnyExpr* x) -> AnyExpr { return tf::betaincinv(x[0], x[1], x[2]); },
     nullptr},
    {"clip_by_value", 3,
     [](const AnyExpr* x) -> AnyExpr { return tf::clip_by_value(x[0], x[1], x[2]); },
     [](const double* x, DType) { return larger(smaller(x[0], x[2]), x[1]); }},
    {"where", 3,
     [](const AnyExpr* x) -> AnyExpr { return where(tf::not_equal(x[0], 0), x[1], x[2]); },
     [](const double* x, DType) { return x[0] != 0 ? x[1] : x[2]; }},
    {"cast", 1, [](const AnyExpr* x) -> AnyExpr { return tf::cast<bool>(x[0]); },
     [](const double* x, DType) -> double { return x[0] != 0; }},
    ONE(neg, -x),
    ONE(abs, std::abs(x)),
    ONE(sign, x > 0   ? 1
              : x < 0 ? -1
                      : x),
    ONE(square, x* x),
    ONE(sqrt, std::sqrt(x)),
    ONE(rsqrt, 1 / std::sqrt(x)),
    ONE(reciprocal, 1 / x),
    ONE(exp, std::exp(x)),
    ONE(expm1, std::expm1(x)),
    ONE(log, std::log(x)),
    ONE(log1p, std::log1p(x)),
    ONE(sin, std::sin(x)),
    ONE(cos, std::cos(x)),
    ONE(tan, std::tan(x)),
    ONE(asin, std::asin(x)),
    ONE(acos, std::acos(x)),
    ONE(atan, std::atan(x)),
    ONE(sinh, std::sinh(x)),
    ONE(cosh, std::cosh(x)),
    ONE(tanh, std::tanh(x)),
    ONE(asinh, std::asinh(x)),
    ONE(acosh, std::acosh(x)),
    ONE(atanh, std::atanh(x)),
    ONE(floor, std::floor(x)),
    ONE(ceil, std::ceil(x)),
    ONE(round, std::nearbyint(x)),
    ONE(sigmoid, sigmoid(x)),
    ONE(softplus, softplus(x)),
    ONE(relu, relu(x)),
    ONE(relu6, smaller(6, relu(x))),
    ONE(leaky_relu, x > 0 ? x : 0.2 * x),
    ONE(elu, x > 0 ? x : std::expm1(x)),
    ONE(selu, 1.0507009873554804934 * (x > 0 ? x : 1.6732632423543772848 * std::expm1(x))),
    {"gelu", 1, [](const AnyExpr* x) -> AnyExpr { return tf::gelu(x[0]); },
     [](const double* p, DType) {
       const double x = p[0];
       // Above 0 it is more than x / 2, so it does not round to 0 where that is a tie.
       if (x > 0 && x < 1e-30) return std::nextafter(x / 2, x);
       return gated(x, 0.5 * std::erfc(-x / std::sqrt(2.0)));
     },
     60},
    {"gelu", 1, [](const AnyExpr* x) -> AnyExpr { return tf::gelu(x[0], tf::tanh_form); },
     [](const double* p, DType) {
       const double x = p[0];
       return gated(x, sigmoid(std::sqrt(8 / M_PI) * (x + 0.044715 * x * x * x)));
     },
     60},
    ONE(silu, gated(x, sigmoid(x))),
    ONE(mish, gated(x, std::tanh(softplus(x)))),
    ONE(softsign, std::isinf(x) ? std::copysign(1, x) : x / (1 + std::abs(x))),
    ONE(log_sigmoid, -softplus(-x)),
    ONE(hard_sigmoid, smaller(6, relu(x + 3)) / 6),
    ONE(hard_swish, x <= -3 ? -0.0 : x * (smaller(6, relu(x + 3)) / 6)),
    ONE(hard_tanh, clip(x, -1, 1)),
    ONE(erf, std::erf(x)),
    ONE(erfc, std::erfc(x)),
    ALONE(erfinv),
    ONE(lgamma, std::lgamma(x)),
    ALONE(digamma),
    ALONE(trigamma),
    {"polygamma", 1, [](const AnyExpr* x) -> AnyExpr { return tf::polygamma<3>(x[0]); }, nullptr},
    ALONE(bessel_i0),
    ALONE(bessel_i1),
    ALONE(bessel_i0e),
    ALONE(bessel_i1e),
    ONE(is_nan, x != x),
    ONE(is_inf, std::isinf(x)),
    ONE(is_finite, std::isfinite(x)),
};

/// The same for booleans.
const Case logical_cases[] = {
    TWO(logical_and, a != 0 && b != 0),
    TWO(logical_or, a != 0 || b != 0),
    TWO(logical_xor, a != b),
    ONE(logical_not, x == 0),
    TWO(equal, a == b),
};

/// Rows of elementwise functions that have no numbers to test here.
constexpr std::string_view others[] = {
    "check_numerics", "bitcast",  // own kernels
    "identity", "stop_gradient",  // no code
    "bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift",
    // composed of functions that are tested here; their own tests have such numbers
    "truncatemod", "div_no_nan", "approximate_equal", "crelu", "lbeta"};

// Numbers.

double epsilon(DType type) {
  return type == DType::float64   ? 0x1p-52
         : type == DType::float32 ? 0x1p-23
         : type == DType::float16 ? 0x1p-10
                                  : 0x1p-7;
}
double denormal(DType type) {
  return type == DType::float64   ? 0x1p-1074
         : type == DType::float32 ? 0x1p-149
         : type == DType::float16 ? 0x1p-24
                                  : 0x1p-133;
}
/// The smallest number that is not denormal.
double normal(DType type) { return denormal(type) / epsilon(type); }
double largest(DType type) {
  return tf::visit_dtype(type, [](auto zero) -> double {
    using T = decltype(zero);
    if constexpr (tf::detail::is_real_floating<T>) {
      return static_cast<double>(std::numeric_limits<T>::max());
    } else {
      return 1;
    }
  });
}
std::vector<double> special(DType type, int inputs, bool moderate) {
  std::vector<double> x;
  if (type == DType::boolean) return {0, 1};
  if (moderate) return {0, -0.0, 1, -1, 1.5, infinity, -infinity, nan};
  const std::vector<double> sizes = inputs == 3
                                        ? std::vector<double>{0, denormal(type), 1, infinity}
                                        : std::vector<double>{0,
                                                              denormal(type),
                                                              normal(type) - denormal(type),
                                                              normal(type),
                                                              0x1p-9,
                                                              0.5,
                                                              1,
                                                              1.5,
                                                              2,
                                                              3,
                                                              largest(type),
                                                              infinity};
  for (const double size : sizes) {
    x.push_back(size);
    x.push_back(-size);
  }
  if (inputs == 1) {
    for (const double size : {0.75, 2.5, 6.0, 10.0, 88.0, 1000.0}) {
      x.push_back(size);
      x.push_back(-size);
    }
  }
  x.push_back(nan);
  return x;
}
/// All combinations of the numbers, as that many tensors.
std::vector<tf::HostTensor> combinations(DType type, int inputs, bool moderate) {
  const std::vector<double> x = special(type, inputs, moderate);
  std::int64_t count = 1;
  for (int i = 0; i < inputs; ++i) count *= static_cast<std::int64_t>(x.size());
  std::vector<tf::HostTensor> tensors;
  std::int64_t period = 1;
  for (int i = 0; i < inputs; ++i) {
    tf::HostTensor tensor = tf::host_tensor(type, tf::Dims{1, {count}});
    for (std::int64_t k = 0; k < count; ++k) {
      tensor.set(k, x[static_cast<std::size_t>(k / period % static_cast<int>(x.size()))]);
    }
    period *= static_cast<std::int64_t>(x.size());
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

/// Zeros with their signs, infinities and NaN are equal to themselves alone. But what is made of
/// several operations on 16 bits may underflow on the way.
bool same(DType type, double a, double b, double units) {
  if (a == b) return std::signbit(a) == std::signbit(b);
  if (a != a || b != b) return a != a && b != b;
  if (std::isinf(a) || std::isinf(b)) return false;
  if (a == 0 || b == 0) {
    return tf::is_half_precision(type) && std::signbit(a) == std::signbit(b) &&
           std::abs(a - b) <= denormal(type);
  }
  return std::abs(a - b) <= units * (epsilon(type) * std::abs(b) + denormal(type));
}

/// Says where two tensors differ.
void compare(const std::string& by, const tf::HostTensor& got, const tf::HostTensor& expected,
             const std::vector<tf::HostTensor>& x, double units) {
  REQUIRE(got.dtype == expected.dtype);
  REQUIRE(got.size() == expected.size());
  int wrong = 0;
  for (std::int64_t i = 0; i < got.size(); ++i) {
    if (same(got.dtype, got.value(i), expected.value(i), units) || wrong++ >= 4) continue;
    std::string at;
    for (const tf::HostTensor& tensor : x) {
      char text[32];
      std::snprintf(text, sizeof text, " %.9g", tensor.value(i));
      at += text;
    }
    MESSAGE(by << " at" << at << ": " << got.value(i) << " instead of " << expected.value(i));
  }
  CHECK(wrong == 0);
}

/// A placeholder for a tensor.
AnyExpr input(tf::Graph& g, int number, const tf::HostTensor& x) {
  const AnyExpr p =
      add_node(g, tf::ops::Placeholder{{}, 0, 0, 0}, nullptr, 0, tf::Type(x.dtype, x.dims));
  tf::ir::records(g).add_name({"x", number}, tf::ir::NameKind::placeholder, p.id);
  return p;
}
std::string name(std::size_t number) { return "x_" + std::to_string(number); }

/// A function's graph, its feeds, and its gradients for a given dy of ones.
struct Traced {
  tf::Graph g;
  std::vector<tf::HostTensor> x;
  tf::HostTensors feeds;
  AnyExpr y{};
  std::vector<tf::Id> gradients;  ///< none where nothing flows

  Traced(const Case& c, DType type) : x(combinations(type, c.inputs, c.rounds_once)) {
    std::vector<AnyExpr> inputs;
    for (std::size_t i = 0; i < x.size(); ++i) {
      inputs.push_back(input(g, static_cast<int>(i), x[i]));
      feeds.emplace(name(i), x[i]);
    }
    y = c.call(inputs.data());
    const bool missing = tf::ir::records(g).op_of(y.id).derivative == tf::Derivative::missing;
    if (missing || !tf::is_floating(y.dtype())) return;
    tf::HostTensor ones = x[0];
    for (std::int64_t i = 0; i < ones.size(); ++i) ones.set(i, 1);
    const AnyExpr dy = input(g, 9, ones);
    feeds.emplace(name(9), ones);
    tf::Pool<tf::Id> of_y;
    tf::Pool<tf::Id> of_dy;
    tf::Pool<tf::Id> of_x;
    of_y.push(y.id);
    of_dy.push(dy.id);
    for (const AnyExpr& e : inputs) of_x.push(e.id);
    for (const tf::Id id : tf::detail::gradients_of(g, of_y, of_dy, of_x)) gradients.push_back(id);
  }
  tf::HostTensor interpreted(tf::Id id) { return tf::Interpreter(g).run_values({id}, feeds)[0]; }
  /// In registers of elements of 4 bytes, or of 8.
  tf::HostTensor computed(tf::Id id, bool wide) {
    return LaneInterpreter(g, wide).run_values({id}, feeds)[0];
  }
};

/// Whether kernels of elements of this many bytes take the type.
bool fits(DType type, bool wide) {
  return wide ? !tf::is_half_precision(type) : type != DType::float64;
}

void check(const Case& c, DType type) {
  INFO(std::string(c.function), " of ", std::string(tf::name_of(type)));
  Traced f(c, type);
  const bool half = tf::is_half_precision(type);
  const tf::HostTensor y = f.interpreted(f.y.id);
  for (const bool wide : {false, true}) {
    if (!fits(type, wide)) continue;
    compare("registers", f.computed(f.y.id, wide), y, f.x, half ? 2 : 2 * c.units);
    for (const tf::Id id : f.gradients) {
      if (id == tf::none) continue;
      compare("gradient", f.computed(id, wide), f.interpreted(id), f.x, half ? 8 : 1e5);
    }
  }
  if (c.expected == nullptr) return;
  tf::HostTensor expected = y;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    double at[3] = {};
    for (std::size_t k = 0; k < f.x.size(); ++k) at[k] = f.x[k].value(i);
    expected.set(i, c.expected(at, type));
  }
  compare("interpreter", y, expected, f.x, half ? std::max(16.0, c.units) : c.units);
}

/// Functions of complex numbers, whose results must be those of the interpreter but for some units
/// in the last place.
struct ComplexCase {
  AnyExpr (*call)(const AnyExpr* z);
  double units = 0;
};
constexpr ComplexCase complex_cases[] = {
    {[](const AnyExpr* z) -> AnyExpr { return -z[0]; }},
    {[](const AnyExpr* z) -> AnyExpr { return tf::square(z[0]); }},
    {[](const AnyExpr* z) -> AnyExpr { return tf::sqrt(z[0]); }},
    {[](const AnyExpr* z) -> AnyExpr { return tf::rsqrt(z[0]); }},
    {[](const AnyExpr* z) -> AnyExpr { return tf::reciprocal(z[0]); }, 1},
    {[](const AnyExpr* z) -> AnyExpr { return tf::exp(z[0]); }, 4},
    {[](const AnyExpr* z) -> AnyExpr { return tf::log(z[0]); }},
    {[](const AnyExpr* z) -> AnyExpr { return tf::sin(z[0]); }},
    {[](const AnyExpr* z) -> AnyExpr { return tf::cos(z[0]); }},
    {[](const AnyExpr* z) -> AnyExpr { return tf::tanh(z[0]); }},
    {[](const AnyExpr* z) -> AnyExpr { return tf::sigmoid(z[0]); }},
    {[](const AnyExpr* z) -> AnyExpr { return tf::real(z[0]); }},
    {[](const AnyExpr* z) -> AnyExpr { return tf::imag(z[0]); }},
    {[](const AnyExpr* z) -> AnyExpr { return tf::angle(z[0]); }, 3},
    {[](const AnyExpr* z) -> AnyExpr { return tf::complex_abs(z[0]); }, 2},
    {[](const AnyExpr* z) -> AnyExpr { return tf::conj(z[0]); }},
    {[](const AnyExpr* z) -> AnyExpr { return tf::complex(tf::real(z[0]), tf::imag(z[0])); }},
    {[](const AnyExpr* z) -> AnyExpr { return z[0] + z[1]; }},
    {[](const AnyExpr* z) -> AnyExpr { return z[0] - z[1]; }},
    {[](const AnyExpr* z) -> AnyExpr { return z[0] * z[1]; }},
    {[](const AnyExpr* z) -> AnyExpr { return z[0] / z[1]; }, 1},
    {[](const AnyExpr* z) -> AnyExpr { return tf::equal(z[0], z[1]); }},
    {[](const AnyExpr* z) -> AnyExpr { return tf::not_equal(z[0], z[1]); }},
    {[](const AnyExpr* z) -> AnyExpr { return where(tf::equal(z[0], z[1]), z[0], z[1]); }},
    {[](const AnyExpr* z) -> AnyExpr { return tf::cast_to(z[0], DType::boolean); }},
    {[](const AnyExpr* z) -> AnyExpr { return tf::cast_to(z[0], DType::float32); }},
    {[](const AnyExpr* z) -> AnyExpr { return tf::cast_to(tf::real(z[0]), z[0].dtype()); }},
};

/// Real or imaginary parts.
tf::HostTensor part_of(const tf::HostTensor& z, bool imaginary) {
  if (!tf::is_complex(z.dtype)) return z;
  const DType type = z.dtype == DType::complex64 ? DType::float32 : DType::float64;
  tf::HostTensor x = tf::host_tensor(type, z.dims);
  for (std::int64_t i = 0; i < z.size(); ++i) x.set(i, imaginary ? z[i].imaginary : z[i].real);
  return x;
}

/// Once, for all test cases.
void fill_table() {
  if (!table().empty()) return;
  using C = std::complex<float>;
  using D = std::complex<double>;
  add_all<false, float, tf::bfloat16, tf::float16, bool, C>(bodies::All{});
  add_all<true, double, float, bool, C, D>(bodies::All{});
  add_casts<false, float, tf::bfloat16, tf::float16, bool>();
  add_casts<false, tf::bfloat16, float, bool>();
  add_casts<false, tf::float16, float, bool>();
  add_casts<true, double, bool>();
  add_casts<true, float, bool, C, D>();
  add_casts<true, double, D>();
  add_casts<false, float, C>();
  add_casts<false, C, float, bool>();
  add_casts<true, C, float, bool, D>();
  add_casts<true, D, float, bool, C>();
}

}  // namespace

TEST_CASE("elementwise operations at zeros, infinities, NaN and denormal numbers") {
  fill_table();
  MESSAGE(std::string(Arch::name()), ", ", table().size(), " bodies");
  for (const DType type : {DType::float32, DType::float64, DType::bfloat16, DType::float16}) {
    for (const Case& c : cases) check(c, type);
  }
  for (const Case& c : logical_cases) check(c, DType::boolean);
}

TEST_CASE("elementwise operations on complex numbers of zeros, infinities and NaN") {
  fill_table();
  for (const DType type : {DType::complex64, DType::complex128}) {
    const DType part = type == DType::complex64 ? DType::float32 : DType::float64;
    const std::vector<tf::HostTensor> parts = combinations(part, 4, true);
    tf::Graph g;
    tf::HostTensors feeds;
    std::vector<AnyExpr> z;
    for (std::size_t k = 0; k < 2; ++k) {
      tf::HostTensor x = tf::host_tensor(type, parts[0].dims);
      for (std::int64_t i = 0; i < x.size(); ++i) {
        x[i] = {parts[2 * k].value(i), 0, parts[2 * k + 1].value(i)};
      }
      z.push_back(input(g, static_cast<int>(k), x));
      feeds.emplace(name(k), x);
    }
    int number = 0;
    for (const ComplexCase& c : complex_cases) {
      CAPTURE(number++);
      const tf::Id y = c.call(z.data()).id;
      const tf::HostTensor expected = tf::Interpreter(g).run_values({y}, feeds)[0];
      for (const bool wide : {false, true}) {
        if (!wide && type == DType::complex128) continue;
        const tf::HostTensor got = LaneInterpreter(g, wide).run_values({y}, feeds)[0];
        for (const bool imaginary : {false, true}) {
          compare(wide ? "wide registers" : "registers", part_of(got, imaginary),
                  part_of(expected, imaginary), parts, c.units);
        }
      }
    }
  }
}

TEST_CASE("all elementwise operations are tested at special numbers") {
  std::set<std::string_view> tested(std::begin(others), std::end(others));
  for (const Case& c : cases) tested.insert(c.function);
  for (const Case& c : logical_cases) tested.insert(c.function);
  for (const Row& row : elementwise_rows) {
    CAPTURE(std::string(row.function));
    CHECK(tested.count(row.function) == 1);
  }
}

TEST_CASE("gradients of elementwise functions are NaN at NaN, and not at zeros and infinities") {
  // With poles at negative integers.
  const std::set<std::string_view> poles = {"lgamma", "trigamma", "polygamma"};
  const std::set<std::string_view> of_two = {"maximum", "minimum", "pow", "atan2"};
  for (const Case& c : cases) {
    if (c.inputs > 1 && of_two.count(c.function) == 0) continue;
    CAPTURE(std::string(c.function));
    Traced f(c, DType::float64);
    const tf::HostTensor y = f.interpreted(f.y.id);
    for (const tf::Id id : f.gradients) {
      if (id == tf::none) continue;
      const tf::HostTensor dx = f.interpreted(id);
      for (std::int64_t i = 0; i < dx.size(); ++i) {
        const double a = f.x[0].value(i);
        const double b = f.x.back().value(i);
        CAPTURE(a);
        CAPTURE(b);
        const bool linear = c.function == "neg" || (c.function == "pow" && b == 1);
        const bool jump = c.function == "atan2" && a * a + b * b == 0;
        if (std::isnan(a) || std::isnan(b)) {
          if (std::isnan(y.value(i)) && !linear) CHECK(std::isnan(dx.value(i)));
        } else if (!std::isnan(y.value(i)) && poles.count(c.function) == 0 && !jump) {
          CHECK(!std::isnan(dx.value(i)));
        }
      }
    }
  }
}
