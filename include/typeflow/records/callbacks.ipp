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

#include "typeflow/core/error.hpp"
#include "typeflow/records/callbacks.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// The elements of a variable as doubles; none if they are no real numbers.
TYPEFLOW_COLD inline std::vector<double> numbers_of(const VariableEntry& entry) {
  std::vector<double> numbers;
  const auto take = [&]<class T>(T) {
    const auto* const values = reinterpret_cast<const T*>(entry.bytes.data());
    for (std::int64_t i = 0; i < entry.size(); ++i) {
      numbers.push_back(static_cast<double>(values[i]));
    }
  };
  switch (entry.dtype) {
    case DType::int8:
      take(std::int8_t{});
      break;
    case DType::int16:
      take(std::int16_t{});
      break;
    case DType::int32:
      take(std::int32_t{});
      break;
    case DType::int64:
      take(std::int64_t{});
      break;
    case DType::uint8:
      take(std::uint8_t{});
      break;
    case DType::uint16:
      take(std::uint16_t{});
      break;
    case DType::uint32:
      take(std::uint32_t{});
      break;
    case DType::uint64:
      take(std::uint64_t{});
      break;
    case DType::bfloat16:
      take(element_of<DType::bfloat16>{});
      break;
    case DType::float16:
      take(element_of<DType::float16>{});
      break;
    case DType::float32:
      take(float{});
      break;
    case DType::float64:
      take(double{});
      break;
    default:
      break;
  }
  return numbers;
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
