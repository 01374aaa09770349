// SPDX-License-Identifier: Apache-2.0

// tf::WriteSummaries: a training's figures and variables in event files.

#include <cstdint>
#include <filesystem>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>
#include <protozero/pbf_reader.hpp>
#include <typeflow/records.hpp>
#include <typeflow/training.hpp>

#include "support/folder.hpp"
#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;

struct Value {
  std::int64_t step;
  std::string tag;
  double scalar;
  bool is_histogram;
};

/// The values of an event file, decoded by the fields of TensorFlow's event.proto.
std::vector<Value> values_of(const std::filesystem::path& path) {
  std::vector<Value> values;
  tf::TfRecordReader reader(path);
  while (const auto record = reader.next()) {
    std::int64_t step = 0;
    protozero::pbf_reader event(record->data(), record->size());
    while (event.next()) {
      if (event.tag() == 2) {
        step = event.get_int64();
      } else if (event.tag() == 5) {
        protozero::pbf_reader summary = event.get_message();
        while (summary.next(1)) {
          protozero::pbf_reader field = summary.get_message();
          Value value{step, "", 0, false};
          while (field.next()) {
            if (field.tag() == 1) {
              value.tag = field.get_string();
            } else if (field.tag() == 2) {
              value.scalar = static_cast<double>(field.get_float());
            } else {
              value.is_histogram = value.is_histogram || field.tag() == 5;
              field.skip();
            }
          }
          values.push_back(value);
        }
      } else {
        event.skip();
      }
    }
  }
  return values;
}

void train(tf::Callback& writing, bool with_names) {
  tf::TrainingLoop loop({.epochs = 2,
                         .steps_per_epoch = 3,
                         .validate = [&]() -> tf::Validation {
                           if (!with_names) return 0.25;
                           return {{"loss", 0.5}, {"accuracy", 0.75}};
                         },
                         .progress = nullptr},
                        {"loss", "accuracy"}, writing);
  for (int i = 1; loop.goes_on(); ++i) loop.step(i, 0.125 * i);
  loop.finish();
}

}  // namespace

TEST_CASE("figures of steps and epochs are scalars, variables are histograms") {
  const Folder folder;
  tf::Variables variables;
  variables.set<float>("w", std::vector<float>{1, 2, 3}, {1, {3}});
  variables.set<std::int32_t>("count", std::vector<std::int32_t>{7}, {0, {}});
  variables.set<tf::bfloat16>("half", std::vector<tf::bfloat16>{tf::bfloat16(1.5f)}, {0, {}});
  variables.set<float>("bad", std::vector<float>{std::numeric_limits<float>::infinity()}, {0, {}});
  const bool flag = true;
  variables.set<bool>("flag", std::span<const bool>(&flag, 1), {0, {}});
  tf::EventWriter writer(folder / "train");
  tf::EventWriter validation(folder / "validation");
  tf::WriteSummaries writing(writer,
                             {.every_steps = 2,
                              .validation = &validation,
                              .variables = &variables,
                              .only = [](std::string_view name) { return name != "count"; }});
  train(writing, true);

  std::vector<std::tuple<std::int64_t, std::string, double>> scalars;
  std::set<std::string> histograms;
  for (const Value& value : values_of(writer.path())) {
    if (value.is_histogram) {
      histograms.insert(value.tag);
    } else {
      scalars.emplace_back(value.step, value.tag, value.scalar);
    }
  }
  using Scalar = std::tuple<std::int64_t, std::string, double>;
  CHECK(scalars == std::vector<Scalar>{{2, "loss", 2},
                                       {2, "accuracy", 0.25},
                                       {3, "epoch_loss", 2},
                                       {3, "epoch_accuracy", 0.25},
                                       {4, "loss", 4},
                                       {4, "accuracy", 0.5},
                                       {6, "loss", 6},
                                       {6, "accuracy", 0.75},
                                       {6, "epoch_loss", 5},
                                       {6, "epoch_accuracy", 0.625}});
  CHECK(histograms == std::set<std::string>{"half", "w"});
  scalars.clear();
  for (const Value& value : values_of(validation.path())) {
    scalars.emplace_back(value.step, value.tag, value.scalar);
  }
  CHECK(scalars == std::vector<Scalar>{{3, "epoch_loss", 0.5},
                                       {3, "epoch_accuracy", 0.75},
                                       {6, "epoch_loss", 0.5},
                                       {6, "epoch_accuracy", 0.75}});
}

TEST_CASE("with one writer, a validation's figures keep their names") {
  const Folder folder;
  for (const bool with_names : {false, true}) {
    tf::EventWriter writer(folder / "all");
    tf::WriteSummaries writing(writer, {.every_steps = 0});
    train(writing, with_names);
    std::set<std::string> tags;
    for (const Value& value : values_of(writer.path())) tags.insert(value.tag);
    CHECK(tags ==
          (with_names ? std::set<std::string>{"epoch_loss", "epoch_accuracy", "epoch_val_loss",
                                              "epoch_val_accuracy"}
                      : std::set<std::string>{"epoch_loss", "epoch_accuracy", "epoch_validation"}));
  }
  tf::EventWriter writer(folder / "all");
  CHECK(message_of([&] { tf::WriteSummaries(writer, {.every_steps = -1}); }) ==
        "WriteSummaries: every_steps: expected 0 or more, got -1");
}
