// SPDX-License-Identifier: Apache-2.0
#pragma once

// The command line and the cases of the programs of this folder:
// GROUP [--filter TEXT] [--seconds S] [--threads N] [--results FOLDER] [--bandwidth yes]
// [--shares yes].
//
// Each program has the cases of one group: single operations and their gradients. It prints a line
// a case, `name=... ms=... gb_per_s=...`: the best of the repetitions made in S seconds (default:
// 0.5). On one thread that is the processor's time, which other programs on the machine disturb
// less; on more threads it is the clock's. The rate counts the bytes of the operands and of the
// result. With --bandwidth the first line has the rate of a copy of a Matrix. With --shares a line
// has `share=...`, too: the rate of the operands that kernels read and of the result over that of a
// copy that moves as many bytes; for one thread. With
// --results it also writes each result's elements to FOLDER/NAME.TYPE. The script bench/run runs
// these programs beside their peers, whose cases have the same names and the same operands
// (peers/cases).
//
// A case is a program of a session. Its operands are fed from the caller's memory and its result is
// fetched into such; kernels read and write both in place. So the kernels are measured, and a
// microsecond for the run. The memory is aligned as PyTorch's and JAX's is.

#include <algorithm>
#include <chrono>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <typeflow/typeflow.hpp>

#include "../copy_rate.hpp"

namespace bench {

namespace tf = typeflow;

/// Element i of operand number `operand` is made of these bits (splitmix64 of Steele, Lea and
/// Flood, 2014). peers/operands.py has the same.
constexpr std::uint64_t bits(std::uint64_t operand, std::uint64_t i) {
  std::uint64_t z = ((operand << 40) + i + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// Operands: an element type, a rule for the elements, extents.

/// The sum of three uniform numbers: mean 0, deviation 1, in (-3, 3), never 0. Both parts of
/// complex numbers are such.
template <class T, tf::Extent... D>
struct Normal {
  using element = T;
  using shape = tf::Shape<D...>;
  static float number(std::uint64_t z) {
    constexpr std::uint64_t mask = (1u << 21) - 1;
    const std::uint64_t sum = (z & mask) + (z >> 21 & mask) + (z >> 42 & mask);
    return static_cast<float>(2 * static_cast<std::int64_t>(sum) - 6291453) * 0x1p-21f;
  }
  static T at(std::uint64_t z) {
    if constexpr (tf::is_complex(tf::dtype_of<T>)) {
      return {number(z), number(z * 0xD6E8FEB86659FD93u)};
    } else {
      return static_cast<T>(number(z));
    }
  }
};
/// In [0.1, 3.1).
template <class T, tf::Extent... D>
struct Positive : Normal<T, D...> {
  static T at(std::uint64_t z) {
    return static_cast<T>(std::abs(Normal<T, D...>::number(z)) + 0.1f);
  }
};
/// Integers in [Low, High), or booleans.
template <class T, std::int64_t Low, std::int64_t High, tf::Extent... D>
struct Between {
  using element = T;
  using shape = tf::Shape<D...>;
  static T at(std::uint64_t z) {
    return static_cast<T>(Low + static_cast<std::int64_t>((z >> 11) % (High - Low)));
  }
};

inline constexpr int rows = 4096;
inline constexpr int columns = 1024;
/// What most cases take.
using Matrix = Normal<float, rows, columns>;

namespace detail {

/// "a", "b", ...
template <std::size_t I>
inline constexpr tf::Text<2> name = [] {
  tf::Text<2> text("a");
  text.characters[0] = static_cast<char>('a' + I);
  return text;
}();

template <class T, class S>
struct ExprOf;
template <class T, tf::Extent... D>
struct ExprOf<T, tf::Shape<D...>> {
  using type = tf::Expr<T, tf::Shape<D...>>;
  static constexpr type placeholder(tf::Graph& g, tf::Label label) {
    return tf::placeholder<T, D...>(g, label);
  }
  static constexpr std::size_t count = (std::size_t{1} * ... * static_cast<std::size_t>(D));
};
template <class Operand>
using expr_of = ExprOf<typename Operand::element, typename Operand::shape>;

/// F's result: F takes the graph if there are no operands.
template <auto F, class... Operands>
auto result_of() {
  if constexpr (sizeof...(Operands) == 0) {
    return decltype(F(std::declval<tf::Graph&>())){};
  } else {
    return decltype(F(std::declval<typename expr_of<Operands>::type>()...)){};
  }
}
template <auto F, class... Operands>
using result_t = decltype(result_of<F, Operands...>());

template <auto F, class... Operands, std::size_t... I>
constexpr auto apply(tf::Graph& g, std::index_sequence<I...>) {
  if constexpr (sizeof...(Operands) == 0) {
    return F(g);
  } else {
    return F(expr_of<Operands>::placeholder(g, name<I>.characters)...);
  }
}
template <auto F, class... Operands>
constexpr void value(tf::Graph& g) {
  apply<F, Operands...>(g, std::index_sequence_for<Operands...>{}).named("result");
}
/// With respect to the first operand; the last one is the result's gradient.
template <auto F, class First, class... Others>
constexpr void gradient(tf::Graph& g) {
  const auto trace = [&]<std::size_t... I>(std::index_sequence<I...>) {
    auto x = expr_of<First>::placeholder(g, name<0>.characters);
    auto y = F(x, expr_of<Others>::placeholder(g, name<I + 1>.characters)...);
    using Y = decltype(y);
    auto dy = ExprOf<typename Y::element, typename Y::shape>::placeholder(
        g, name<sizeof...(Others) + 1>.characters);
    tf::gradients(y, tf::grad_ys(dy), x).named("result");
  };
  trace(std::index_sequence_for<Others...>{});
}
template <class Y>
struct GradientOf;
template <class T, tf::Extent... D>
struct GradientOf<tf::Expr<T, tf::Shape<D...>>> {
  using type = Normal<T, D...>;
};

/// Elements in memory of their own.
template <class T>
class Elements {
 public:
  explicit Elements(std::size_t count)
      : bytes_(static_cast<std::int64_t>(count * sizeof(T))), count_(count) {}
  template <class Operand>
  static Elements of(std::uint64_t number) {
    Elements x(expr_of<Operand>::count);
    for (std::size_t i = 0; i < x.count_; ++i) x.data()[i] = Operand::at(bits(number, i));
    return x;
  }
  T* data() const { return reinterpret_cast<T*>(bytes_.data()); }
  std::span<T> span() const { return {data(), count_}; }

 private:
  tf::AlignedBytes bytes_;
  std::size_t count_;
};

/// The bytes of the placeholders that steps read.
inline std::int64_t bytes_read(const tf::ir::ProgramView& program) {
  std::int64_t bytes = 0;
  for (const tf::ir::ProgramPlaceholder& placeholder : program.placeholders) {
    const auto reads = [&](const tf::ir::Step& step) {
      const tf::Id* operands = program.operands.begin() + step.operands.first;
      return std::find(operands, operands + step.inputs, placeholder.slot) !=
             operands + step.inputs;
    };
    if (std::any_of(program.steps.begin(), program.steps.end(), reads)) {
      const tf::Type& type = program.type_of(placeholder.slot);
      bytes += tf::count_of(type.dims).coefficient * tf::size_of(type.dtype);
    }
  }
  return bytes;
}

template <class T>
constexpr const char* type_name() {
  if constexpr (std::is_same_v<T, bool>) return "bool";
  if constexpr (std::is_same_v<T, float>) return "float32";
  if constexpr (std::is_same_v<T, double>) return "float64";
  if constexpr (std::is_same_v<T, tf::bfloat16>) return "bfloat16";
  if constexpr (std::is_same_v<T, tf::float16>) return "float16";
  if constexpr (std::is_same_v<T, std::int8_t>) return "int8";
  if constexpr (std::is_same_v<T, std::uint8_t>) return "uint8";
  if constexpr (std::is_same_v<T, std::int16_t>) return "int16";
  if constexpr (std::is_same_v<T, std::int32_t>) return "int32";
  if constexpr (std::is_same_v<T, std::int64_t>) return "int64";
  if constexpr (std::is_same_v<T, std::complex<float>>) return "complex64";
}

}  // namespace detail

/// A group's cases, as its main function calls them.
class Cases {
 public:
  Cases(int argc, char** argv) {
    bool bandwidth = false;
    for (int i = 1; i < argc; i += 2) {
      const std::string_view option = argv[i];
      if (i + 1 < argc && option == "--filter") {
        filter_ = argv[i + 1];
      } else if (i + 1 < argc && option == "--seconds") {
        seconds_ = std::atof(argv[i + 1]);
      } else if (i + 1 < argc && option == "--threads") {
        threads_ = std::atoi(argv[i + 1]);
      } else if (i + 1 < argc && option == "--results") {
        results_ = argv[i + 1];
      } else if (i + 1 < argc && option == "--bandwidth") {
        bandwidth = std::string_view(argv[i + 1]) == "yes";
      } else if (i + 1 < argc && option == "--shares") {
        shares_ = std::string_view(argv[i + 1]) == "yes";
      } else {
        std::fprintf(stderr,
                     "usage: %s [--filter TEXT] [--seconds S] [--threads N] "
                     "[--results FOLDER] "
                     "[--bandwidth yes] [--shares yes]\n",
                     argv[0]);
        std::exit(2);
      }
    }
    if (bandwidth) print_bandwidth();
  }

  /// F of the operands.
  template <auto F, class... Operands>
  void value(std::string_view name) {
    run<detail::value<F, Operands...>, detail::result_t<F, Operands...>, Operands...>(name);
  }
  /// The gradient of F for the first operand, of the operands and the result's gradient.
  template <auto F, class First, class... Others>
  void gradient(std::string_view name) {
    using Y = detail::result_t<F, First, Others...>;
    run<detail::gradient<F, First, Others...>, typename detail::expr_of<First>::type, First,
        Others..., typename detail::GradientOf<Y>::type>(std::string(name) + "_gradient");
  }
  template <auto F, class First, class... Others>
  void both(std::string_view name) {
    value<F, First, Others...>(name);
    gradient<F, First, Others...>(name);
  }

  bool chosen(std::string_view name) const { return name.find(filter_) != std::string_view::npos; }
  int threads() const { return threads_; }
  /// Measures a call whose operands and result have so many bytes, and that moves `moved`.
  template <class F>
  void time(std::string_view name, const F& call, std::size_t bytes, std::int64_t moved = 0) const {
    const double seconds = best_seconds(call);
    std::printf("name=%.*s ms=%.5f gb_per_s=%.2f", static_cast<int>(name.size()), name.data(),
                seconds * 1e3, static_cast<double>(bytes) / seconds * 1e-9);
    if (shares_ && moved > 0) {
      std::printf(" share=%.2f", static_cast<double>(moved) / seconds / rate_of_copy(moved));
    }
    std::printf("\n");
    std::fflush(stdout);
  }

 private:
  template <auto Model, class Y, class... Operands>
  void run(std::string_view name) {
    if (!chosen(name)) return;
    using T = typename Y::element;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      const std::tuple operands(
          detail::Elements<typename Operands::element>::template of<Operands>(I)...);
      const detail::Elements<T> result(detail::ExprOf<T, typename Y::shape>::count);
      tf::Variables variables;
      tf::Session<Model> session(variables, {.seed = 1, .threads = threads_});
      const std::size_t bytes =
          (result.span().size_bytes() + ... + std::get<I>(operands).span().size_bytes());
      const std::int64_t read = detail::bytes_read(tf::ir::Lowering<Model>::view);
      const std::int64_t moved =
          read == 0 ? 0 : read + static_cast<std::int64_t>(result.span().size_bytes());
      time(
          name,
          [&] {
            session.run(tf::feed<detail::name<I>>(std::get<I>(operands).span())...,
                        tf::into<"result">(result.span()));
          },
          bytes, moved);
      save(name, detail::type_name<T>(), result.data(), result.span().size_bytes());
    }(std::index_sequence_for<Operands...>{});
  }

  double now() const {
    timespec t{};
    clock_gettime(threads_ == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  }
  double seconds_of(void (*call)(const void*), const void* f, int calls) const {
    const double start = now();
    for (int i = 0; i < calls; ++i) call(f);
    return (now() - start) / calls;
  }
  template <class F>
  double best_seconds(const F& call) const {
    return best_seconds([](const void* f) { (*static_cast<const F*>(f))(); }, &call);
  }
  /// Short calls are timed several at once, some 0.2 ms.
  double best_seconds(void (*call)(const void*), const void* f) const {
    call(f);
    double best = seconds_of(call, f, 1);
    const int calls = static_cast<int>(std::clamp(2e-4 / best, 1.0, 1000.0));
    const double start = now();
    for (int n = 0; n < 3 || now() - start < seconds_; ++n) {
      best = std::min(best, seconds_of(call, f, calls));
    }
    return best;
  }
  /// Bytes a second of a copy, see copy_rate.
  double rate_of_copy(std::int64_t moved) const {
    double& rate = copies_[moved];
    if (rate == 0) {
      rate = copy_rate(static_cast<std::size_t>(moved),
                       [&](const auto& call) { return best_seconds(call); });
    }
    return rate;
  }
  void print_bandwidth() const {
    constexpr std::int64_t size = std::int64_t{rows} * columns * sizeof(float);
    std::printf("copy_gb_per_s=%.2f\n", 1e-9 * rate_of_copy(2 * size));
  }
  void save(std::string_view name, const char* type, const void* data, std::size_t size) const {
    if (results_.empty()) return;
    const std::string path = results_ + "/" + std::string(name) + "." + type;
    std::FILE* file = std::fopen(path.c_str(), "wb");
    const bool written = file != nullptr && std::fwrite(data, 1, size, file) == size;
    if (file == nullptr || std::fclose(file) != 0 || !written) {
      std::fprintf(stderr, "%s: cannot be written\n", path.c_str());
      std::exit(1);
    }
  }

  std::string filter_;
  double seconds_ = 0.5;
  int threads_ = 1;
  bool shares_ = false;
  std::string results_;
  mutable std::map<std::int64_t, double> copies_;  ///< rates by the bytes moved
};

}  // namespace bench
