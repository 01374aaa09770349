// SPDX-License-Identifier: Apache-2.0
#pragma once

// A random model: a graph, what its placeholders may be fed, and a sequence of runs.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "support/host_tensors.hpp"
#include "typeflow/interpret/interpret.hpp"

namespace fuzz {

namespace tf = typeflow;
using test::Random;

/// What results of two ways of computing can be compared by.
enum class Numbers {
  exact,   ///< floats are whole and so small that no sum rounds: all ways agree
  smooth,  ///< continuous functions of moderate numbers: they agree to a tolerance
  wild,    ///< anything: they agree where they do the same operations in the same order
};

/// What a tensor of the model may be fed.
struct Range {
  double low = 0;
  double high = 0;
  bool special = false;  ///< NaN, infinities, huge and tiny numbers among them
};

/// One run of the sequence: what it names, what it feeds besides placeholders, and the symbols.
struct Run {
  std::vector<std::string> fetches{};
  std::vector<std::string> feeds{};
  std::vector<std::string> left_out{};  ///< placeholders that it does not feed
  tf::SymbolSizes sizes{};
  std::uint64_t seed = 0;  ///< of the numbers that are fed
};

struct Model {
  std::uint64_t seed = 0;
  Numbers numbers = Numbers::exact;
  tf::Graph graph;
  tf::HostTensors variables;          ///< at the start
  std::vector<std::string> feedable;  ///< placeholders
  std::vector<Range> ranges;          ///< of each
  std::vector<std::string> tensors;   ///< other names of tensors
  std::vector<std::string> effects;
  std::vector<Run> runs;

  tf::Id id_of(const std::string& name) const {
    for (const tf::ir::Name& n : tf::ir::records(graph).names) {
      if (n.kind != tf::ir::NameKind::key && tf::ir::records(graph).text_of(n).view() == name)
        return n.value;
    }
    throw tf::Error('"' + name + '"', "the model has no such name");
  }
  /// Values and tokens of everything that has a name.
  tf::Pool<tf::Id> roots() const {
    tf::Pool<tf::Id> ids;
    for (const tf::ir::Name& name : tf::ir::records(graph).names) {
      if (name.kind != tf::ir::NameKind::key) ids.push(name.value);
    }
    return ids;
  }
};

/// A tensor of random elements in a range.
inline tf::HostTensor random_elements(Random& random, tf::DType dtype, const tf::Dims& dims,
                                      const Range& range, bool whole) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double special[] = {0,   -0.0, 1,        -1,        1e-30, -1e30, 3e38, 1e-42,
                                0.5, 2,    infinity, -infinity, nan,   127,   -128, 1e10};
  tf::HostTensor out = tf::host_tensor(dtype, dims);
  for (std::int64_t i = 0; i < out.size(); ++i) {
    if (dtype == tf::DType::boolean) {
      out.set(i, random.below(2));
    } else if (tf::is_floating(dtype) || tf::is_complex(dtype)) {
      double x = random.uniform(range.low, range.high);
      if (whole) x = std::floor(x + 0.5);
      if (range.special && random.chance(0.2)) x = special[random.below(16)];
      out.set(i, x);
      if (tf::is_complex(dtype))
        out[i].imaginary = whole ? random.below(5) - 2 : random.below(9) / 4.0 - 1;
    } else {
      const auto count = static_cast<int>(range.high - range.low) + 1;
      double x = range.low + random.below(count);
      if (range.special && random.chance(0.1)) x = 100 + random.below(156);
      out.set(i, x);
    }
  }
  return out;
}

/// What a run is fed.
inline tf::HostTensors feeds_of(const Model& model, const Run& run) {
  tf::HostTensors feeds;
  Random random(run.seed);
  const bool whole = model.numbers == Numbers::exact;
  for (std::size_t i = 0; i < model.feedable.size(); ++i) {
    const tf::Type& type = tf::ir::records(model.graph).type_of(model.id_of(model.feedable[i]));
    tf::HostTensor x = random_elements(random, type.dtype, tf::resolve(type.dims, run.sizes),
                                       model.ranges[i], whole);
    const auto& out = run.left_out;
    if (std::find(out.begin(), out.end(), model.feedable[i]) == out.end()) {
      feeds.emplace(model.feedable[i], std::move(x));
    }
  }
  for (const std::string& name : run.feeds) {
    const tf::Type& type = tf::ir::records(model.graph).type_of(model.id_of(name));
    feeds.insert_or_assign(name, random_elements(random, type.dtype,
                                                 tf::resolve(type.dims, run.sizes), {0, 2}, whole));
  }
  return feeds;
}

/// The model of a seed, with about `operations` nodes, and those that gradients add.
Model random_model(std::uint64_t seed);

}  // namespace fuzz
