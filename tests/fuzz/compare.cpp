// SPDX-License-Identifier: Apache-2.0

#include "compare.hpp"

#include <cmath>
#include <cstring>

namespace fuzz {

namespace {

bool same_bits(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : std::memcmp(&a, &b, sizeof a) == 0;
}
bool same(const tf::HostTensor& a, const tf::HostTensor& b) {
  if (a.dtype != b.dtype || !(a.dims == b.dims) || a.size() != b.size()) return false;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    if (!same_bits(a[i].real, b[i].real) || a[i].integer != b[i].integer ||
        !same_bits(a[i].imaginary, b[i].imaginary)) {
      return false;
    }
  }
  return true;
}
double imaginary_difference(const tf::HostTensor& a, const tf::HostTensor& b) {
  double most = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const double d = std::abs(a[i].imaginary - b[i].imaginary);
    if (!(d <= 0)) most = std::max(most, std::isnan(d) ? 0 : d);
  }
  return most;
}
bool agree(const Model& model, const tf::HostTensor& a, const tf::HostTensor& b, bool bits,
           double looseness) {
  if (bits) return same(a, b);
  if (model.numbers == Numbers::wild) return a.dims == b.dims && a.dtype == b.dtype;
  const double tolerance = model.numbers == Numbers::exact ? 0
                           : a.dtype == tf::DType::float32 ? 2e-3 * looseness
                                                           : 1e-8 * looseness;
  return test::difference(a, b) <= tolerance && imaginary_difference(a, b) <= tolerance;
}

/// The first element that differs, as text.
std::string first_difference(const tf::HostTensor& a, const tf::HostTensor& b) {
  for (std::int64_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double x = a.value(i);
    const double y = b.value(i);
    if ((same_bits(x, y) && same_bits(a[i].imaginary, b[i].imaginary))) continue;
    return " at " + std::to_string(i) + ": " + std::to_string(x) + " and " + std::to_string(y);
  }
  return "";
}

}  // namespace

std::string compare(const Model& model, const Run& run, const Outcome& a, const Outcome& b,
                    bool bits, double looseness) {
  std::size_t next = 0;
  for (const std::string& name : run.fetches) {
    if (tf::ir::records(model.graph).is_token(model.id_of(name))) continue;
    const tf::HostTensor& x = a.values[next];
    const tf::HostTensor& y = b.values[next++];
    if (!agree(model, x, y, bits, looseness))
      return '"' + name + "\" differs" + first_difference(x, y);
  }
  for (const auto& [name, x] : a.variables) {
    const tf::HostTensor& y = b.variables.at(name);
    if (!agree(model, x, y, bits, looseness)) {
      return "variable \"" + name + "\" differs" + first_difference(x, y);
    }
  }
  return {};
}

}  // namespace fuzz
