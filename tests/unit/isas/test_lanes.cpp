// SPDX-License-Identifier: Apache-2.0

// Registers of every element type of one instruction set: loads and stores of all and of some
// elements, conversions between any two types, comparisons, selections, sums and products of
// integers, and roundings to 16 bits, against plain loops. CMakeLists.txt builds this file once for
// each instruction set.

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <typeflow/cpu/apply.hpp>
#include <typeflow/cpu/folds.hpp>
#include <typeflow/graph.hpp>
#include <typeflow/operations.hpp>

namespace {

namespace tf = typeflow;
namespace cpu_kernels = tf::cpu_kernels;

using Arch = cpu_kernels::DefaultArch;
template <bool Wide>
using Lanes = cpu_kernels::Lanes<Wide, Arch>;

template <class... T>
struct Types {};
using Integers = Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                       std::uint16_t, std::uint32_t, std::uint64_t>;
using Numbers =
    Types<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
          std::uint32_t, std::uint64_t, tf::bfloat16, tf::float16, float, double>;

/// Calls f.operator()<T>() for each type that registers of this width hold.
template <bool Wide, class... T, class F>
void each(Types<T...>, const F& f) {
  const auto call = [&]<class One>() {
    if constexpr (Wide || sizeof(One) <= 4) f.template operator()<One>();
  };
  (call.template operator()<T>(), ...);
}
template <class F>
void each_width(const F& f) {
  f.template operator()<false>();
  f.template operator()<true>();
}

template <class T>
inline constexpr bool is_floating = tf::detail::is_real_floating<T>;
template <class T>
std::string name() {
  return std::string(tf::name_of(tf::dtype_of<T>));
}

/// Numbers at which conversions, sums and comparisons may go wrong, then others.
template <class T>
std::vector<T> samples() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> x;
  if constexpr (std::is_same_v<T, bool>) {
    for (int i = 0; i < 67; ++i) x.push_back(i % 3 == 0 || i % 5 == 1);
    return x;
  } else if constexpr (is_floating<T>) {
    for (const double magnitude : {0.0,
                                   0.25,
                                   0.5,
                                   0.99999,
                                   1.0,
                                   1.5,
                                   2.5,
                                   7.75,
                                   126.99,
                                   127.0,
                                   127.5,
                                   128.0,
                                   128.5,
                                   129.0,
                                   254.9,
                                   255.0,
                                   255.5,
                                   256.0,
                                   32766.5,
                                   32767.0,
                                   32768.0,
                                   32769.0,
                                   65504.0,
                                   65535.0,
                                   65535.5,
                                   65536.0,
                                   8388609.0,
                                   16777217.0,
                                   2147483520.0,
                                   2147483647.0,
                                   2147483648.0,
                                   2147483904.0,
                                   4294967040.0,
                                   4294967295.0,
                                   4294967296.0,
                                   9007199254740993.0,
                                   9223371487098961920.0,
                                   9223372036854774784.0,
                                   9223372036854775808.0,
                                   18446742974197923840.0,
                                   18446744073709549568.0,
                                   18446744073709551616.0,
                                   1e30,
                                   0x1p-133,
                                   0x1p-149,
                                   0x1p-126,
                                   0x1.01p-126,
                                   0x1.008p0,
                                   0x1.018p0,
                                   0x1.01800001p0,
                                   0x1.002p0,
                                   0x1.006p0,
                                   3.4e38}) {
      x.push_back(T(magnitude));
      x.push_back(T(-magnitude));
    }
    x.push_back(Limits::infinity());
    x.push_back(T(-static_cast<double>(static_cast<float>(Limits::infinity()))));
    x.push_back(Limits::quiet_NaN());
    x.push_back(Limits::max());
    x.push_back(Limits::lowest());
    x.push_back(Limits::denorm_min());
  } else {
    for (int i = 0; i < 5; ++i) {
      x.push_back(static_cast<T>(i));
      x.push_back(static_cast<T>(-i));
      x.push_back(static_cast<T>(Limits::min() + static_cast<T>(i)));
      x.push_back(static_cast<T>(Limits::max() - static_cast<T>(i)));
      x.push_back(static_cast<T>(Limits::max() / 2 + static_cast<T>(i)));
    }
    for (const std::uint64_t n : {127u, 128u, 255u, 256u, 257u, 32767u, 32768u, 65535u, 65536u,
                                  65537u, 16777217u, 2147483520u, 2147483583u, 2147483648u}) {
      x.push_back(static_cast<T>(n));
      x.push_back(static_cast<T>(0 - n));
    }
    x.push_back(static_cast<T>(0x0123456789ABCDEF));
    x.push_back(static_cast<T>(0xFEDCBA9876543210));
    x.push_back(static_cast<T>(0x4000004000000001));  // a tie of float, but for its last bit
    x.push_back(static_cast<T>(0x0020000000000001));  // a tie of double
  }
  return x;
}

/// The bits of an element; of a NaN those of the quiet one.
template <class T>
std::uint64_t bits_of(T x) {
  if constexpr (is_floating<T>) {
    if (std::isnan(static_cast<double>(x))) x = std::numeric_limits<T>::quiet_NaN();
  }
  std::uint64_t bits = 0;
  std::memcpy(&bits, &x, sizeof x);
  return bits;
}

/// Calls f(register, first) for the samples, in registers of `size` elements; what is behind the
/// last one is the first one again.
template <class L, class T, class F>
void each_register(const std::vector<T>& x, const F& f) {
  for (std::size_t first = 0; first < x.size(); first += L::size) {
    T part[L::size];
    for (int i = 0; i < L::size; ++i) {
      part[i] = x[(first + static_cast<std::size_t>(i)) % x.size()];
    }
    f(part);
  }
}

/// What a cast gives, by the rule of the documentation.
template <class To, class From>
To converted(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return static_cast<double>(x) != 0;
  } else if constexpr (is_floating<From> && !is_floating<To>) {
    const auto wide = static_cast<long double>(static_cast<double>(x));
    if (std::isnan(wide)) return 0;
    if (wide <= static_cast<long double>(std::numeric_limits<To>::min())) {
      return std::numeric_limits<To>::min();
    }
    if (wide >= static_cast<long double>(std::numeric_limits<To>::max())) {
      return std::numeric_limits<To>::max();
    }
    return static_cast<To>(std::trunc(wide));
  } else if constexpr (tf::detail::is_half<From>) {
    return static_cast<To>(static_cast<float>(x));
  } else {
    return static_cast<To>(x);
  }
}

template <bool Wide, class From, class To>
[[gnu::noinline]] void convert_register(const From* in, To* out) {
  using L = Lanes<Wide>;
  L::template store<To>(out, cpu_kernels::convert<L, From, To>(L::load(in)));
}
template <bool Wide, class T>
[[gnu::noinline]] void copy_part(const T* in, T* out, int count) {
  using L = Lanes<Wide>;
  L::template store<T>(out, L::load(in, count), count);
}
/// All of a register whose first elements were loaded.
template <bool Wide, class T>
[[gnu::noinline]] void load_part(const T* in, T* out, int count) {
  using L = Lanes<Wide>;
  L::template store<T>(out, L::load(in, count));
}
template <bool Wide, class O, class R, class... X>
[[gnu::noinline]] void apply_register(R* out, const X*... in) {
  using L = Lanes<Wide>;
  L::template store<R>(out, cpu_kernels::apply_lanes<L, R, X...>(O{}, {}, L::load(in)...));
}

/// An operation of two integers in registers, and the same by `expected`.
template <bool Wide, class O, class T, class R, class F>
void check_pairs(const char* of, const F& expected) {
  using L = Lanes<Wide>;
  INFO(of, " of ", name<T>(), ", registers of ", L::size);
  const std::vector<T> x = samples<T>();
  int wrong = 0;
  for (const T b : x) {
    each_register<L>(x, [&](const T* a) {
      T second[L::size];
      std::fill_n(second, L::size, b);
      R y[L::size];
      apply_register<Wide, O, R>(y, a, second);
      for (int i = 0; i < L::size; ++i) wrong += y[i] != expected(a[i], b);
    });
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("registers convert every element type to every other one") {
  each_width([]<bool Wide>() {
    each<Wide>(Numbers{}, []<class From>() {
      const std::vector<From> x = samples<From>();
      each<Wide>(Numbers{}, [&]<class To>() {
        int wrong = 0;
        each_register<Lanes<Wide>>(x, [&](const From* in) {
          To out[Lanes<Wide>::size];
          convert_register<Wide>(in, out);
          for (int i = 0; i < Lanes<Wide>::size; ++i) {
            const To expected = converted<To>(in[i]);
            if (bits_of(out[i]) == bits_of(expected) || wrong++ > 3) continue;
            MESSAGE(name<From>() << " " << static_cast<double>(in[i]) << " to " << name<To>()
                                 << " in " << Lanes<Wide>::size << ": "
                                 << static_cast<double>(out[i]) << " instead of "
                                 << static_cast<double>(expected));
          }
        });
        CHECK(wrong == 0);
      });
    });
  });
}

TEST_CASE("registers load and store their first elements and nothing behind them") {
  each_width([]<bool Wide>() {
    each<Wide>(Numbers{}, []<class T>() {
      constexpr int size = Lanes<Wide>::size;
      INFO(name<T>(), ", registers of ", size);
      const std::vector<T> x = samples<T>();
      const T mark = x[1];
      for (int count = 1; count <= size; ++count) {
        // Exactly so many elements, so that the address sanitizer sees what is read behind them.
        const auto memory = std::make_unique<T[]>(static_cast<std::size_t>(count));
        T* const in = memory.get();
        for (int i = 0; i < count; ++i) in[i] = x[x.size() - 1 - static_cast<std::size_t>(i)];
        T out[size + 1];
        T copy[size + 1];
        std::fill_n(out, size + 1, mark);
        std::fill_n(copy, size + 1, mark);
        load_part<Wide>(in, out, count);
        copy_part<Wide>(in, copy, count);
        int wrong = 0;
        for (int i = 0; i <= size; ++i) {
          const T behind = i < size ? T(0) : mark;
          wrong += bits_of<T>(out[i]) != bits_of<T>(i < count ? in[i] : behind);
          wrong += bits_of<T>(copy[i]) != bits_of<T>(i < count ? in[i] : mark);
        }
        CHECK(wrong == 0);
      }
    });
  });
}

TEST_CASE_TEMPLATE("registers of complex numbers load, store and convert their parts", T, float,
                   double) {
  using C = std::complex<T>;
  each_width([]<bool Wide>() {
    constexpr int size = Lanes<Wide>::size;
    const std::vector<T> parts = samples<T>();
    const auto bits = [](const C& z) { return std::pair(bits_of(z.real()), bits_of(z.imag())); };
    std::vector<C> x;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      x.emplace_back(parts[i], parts[(7 * i + 3) % parts.size()]);
    }
    int wrong = 0;
    each_register<Lanes<Wide>>(x, [&](const C* all) {
      for (int count = 1; count <= size; ++count) {
        const auto memory = std::make_unique<C[]>(static_cast<std::size_t>(count));
        std::copy_n(all, count, memory.get());
        const C mark(-7, 8);
        C out[size + 1];
        C copy[size + 1];
        std::fill_n(out, size + 1, mark);
        std::fill_n(copy, size + 1, mark);
        load_part<Wide>(memory.get(), out, count);
        copy_part<Wide>(memory.get(), copy, count);
        for (int i = 0; i <= size; ++i) {
          wrong += bits(out[i]) != bits(i < count ? all[i] : i < size ? C(0) : mark);
          wrong += bits(copy[i]) != bits(i < count ? all[i] : mark);
        }
      }
      C out[size];
      apply_register<Wide, tf::ops::Conj, C>(out, all);
      for (int i = 0; i < size; ++i) wrong += bits(out[i]) != bits(std::conj(all[i]));
    });
    CHECK(wrong == 0);
    each<Wide>(Numbers{}, [&]<class Other>() {
      INFO(name<Other>(), " in ", size);
      int differ = 0;
      each_register<Lanes<Wide>>(x, [&](const C* in) {
        Other out[size];
        convert_register<Wide>(in, out);
        for (int i = 0; i < size; ++i) {
          const bool any = std::is_same_v<Other, bool> && in[i].imag() != T(0);
          differ += bits_of(out[i]) != bits_of(any ? Other(1) : converted<Other>(in[i].real()));
        }
      });
      each_register<Lanes<Wide>>(samples<Other>(), [&](const Other* in) {
        C out[size];
        convert_register<Wide>(in, out);
        for (int i = 0; i < size; ++i) differ += bits(out[i]) != bits(C(converted<T>(in[i])));
      });
      CHECK(differ == 0);
    });
  });
}

TEST_CASE("registers of integers wrap around, compare and choose as numbers do") {
  each_width([]<bool Wide>() {
    each<Wide>(Integers{}, []<class T>() {
      using U = std::uint64_t;
      check_pairs<Wide, tf::ops::Add, T, T>(
          "sum", [](T a, T b) { return static_cast<T>(static_cast<U>(a) + static_cast<U>(b)); });
      check_pairs<Wide, tf::ops::Sub, T, T>("difference", [](T a, T b) {
        return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
      });
      check_pairs<Wide, tf::ops::Mul, T, T>("product", [](T a, T b) {
        return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
      });
      check_pairs<Wide, tf::ops::Maximum, T, T>("maximum", [](T a, T b) { return std::max(a, b); });
      check_pairs<Wide, tf::ops::Minimum, T, T>("minimum", [](T a, T b) { return std::min(a, b); });
      check_pairs<Wide, tf::ops::Max, T, T>("max", [](T a, T b) { return std::max(a, b); });
      check_pairs<Wide, tf::ops::Min, T, T>("min", [](T a, T b) { return std::min(a, b); });
      check_pairs<Wide, tf::ops::Equal, T, bool>("equal", [](T a, T b) { return a == b; });
      check_pairs<Wide, tf::ops::NotEqual, T, bool>("not equal", [](T a, T b) { return a != b; });
      check_pairs<Wide, tf::ops::Less, T, bool>("less", [](T a, T b) { return a < b; });
      check_pairs<Wide, tf::ops::LessEqual, T, bool>("less equal", [](T a, T b) { return a <= b; });
      check_pairs<Wide, tf::ops::Greater, T, bool>("greater", [](T a, T b) { return a > b; });
      check_pairs<Wide, tf::ops::GreaterEqual, T, bool>("greater equal",
                                                        [](T a, T b) { return a >= b; });
      check_pairs<Wide, tf::ops::BitwiseXor, T, T>("xor",
                                                   [](T a, T b) { return static_cast<T>(a ^ b); });

      constexpr int size = Lanes<Wide>::size;
      const std::vector<bool> where = samples<bool>();
      each_register<Lanes<Wide>>(samples<T>(), [&](const T* x) {
        T y[size];
        T chosen[size];
        T negated[size];
        T magnitude[size];
        bool condition[size];
        for (int i = 0; i < size; ++i) {
          y[i] = static_cast<T>(i);
          condition[i] = where[static_cast<std::size_t>(i)];
        }
        apply_register<Wide, tf::ops::Select>(chosen, condition, x, y);
        apply_register<Wide, tf::ops::Neg>(negated, x);
        apply_register<Wide, tf::ops::Abs>(magnitude, x);
        for (int i = 0; i < size; ++i) {
          const T minus = static_cast<T>(0 - static_cast<std::uint64_t>(x[i]));
          CHECK(chosen[i] == (condition[i] ? x[i] : y[i]));
          CHECK(negated[i] == minus);
          CHECK(magnitude[i] == (x[i] < T(0) ? minus : x[i]));
        }
      });
    });
  });
}

TEST_CASE("registers round floats to bfloat16 as numbers are rounded, at every exponent") {
  using L = Lanes<false>;
  int wrong = 0;
  std::uint32_t number = 12345;
  for (std::uint32_t upper = 0; upper < 0x10000u; upper += L::size) {
    for (const std::uint32_t lower :
         {0u, 1u, 0x7FFFu, 0x8000u, 0x8001u, 0xFFFFu, number & 0xFFFFu}) {
      number = number * 1664525u + 1013904223u;
      float x[L::size];
      for (int i = 0; i < L::size; ++i) {
        x[i] = std::bit_cast<float>((upper + static_cast<std::uint32_t>(i)) << 16 | lower);
      }
      tf::bfloat16 y[L::size];
      convert_register<false>(x, y);
      for (int i = 0; i < L::size; ++i) {
        // Rounded in double: half the distance of two neighbours is exact there.
        const std::uint16_t expected = tf::detail::round_to_half<7>(static_cast<double>(x[i]));
        wrong += y[i].bits != expected;
      }
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("registers of positions count from any first one") {
  each_width([]<bool Wide>() {
    using L = Lanes<Wide>;
    std::int32_t y[L::size];
    L::template store<std::int32_t>(y, L::positions(1000000007));
    for (int i = 0; i < L::size; ++i) CHECK(y[i] == 1000000007 + i);
  });
}
