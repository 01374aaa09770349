// SPDX-License-Identifier: Apache-2.0
#pragma once

// Estimators: a model function with its variables, and fit, evaluate, predict and export around it.
//
//   tf::Estimator<iris, "accuracy"> estimator({.model_folder = "iris"});
//   estimator.fit(train_inputs, {.steps = 700});
//   std::printf("accuracy %.4f\n", estimator.evaluate(test_inputs)["accuracy"]);
//   const auto classes = estimator.predict<"class">(new_inputs);

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/core/text.hpp"
#include "typeflow/data/dataset.hpp"
#include "typeflow/estimators/hook.hpp"
#include "typeflow/estimators/inputs.hpp"
#include "typeflow/estimators/model_function.hpp"
#include "typeflow/estimators/model_state.hpp"
#include "typeflow/estimators/predictions.hpp"
#include "typeflow/estimators/run_config.hpp"
#include "typeflow/front/variables.hpp"
#include "typeflow/records/callbacks.hpp"
#include "typeflow/records/event_writer.hpp"
#include "typeflow/records/summary.hpp"
#include "typeflow/runtime/session.hpp"
#include "typeflow/runtime/variables.hpp"
#include "typeflow/saving/export.hpp"
#include "typeflow/training/loop.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

template <Text A, Text B>
constexpr auto joined_text() {
  Text<A.view().size() + B.view().size() + 1> out;
  std::size_t n = 0;
  for (const char c : A.view()) out.characters[n++] = c;
  for (const char c : B.view()) out.characters[n++] = c;
  return out;
}
/// Whether a metric is a streaming one, which has an update.
template <class S, Text Metric>
inline constexpr bool is_streaming = S::template has_name<joined_text<Metric, "/update">()>();
/// The name that a run of a batch fetches for a metric: a streaming metric's update, which has no
/// value, or the metric of the batch.
template <class S, Text Metric>
constexpr auto metric_fetch() {
  if constexpr (is_streaming<S, Metric>) {
    return joined_text<Metric, "/update">();
  } else {
    return Metric;
  }
}

}  // namespace detail

/// A model and its variables. The model function (model_function.hpp) names what an estimator runs:
///
/// - "loss" and "train" for steps of training,
/// - "loss" and the `Metrics` for evaluations: streaming metrics (tf::metrics), or numbers of a
///   batch, whose mean over the batches is the figure,
/// - any tensors with an axis of rows for predictions.
///
/// Its placeholders have the names of the inputs' parts.
///
/// With a model folder, an estimator begins with the folder's last checkpoint. A training that was
/// killed is finished by the next fit() with the same inputs, options and hooks, and ends with the
/// same bits as without a break.
///
/// Thread safety: none.
template <auto Function, Text... Metrics>
  requires ModelFunction<Function>
class Estimator {
 public:
  using TrainSession = Session<detail::model_in_mode<Function, ModeKeys::train>, training>;
  using EvalSession = Session<detail::model_in_mode<Function, ModeKeys::eval>, inference>;
  using InferSession =
      Session<detail::model_in_mode<Function, detail::infer_keys<Function>>, inference>;

  /// Loads the last checkpoint of the model folder, if there is one. Error as that of
  /// Checkpoints::restore_latest.
  explicit Estimator(RunConfig config = {}) : config_(std::move(config)) {
    if (config_.model_folder.empty() || !std::filesystem::is_directory(config_.model_folder))
      return;
    open_checkpoints();
    is_trained_ = checkpoints_->restore_latest(variables_).has_value();
    may_resume_ = is_trained_ && !state_.has_ended;
  }
  /// Loads the folder's last checkpoint, if it is of another step than the variables: one that
  /// another process has saved since. Returns whether there was one. Error unless the RunConfig
  /// has a folder and is read_only, and as those of Checkpoints::restore_latest.
  bool reload() {
    if (config_.model_folder.empty() || !config_.read_only) {
      throw Error("Estimator::reload", "a RunConfig with a model_folder and read_only", "another");
    }
    open_checkpoints();
    const std::optional<std::int64_t> newest = checkpoints_->latest_step();
    if (!newest || (is_trained_ && *newest == step())) return false;
    is_trained_ = checkpoints_->restore_latest(variables_).has_value() || is_trained_;
    return is_trained_;
  }
  Estimator(const Estimator&) = delete;
  Estimator& operator=(const Estimator&) = delete;

  /// Trains. The result has the number of the last step, counted over all trainings of the model.
  ///
  /// Hooks are callbacks (training/callback.hpp), which see the training as one epoch, and those of
  /// hooks.hpp. Error if the inputs have no batch, and if the loss of a step is not finite.
  template <class T, class... Names, class... Hooks>
    requires(std::derived_from<std::remove_reference_t<Hooks>, Callback> && ...)
  FitResult fit(const Inputs<T, Names...>& inputs, const TrainOptions& options = {},
                Hooks&&... hooks) {
    static_assert((TrainSession::template has_name<Names::text>() && ...),
                  "fit(inputs): a part of the inputs has a name that the model lacks; features of "
                  "columns have the columns' names");
    check(options);
    if (config_.read_only) {
      throw Error("Estimator::fit", "a RunConfig that is not read_only", "one that is");
    }
    if (is_done(options)) return done();
    const bool resumes = std::exchange(may_resume_, false) && options.resume;
    begin(options, inputs.names(), resumes);
    TrainSession& session = train_session();
    if (!resumes) session.reset();

    DatasetIterator<T> reader(inputs.batches());
    detail::ModelCheckpoints saver(
        state_, {[&] { return reader.taken(); }, [&](std::int64_t n) { reader.seek(n); }}, resumes);
    std::vector<Callback*> callbacks{static_cast<Callback*>(&hooks)...};
    std::optional<EventWriter> writer;
    std::optional<WriteSummaries> summaries;
    if (checkpoints_) {
      saver.save_in(*checkpoints_, variables_, config_.save_checkpoints);
      if (config_.save_summaries_steps > 0) {
        writer.emplace(config_.model_folder);
        summaries.emplace(*writer,
                          WriteSummariesOptions{.every_steps = config_.save_summaries_steps});
        callbacks.push_back(&*summaries);
      }
    }
    callbacks.push_back(&saver);

    TrainingLoop loop(loop_options(), {"loss"}, std::move(callbacks));
    while (loop.goes_on()) {
      const std::optional<T> next = reader.next();
      if (!next) {
        if (loop.steps_in_epoch() == 0) no_batches("fit", inputs.names());
        loop.end_epoch();
        break;
      }
      const double loss =
          detail::with_feeds<TrainSession, true>(inputs, *next, [&](const auto&... feeds) {
            return detail::run_with_hooks(loop, session, std::tie(feeds...), hooks...);
          });
      if (!options.fail_on_nan_loss && !std::isfinite(loss)) {
        loop.print("step " + std::to_string(loop.steps() + 1) +
                   ": the loss is not finite; the training ends");
        loop.stop();
        break;
      }
      state_.step = loop.steps() + 1;  // for hooks that evaluate
      is_trained_ = true;
      loop.step(loss);
    }
    return loop.finish();
  }
  /// Trains with all batches of the inputs once: a part of the data that has come since the last
  /// call, for example.
  template <class T, class... Names, class... Hooks>
  FitResult partial_fit(const Inputs<T, Names...>& inputs, Hooks&&... hooks) {
    return fit(inputs, {}, std::forward<Hooks>(hooks)...);
  }

  /// The mean of the batches' losses, and the metrics. With a model folder, they are also written
  /// to its folder "eval". Error if the model is not trained, or if the inputs have no batch.
  template <class T, class... Names>
  Evaluation evaluate(const Inputs<T, Names...>& inputs, const EvaluateOptions& options = {}) {
    check_trained("evaluate");
    detail::check_count("Estimator::evaluate", "a number of steps", 0, options.steps);
    EvalSession& session = this->session<EvalSession>(eval_);
    session.reset();
    constexpr std::size_t means =
        1 + (std::size_t{0} + ... + (detail::is_streaming<EvalSession, Metrics> ? 0 : 1));
    std::array<double, means> sums{};
    std::int64_t batches = 0;
    DatasetIterator<T> reader(inputs.batches());
    while (options.steps == 0 || batches < options.steps) {
      const std::optional<T> next = reader.next();
      if (!next) break;
      const auto values =
          detail::with_feeds<EvalSession, false>(inputs, *next, [&](const auto&... feeds) {
            return detail::numbers_of_run(
                session.template run<"loss", detail::metric_fetch<EvalSession, Metrics>()...>(
                    feeds...));
          });
      for (std::size_t i = 0; i < means; ++i) sums[i] += values[i];
      ++batches;
    }
    if (batches == 0) no_batches("evaluate", inputs.names());
    Figures figures;
    figures.reserve(1 + sizeof...(Metrics));
    figures.push_back({"loss", sums[0] / static_cast<double>(batches)});
    [[maybe_unused]] std::size_t mean = 1;
    [[maybe_unused]] const auto add = [&]<Text Metric>() {
      double value = 0;
      if constexpr (detail::is_streaming<EvalSession, Metric>) {
        value =
            static_cast<double>(session.template run<detail::joined_text<Metric, "/value">()>());
      } else {
        value = sums[mean++] / static_cast<double>(batches);
      }
      figures.push_back({std::string(Metric.view()), value});
    };
    (add.template operator()<Metrics>(), ...);
    Evaluation evaluation(std::move(figures), step());
    write_summaries(evaluation, options.name);
    return evaluation;
  }

  /// The named tensors for all rows of the inputs: an Array for one name, a tuple of them for
  /// several. Parts of the inputs that the model does not read when it predicts, such as labels,
  /// are left out. Error if the model is not trained, or if the inputs have no batch.
  template <Text... Outputs, class T, class... Names>
    requires(sizeof...(Outputs) > 0)
  auto predict(const Inputs<T, Names...>& inputs) {
    check_trained("predict");
    InferSession& session = this->session<InferSession>(infer_);
    session.reset();
    const auto run = [&](const T& rows) {
      return detail::with_feeds<InferSession, false>(inputs, rows, [&](const auto&... feeds) {
        return session.template run<Outputs...>(feeds...);
      });
    };
    detail::JoinedRows<decltype(run(std::declval<const T&>()))> joined;
    DatasetIterator<T> reader(inputs.batches());
    while (const std::optional<T> next = reader.next()) joined.add(run(*next));
    if (joined.empty()) no_batches("predict", inputs.names());
    return joined.take();
  }

  /// Writes a file for serving, with the outputs' weights and signature (saving/export.hpp).
  /// tf::exported_runner<decltype(estimator)::InferSession, outputs...>(path) reads it. Error if
  /// the model is not trained.
  template <Text... Outputs>
    requires(sizeof...(Outputs) > 0)
  void export_model(const std::string& path, SaveOptions options = {}) {
    check_trained("export_model");
    Export exported(variables_);
    exported.template add<InferSession, Outputs...>();
    exported.save(path, std::move(options));
  }

  /// Whether the model was trained, here or in the training whose checkpoint it has.
  bool is_trained() const { return is_trained_; }
  /// The number of steps of all trainings, TensorFlow's global_step.
  std::int64_t step() const { return state_.step; }
  const Variables& variables() const { return variables_; }
  /// The names of the variables that a training changes by gradients.
  std::vector<std::string> trainable_names() const {
    std::vector<std::string> names;
    Graph g;
    detail::model_in_mode<Function, ModeKeys::train>(g);
    for (const AnyVariable& v : g.trainable()) names.emplace_back(v.name().view());
    return names;
  }
  const RunConfig& config() const { return config_; }

 private:
  /// The first training alone makes variables: others that lack one say so. A checkpoint of another
  /// model is an Error that names the folder.
  template <class S>
  S& session(std::optional<S>& made) try {
    if (!made) {
      const bool is_first = std::is_same_v<S, TrainSession> && !is_trained_;
      made.emplace(variables_, SessionOptions{.seed = config_.seed,
                                              .initialize = is_first,
                                              .threads = config_.threads,
                                              .devices = config_.devices});
    }
    return *made;
  } catch (const Error& why) {
    if (config_.model_folder.empty()) throw;
    throw Error("Estimator: the model of the folder '" + config_.model_folder + "'", why.what());
  }
  TrainSession& train_session() {
    const bool is_new = !train_.has_value();
    TrainSession& made = session<TrainSession>(train_);
    if (!config_.model_folder.empty()) {
      open_checkpoints();
      if (is_new) checkpoints_->include("states", made.states());
    }
    return made;
  }
  void open_checkpoints() {
    if (checkpoints_) return;
    checkpoints_.emplace(config_.model_folder,
                         CheckpointOptions{.keep = config_.keep_checkpoints,
                                           .every_hours = config_.keep_every_hours,
                                           .read_only = config_.read_only});
    checkpoints_->include("estimator", state_);
  }

  static void check(const TrainOptions& options) {
    detail::check_count("Estimator::fit", "a number of steps", 0, options.steps);
    detail::check_count("Estimator::fit", "a number of max_steps", 0, options.max_steps);
    if (options.steps == 0 || options.max_steps == 0) return;
    throw Error("Estimator::fit", "steps or max_steps", "both");
  }
  void check_trained(const char* call) const {
    if (is_trained_) return;
    throw Error("Estimator::" + std::string(call),
                "a trained model, which fit() makes, or a folder with a checkpoint",
                config_.model_folder.empty()
                    ? "neither"
                    : "no checkpoint in the folder '" + config_.model_folder + "'");
  }
  [[noreturn]] static void no_batches(const char* call, const std::string& names) {
    throw Error("Estimator::" + std::string(call) + ": the inputs " + names, "a batch at least",
                "none");
  }

  /// Whether the model has the steps that are asked for, or a hook has stopped this training.
  bool is_done(const TrainOptions& options) const {
    if (options.max_steps == 0) return false;
    const bool stays_stopped = state_.was_stopped && state_.last_step == options.max_steps;
    return state_.step >= options.max_steps || stays_stopped;
  }
  FitResult done() const {
    FitResult result;
    result.steps = state_.step;
    result.stopped_early = state_.was_stopped;
    return result;
  }
  /// The state of the training that begins, or goes on.
  void begin(const TrainOptions& options, const std::string& inputs, bool resumes) {
    const std::int64_t first = resumes ? state_.first_step : state_.step;
    const std::int64_t last =
        options.steps > 0 ? checked_sum(first, options.steps) : options.max_steps;
    if (resumes && (last != state_.last_step || inputs != state_.inputs)) {
      const auto text = [](std::int64_t to, const std::string& names) {
        return (to == 0 ? "a training to the end of"
                        : "a training to step " + std::to_string(to) + " with") +
               (" the inputs " + names);
      };
      throw Error("Estimator::fit: the folder '" + config_.model_folder +
                      "' has a training that was not finished",
                  text(state_.last_step, state_.inputs) + ", or {.resume = false}",
                  text(last, inputs));
    }
    state_.first_step = first;
    state_.last_step = last;
    state_.inputs = inputs;
    state_.has_ended = true;  // until a checkpoint is saved
    state_.was_stopped = false;
  }
  FitOptions loop_options() const {
    return {.steps_per_epoch = state_.last_step == 0 ? 0 : state_.last_step - state_.first_step,
            .first_step = state_.first_step,
            .progress = config_.progress,
            .progress_every = config_.progress_every};
  }
  void write_summaries(const Evaluation& evaluation, const std::string& name) {
    if (!checkpoints_ || config_.save_summaries_steps == 0) return;
    std::unique_ptr<EventWriter>& writer = writers_[name];
    if (!writer) {
      writer = std::make_unique<EventWriter>(
          (std::filesystem::path(config_.model_folder) / (name.empty() ? "eval" : "eval_" + name))
              .string());
    }
    Summary summary;
    for (const Figure& figure : evaluation.figures()) summary.scalar(figure.name, figure.value);
    writer->add(summary, evaluation.step());
    writer->flush();
  }

  RunConfig config_;
  Variables variables_;
  detail::ModelState state_;
  bool is_trained_ = false;
  bool may_resume_ = false;  // a training that was killed
  std::optional<Checkpoints> checkpoints_;
  std::map<std::string, std::unique_ptr<EventWriter>> writers_;  // of evaluations, by name
  std::optional<TrainSession> train_;
  std::optional<EvalSession> eval_;
  std::optional<InferSession> infer_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
