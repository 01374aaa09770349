// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "typeflow/core/dtype.hpp"
#include "typeflow/core/error.hpp"
#include "typeflow/records/callbacks.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// The elements of a variable as doubles; none if they are no real numbers.
TYPEFLOW_COLD inline std::vector<double> numbers_of(const VariableEntry& entry) {
  if (entry.dtype == DType::boolean || entry.dtype == DType::string) return {};
  return visit_dtype(entry.dtype, [&]<class T>(T) {
    std::vector<double> numbers;
    if constexpr (!is_complex_number<T>) {
      const auto* const values = reinterpret_cast<const T*>(entry.bytes.data());
      for (std::int64_t i = 0; i < entry.size(); ++i) {
        numbers.push_back(static_cast<double>(values[i]));
      }
    }
    return numbers;
  });
}

}  // namespace detail

TYPEFLOW_DEFINITION void add_histograms(Summary& summary, const Variables& variables,
                                        const std::function<bool(std::string_view name)>& only) {
  for (const std::string& name : variables.names()) {
    if (only && !only(name)) continue;
    const std::vector<double> values = detail::numbers_of(*variables.find(name));
    const bool is_finite = std::ranges::all_of(values, [](double x) { return std::isfinite(x); });
    if (!values.empty() && is_finite) {
      summary.histogram(name, std::span<const double>(values));
    }
  }
}

TYPEFLOW_DEFINITION WriteSummaries::WriteSummaries(EventWriter& writer,
                                                   WriteSummariesOptions options)
    : writer_(writer), options_(std::move(options)) {
  if (options_.every_steps < 0) {
    throw Error("WriteSummaries: every_steps", "0 or more", std::to_string(options_.every_steps));
  }
}

TYPEFLOW_DEFINITION void WriteSummaries::on_begin(TrainingLoop&) {
  if (write_graph_) write_graph_(writer_);
}

TYPEFLOW_DEFINITION void WriteSummaries::on_step(TrainingLoop& loop) {
  if (options_.every_steps == 0 || loop.steps() % options_.every_steps != 0) return;
  Summary summary;
  for (const Figure& figure : loop.figures()) summary.scalar(figure.name, figure.value);
  writer_.add(summary, loop.steps());
}

TYPEFLOW_DEFINITION void WriteSummaries::on_epoch(TrainingLoop& loop) {
  constexpr std::string_view validated = "val_";
  Summary summary;
  Summary validation;
  for (const Figure& figure : loop.figures()) {
    const std::string_view name = figure.name;
    if (options_.validation != nullptr && name.starts_with(validated)) {
      validation.scalar("epoch_" + std::string(name.substr(validated.size())), figure.value);
    } else if (options_.validation != nullptr && name == "validation") {
      validation.scalar(name, figure.value);
    } else {
      summary.scalar("epoch_" + figure.name, figure.value);
    }
  }
  if (options_.variables != nullptr) {
    add_histograms(summary, *options_.variables, options_.only);
  }
  writer_.add(summary, loop.steps());
  if (!validation.empty()) options_.validation->add(validation, loop.steps());
}

TYPEFLOW_DEFINITION void WriteSummaries::on_end(TrainingLoop&) {
  writer_.flush();
  if (options_.validation != nullptr) options_.validation->flush();
}

}  // namespace typeflow::inline TYPEFLOW_ISA
