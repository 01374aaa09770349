// SPDX-License-Identifier: Apache-2.0

// Gradients through complex numbers, against central differences: for real tensors that complex
// ones are made of, and for complex tensors by the derivatives for both of their parts.

#include <doctest/doctest.h>

#include <complex>
#include <string>

#include "support/check_gradients.hpp"
#include "typeflow/control_flow.hpp"
#include "typeflow/indexing.hpp"
#include "typeflow/signal.hpp"

namespace {

namespace tf = typeflow;
using Z = std::complex<double>;
using Matrix = tf::Shape<3, 4>;
using Cube = tf::Shape<2, 3, 5>;

/// A real number for each of z's, which depends on both parts.
constexpr auto both_parts(const auto& z) { return 2 * real(z) + 3 * square(imag(z)); }

}  // namespace

TEST_CASE("complex: gradient") {
  test::check_gradients<Matrix, Matrix>([](const auto& a, const auto& b) {
    const auto z = complex(a, b);
    return real(z) * imag(z);
  });
  test::check_gradients<Matrix, tf::Shape<4>>(  // which broadcasts
      [](const auto& a, const auto& b) { return both_parts(complex(a, b)); });
}
TEST_CASE("real: gradient") {
  test::check_gradients<Matrix>([](const auto& a) { return square(real(complex(a, a + 1))); });
}
TEST_CASE("imag: gradient") {
  test::check_gradients<Matrix>([](const auto& a) { return square(imag(complex(a, a + 1))); });
}
TEST_CASE("conj: gradient") {
  test::check_gradients<Matrix, Matrix>(
      [](const auto& a, const auto& b) { return both_parts(conj(complex(a, b))); });
}
TEST_CASE("complex_abs: gradient") {
  test::check_gradients<Matrix, Matrix>(
      [](const auto& a, const auto& b) { return complex_abs(complex(a, b)); },
      {.low = 0.5, .high = 2});
}
TEST_CASE("angle: gradient") {
  test::check_gradients<Matrix, Matrix>(
      [](const auto& a, const auto& b) { return angle(complex(a, b)); }, {.low = 0.5, .high = 2});
}
TEST_CASE("gradients of conversions from and to complex numbers") {
  test::check_gradients<Matrix>([](const auto& a) {
    const auto z = tf::cast<Z>(a);
    return tf::cast<double>(z * z);  // the real part
  });
}

TEST_CASE("gradients of arithmetic of complex numbers") {
  test::check_gradients<Matrix, Matrix>([](const auto& a, const auto& b) {
    const auto z = complex(a, b);
    const auto w = complex(b + 1, a * a);
    return both_parts(z * w + z - w * w - (-w));
  });
  test::check_gradients<Matrix, Matrix>(
      [](const auto& a, const auto& b) { return both_parts(complex(a, b) / complex(b, a + 1)); },
      {.low = 0.5, .high = 2});
  test::check_gradients<Matrix, tf::Shape<4>>([](const auto& a, const auto& b) {
    return both_parts(complex(a, a + 1) * complex(b, 2 * b));  // broadcasts
  });
  test::check_gradients<Matrix, Matrix>([](const auto& a, const auto& b) {  // twice
    const auto z = complex(a, b);
    return tf::gradients(sum(both_parts(z * z * z)), a);
  });
}

TEST_CASE("gradients of complex numbers that are moved") {
  test::check_gradients<Matrix, Matrix>([](const auto& a, const auto& b) {
    const auto z = complex(a, b);
    const auto moved =
        concat<0>(transpose<1, 0>(z), tf::reshape<2, 3>(slice<tf::whole, tf::range(1, 3)>(z)));
    return both_parts(reverse<0>(tf::pad<1, 0, 0, 1>(moved)) + sum(z));
  });
}

TEST_CASE("fft: gradient") {
  test::check_gradients<Cube, Cube>(
      [](const auto& a, const auto& b) { return both_parts(tf::fft(complex(a, b))); });
}
TEST_CASE("ifft: gradient") {
  test::check_gradients<Cube, Cube>(
      [](const auto& a, const auto& b) { return both_parts(tf::ifft(complex(a, b))); });
}
TEST_CASE("fft2d: gradient") {
  test::check_gradients<Cube, Cube>(
      [](const auto& a, const auto& b) { return both_parts(tf::fft2d(complex(a, b))); });
}
TEST_CASE("ifft2d: gradient") {
  test::check_gradients<Cube, Cube>(
      [](const auto& a, const auto& b) { return both_parts(tf::ifft2d(complex(a, b))); });
}
TEST_CASE("fft3d: gradient") {
  test::check_gradients<Cube, Cube>(
      [](const auto& a, const auto& b) { return both_parts(tf::fft3d(complex(a, b))); });
}
TEST_CASE("ifft3d: gradient") {
  test::check_gradients<Cube, Cube>(
      [](const auto& a, const auto& b) { return both_parts(tf::ifft3d(complex(a, b))); });
}
TEST_CASE("rfft: gradient") {
  test::check_gradients<Cube>([](const auto& x) { return both_parts(tf::rfft(x)); });
}
TEST_CASE("rfft2d: gradient") {
  test::check_gradients<Cube>([](const auto& x) { return both_parts(tf::rfft2d(x)); });
}
TEST_CASE("rfft3d: gradient") {
  test::check_gradients<Cube>([](const auto& x) { return both_parts(tf::rfft3d(x)); });
}
TEST_CASE("gradients of transforms of an even number of reals") {
  using Even = tf::Shape<2, 3, 6>;
  test::check_gradients<Even>([](const auto& x) { return both_parts(tf::rfft(x)); });
  test::check_gradients<Even>([](const auto& x) { return both_parts(tf::rfft2d(x)); });
  test::check_gradients<Even>([](const auto& x) { return both_parts(tf::rfft3d(x)); });
  test::check_gradients<tf::Shape<2, 4>>([](const auto& x) {
    return tf::gradients(sum(square(square(complex_abs(tf::rfft(x))))), x);
  });
}
TEST_CASE("irfft: gradient") {
  test::check_gradients<Cube, Cube>([](const auto& a, const auto& b) {
    return square(tf::irfft(complex(a, b))) + sum(square(tf::irfft<5>(complex(a, b))));
  });
}
TEST_CASE("irfft2d: gradient") {
  test::check_gradients<Cube, Cube>([](const auto& a, const auto& b) {
    return square(tf::irfft2d(complex(a, b))) + sum(square(tf::irfft2d<5>(complex(a, b))));
  });
}
TEST_CASE("irfft3d: gradient") {
  test::check_gradients<Cube, Cube>([](const auto& a, const auto& b) {
    return square(tf::irfft3d(complex(a, b))) + sum(square(tf::irfft3d<5>(complex(a, b))));
  });
}
TEST_CASE("gradients of gradients of Fourier transforms") {
  test::check_gradients<tf::Shape<2, 5>>([](const auto& x) {
    return tf::gradients(sum(square(square(complex_abs(tf::rfft(x))))), x);
  });
}

TEST_CASE("the gradient for a complex tensor has the derivatives for its parts") {
  // Of |z|^2: 2 z. Of Re(c z): the conjugate of c.
  test::check_gradients<Matrix, Matrix>([](const auto& a, const auto& b) {
    const auto z = complex(a, b);
    const auto dz = tf::gradients(sum(square(real(z)) + square(imag(z))), z);
    return real(dz) - 2 * a + imag(dz) - 2 * b + a;  // a, if that is so
  });
  tf::Graph g;
  auto z = tf::placeholder<Z, 2>(g, "z");
  auto c = tf::constant<Z>(g, Z(3, 4));
  tf::gradients(sum(real(c * z)), z).named("dz");
  const tf::HostTensor fed{tf::DType::complex128, z.type.dims, {{1, 0, 2}, {0, 0, -1}}};
  const tf::HostTensors values = tf::interpret(g, {{"z", fed}});
  for (const tf::Number& number : values.at("dz").elements) {
    CHECK(number.real == 3);
    CHECK(number.imaginary == -4);
  }
}

TEST_CASE("the gradient of the absolute value of 0 is 0") {
  tf::Graph g;
  auto z = tf::placeholder<Z, 1>(g, "z");
  tf::gradients(sum(complex_abs(z)), z).named("dz");
  const tf::HostTensor fed{tf::DType::complex128, z.type.dims, {{0, 0, 0}}};
  const tf::HostTensors values = tf::interpret(g, {{"z", fed}});
  CHECK(values.at("dz").elements[0].real == 0);
  CHECK(values.at("dz").elements[0].imaginary == 0);
}

TEST_CASE("a gradient through complex numbers without a rule for them is an error") {
  const auto message = [](const auto& model) {
    try {
      tf::Graph g;
      model(g);
    } catch (const tf::Error& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  CHECK(message([](tf::Graph& g) {
          auto x = tf::placeholder<double, 2>(g, "x");
          tf::gradients(sum(real(exp(complex(x, x)))), x);
        }).find("no gradient of complex numbers is defined for Exp") != std::string::npos);
  // Not left out beside another path.
  CHECK(message([](tf::Graph& g) {
          auto x = tf::placeholder<double, 2>(g, "x");
          tf::gradients(sum(real(cumsum<0>(complex(x, x))) + x), x);
        }).find("no gradient of complex numbers is defined for CumSum") != std::string::npos);
  CHECK(message([](tf::Graph& g) {
          auto x = tf::placeholder<double, 2>(g, "x");
          auto start = complex(x, x);
          auto y = tf::fori_loop(0, 3, [](auto, auto v) { return v + v; }, start);
          tf::gradients(sum(real(y) + x), x);
        }) != "none");
}
