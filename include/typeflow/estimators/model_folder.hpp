// SPDX-License-Identifier: Apache-2.0
#pragma once

// Model folders of estimators without a model function: tf::KMeans and tf::SvmClassifier. Needs
// what saving.hpp needs. (tf::Estimator has its folder by RunConfig::model_folder.)
//
//   tf::ModelFolder folder("clusters", {.save_checkpoints = {.steps = 10}});
//   tf::KMeans<6, 2> means({.seed = 1}, folder);
//   means.fit(points);  // goes on from the last checkpoint if it was killed

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "typeflow/core/error.hpp"
#include "typeflow/estimators/training_store.hpp"
#include "typeflow/saving/checkpoints.hpp"
#include "typeflow/training/periodic.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Settings of a ModelFolder, with the names of RunConfig.
struct ModelFolderOptions {
  /// When a training saves a checkpoint, besides at its end.
  Interval save_checkpoints{.seconds = 600};
  int keep_checkpoints = 5;     ///< the last ones; 0: all
  double keep_every_hours = 0;  ///< of those that would be removed, one in so many hours; 0: none
};

/// A folder with the checkpoints of one estimator (saving/checkpoints.hpp). Only one estimator may
/// use it at a time, and it must outlive the estimator.
///
/// Errors name the folder or the file: the folder can't be made or read, a checkpoint is of another
/// estimator or none is whole.
class ModelFolder final : public TrainingStore {
 public:
  explicit ModelFolder(std::string folder, const ModelFolderOptions& options = {})
      : folder_(std::move(folder)),
        checkpoints_(folder_,
                     {.keep = options.keep_checkpoints, .every_hours = options.keep_every_hours}),
        due_(options.save_checkpoints) {}

  const std::string& path() const { return folder_; }

  bool is_due(std::int64_t step) override { return due_(step); }
  void save(const TrainingState& state, std::int64_t step) override {
    Text text{state.text};
    checkpoints_.include("training", text);
    const Forget forget{checkpoints_};
    checkpoints_.save(state.lists, step);
  }
  bool load(TrainingState& state) override {
    Text text;
    checkpoints_.include("training", text);
    const Forget forget{checkpoints_};
    const std::optional<std::int64_t> step = checkpoints_.restore_latest(state.lists);
    if (!step) return false;
    state.text = text.text;
    state.source =
        (std::filesystem::path(folder_) / ("model-" + std::to_string(*step) + ".safetensors"))
            .string();
    return true;
  }
  std::string name() const override { return "the folder '" + folder_ + "'"; }

 private:
  struct Text {
    std::string text{};
    std::string state() const { return text; }
    void restore(std::string_view from) { text = from; }
  };
  struct Forget {
    Checkpoints& checkpoints;
    ~Forget() { checkpoints.exclude("training"); }
  };

  std::string folder_;
  Checkpoints checkpoints_;
  Periodic due_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
