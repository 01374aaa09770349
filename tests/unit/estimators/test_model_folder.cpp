// SPDX-License-Identifier: Apache-2.0

// Model folders of k-means and support vector machines: trainings that are killed at any step,
// other trainings in a folder, and folders that are damaged.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <typeflow/estimators/k_means.hpp>
#include <typeflow/estimators/model_folder.hpp>
#include <typeflow/estimators/support_vector_machine.hpp>
#include <typeflow/saving.hpp>

#include "support/folder.hpp"
#include "support/message_of.hpp"
#include "unit/estimators/numbers.hpp"

namespace tf = typeflow;

namespace {

using Means = tf::KMeans<4, 3>;
using Svm = tf::SvmClassifier<3, double>;

/// A store that calls a function after each step, and after each state that it saved.
class Watched final : public tf::TrainingStore {
 public:
  Watched(
      tf::TrainingStore& store, std::function<void()> after_step,
      std::function<void()> after_save = [] {})
      : store_(store), after_step_(std::move(after_step)), after_save_(std::move(after_save)) {}
  bool is_due(std::int64_t step) override {
    after_step_();
    return store_.is_due(step);
  }
  void save(const tf::TrainingState& state, std::int64_t step) override {
    store_.save(state, step);
    after_save_();
  }
  bool load(tf::TrainingState& state) override { return store_.load(state); }
  std::string name() const override { return store_.name(); }

 private:
  tf::TrainingStore& store_;
  std::function<void()> after_step_;
  std::function<void()> after_save_;
};

template <class T>
void append(std::string& bits, std::span<const T> list) {
  bits.append(reinterpret_cast<const char*>(list.data()), list.size_bytes());
}
std::string bits_of(tf::Variables& variables) {
  std::string bits;
  for (const std::string& name : variables.names()) {
    append(bits, std::span<const std::byte>(variables.find(name)->bytes));
  }
  return bits;
}

std::vector<float> cube(int n) {
  numbers::Sequence next(11);
  std::vector<float> x(static_cast<std::size_t>(n) * 3);
  for (float& e : x) e = static_cast<float>(next());
  return x;
}

struct Data {
  std::vector<double> x;
  std::vector<std::int32_t> labels;
  std::vector<std::string> ids;

  explicit Data(int count) {
    numbers::Sequence next(5);
    for (int i = 0; i < count; ++i) {
      for (int j = 0; j < 3; ++j) x.push_back(next() * 4 - 2);
      const double* const row = x.data() + x.size() - 3;
      labels.push_back(row[0] - 0.5 * row[1] + 0.3 + (next() * 2 - 1) > 0 ? 1 : 0);
      ids.push_back(std::string("\xff\0 example ", 11) + std::to_string(i * i));
    }
  }
  Svm::Examples examples() const { return {.x = x, .labels = labels, .ids = ids}; }
};

/// What a program trains, with its results as bits.
using Program = std::function<std::string(tf::TrainingStore&)>;

std::string bits_of(const tf::KMeansResult& r) {
  std::string bits;
  const double numbers[] = {r.score, static_cast<double>(r.steps), r.converged ? 1.0 : 0.0};
  append(bits, std::span<const double>(numbers));
  return bits;
}
Program k_means(tf::KMeansOptions options, bool from_centers = false) {
  options.seed = 5;
  options.threads = 1;
  return [=](tf::TrainingStore& store) {
    const std::vector<float> x = cube(203);
    Means means(options, store);
    const tf::KMeansResult result =
        from_centers ? means.fit(x, std::span(x).first(12)) : means.fit(x);
    means.partial_fit(std::span(x).first(30));
    return bits_of(result) + bits_of(means.variables());
  };
}
std::string svm(tf::TrainingStore& store) {
  const Data data(60);
  Svm machine({.l1 = 0.01, .steps = 40, .tolerance = 1e-7, .seed = 3, .threads = 1}, store);
  const tf::SvmResult r = machine.fit(data.examples());
  const Data more(70);
  const tf::SvmResult last = machine.partial_fit(more.examples());
  std::string bits = bits_of(machine.variables());
  const double numbers[] = {
      r.loss,    r.primal,           r.dual, static_cast<double>(r.steps), last.loss,
      last.dual, double(r.converged)};
  append(bits, std::span<const double>(numbers));
  const std::map<std::string, double> duals(machine.duals().begin(), machine.duals().end());
  for (const auto& [id, dual] : duals) append(bits, std::span(&dual, 1));
  return bits;
}

std::map<std::string, Program> programs() {
  return {{"all points", k_means({.starts = 3, .tolerance = 0})},
          {"mini-batches", k_means({.starts = 2, .steps = 12, .batch = 20})},
          {"random starts", k_means({.start = tf::KMeansStart::random, .starts = 2})},
          {"given centers", k_means({.tolerance = 0}, true)},
          {"machine", svm}};
}

tf::ModelFolderOptions every(std::int64_t steps) { return {.save_checkpoints = {.steps = steps}}; }

/// Whether a process of the program was killed, after this step of the process or after a save.
bool is_killed(const Program& program, const std::filesystem::path& folder, int step, int save) {
  const ::pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    try {
      tf::ModelFolder in(folder.string(), every(4));
      const auto kill_after = [](int count) {
        return [count, i = 0]() mutable {
          if (++i == count) ::raise(SIGKILL);
        };
      };
      Watched store(in, kill_after(step), kill_after(save));
      program(store);
    } catch (...) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

std::string last_file(const std::filesystem::path& folder) {
  return tf::Checkpoints(folder.string()).latest().value();
}

}  // namespace

TEST_CASE("Trainings of k-means and machines that are killed end with the bits of whole ones") {
  const Folder folder;
  // Before threads: processes are forked.
  for (const auto& [name, program] : programs()) {
    CAPTURE(name);
    for (const int step : {1, 6, 9}) {
      const auto in = folder / (name + std::to_string(step));
      CHECK(is_killed(program, in, step, 0));
      if (step == 9) CHECK(is_killed(program, in, 2, 0));
    }
    CHECK(is_killed(program, folder / (name + "save"), 0, 2));
  }
  for (const auto& [name, program] : programs()) {
    CAPTURE(name);
    const auto finished = [&](const std::string& in) {
      tf::ModelFolder store((folder / (name + in)).string(), every(4));
      return program(store);
    };
    const std::string whole = finished("whole");
    for (const char* const in : {"1", "6", "9", "save"}) {
      CAPTURE(in);
      CHECK(finished(in) == whole);
    }
  }
}

TEST_CASE("A training that is broken off at any step ends with the bits of a whole one") {
  const Folder folder;
  for (const auto& [name, program] : programs()) {
    CAPTURE(name);
    tf::ModelFolder whole_folder((folder / (name + "-whole")).string(), every(1000000));
    int steps = 0;
    Watched counting(whole_folder, [&] { ++steps; });
    const std::string whole = program(counting);
    REQUIRE(steps > 9);
    // A save after each step, and only after some.
    for (int last = 1; last < steps; last += 3) {
      CAPTURE(last);
      const auto in = folder / (name + std::to_string(last));
      {
        tf::ModelFolder store(in.string(), every(last % 2 + 1));
        int left = last;
        Watched broken(store, [&] {
          if (--left == 0) throw std::runtime_error("as if it were killed");
        });
        CHECK_THROWS_AS(program(broken), std::runtime_error);
      }
      tf::ModelFolder store(in.string(), every(5));
      CHECK(program(store) == whole);
    }
  }
}

TEST_CASE("Results with a folder have the bits of those without one") {
  const Folder folder;
  const std::vector<float> x = cube(203);
  tf::ModelFolder store((folder / "means").string(), every(2));
  Means with({.starts = 2, .seed = 5}, store), without({.starts = 2, .seed = 5});
  CHECK(bits_of(with.fit(x)) == bits_of(without.fit(x)));
  CHECK(bits_of(with.variables()) == bits_of(without.variables()));

  const Data data(60);
  tf::ModelFolder other((folder / "machine").string());
  Svm trained({.seed = 1}, other), alone({.seed = 1});
  CHECK(trained.fit(data.examples()).steps == alone.fit(data.examples()).steps);
  CHECK(bits_of(trained.variables()) == bits_of(alone.variables()));
  CHECK(trained.duals() == alone.duals());
}

TEST_CASE("Another program goes on with what a folder has") {
  const Folder folder;
  const std::vector<float> x = cube(203);
  const std::string means = (folder / "means").string(), machine = (folder / "svm").string();
  const Data data(60);
  std::vector<std::int32_t> nearest;
  std::vector<double> decisions;
  tf::SvmResult further;
  {
    tf::ModelFolder store(means), other(machine);
    Means trained({.seed = 5}, store);
    CHECK_FALSE(trained.is_trained());
    trained.fit(x);
    const auto all = trained.predict(x);
    nearest.assign(all.begin(), all.end());
    Svm svm({}, other);
    svm.fit(data.examples());
    const auto each = svm.decision(data.x);
    decisions.assign(each.begin(), each.end());
    further = svm.partial_fit(data.examples());  // which is not due to be saved
  }
  tf::ModelFolder store(means), other(machine);
  Means loaded({.seed = 5}, store);
  CHECK(loaded.is_trained());
  const auto all = loaded.predict(x);
  CHECK(std::vector<std::int32_t>(all.begin(), all.end()) == nearest);
  loaded.partial_fit(x);
  // The dual variables are there, with ids of any bytes.
  Svm svm({}, other);
  const auto each = svm.decision(data.x);
  CHECK(std::vector<double>(each.begin(), each.end()) == decisions);
  CHECK(svm.duals().size() == 60);
  CHECK(svm.duals().contains(data.ids[7]));
  const tf::SvmResult again = svm.partial_fit(data.examples());
  CHECK(again.primal == further.primal);
  CHECK(again.dual == further.dual);
}

TEST_CASE("An unfinished training of other data or options is an error, or is given up") {
  const Folder folder;
  const std::vector<float> x = cube(203);
  const Data data(60);
  const std::string means = (folder / "means").string(), machine = (folder / "svm").string();
  {
    tf::ModelFolder store(means, every(1)), other(machine, every(1));
    int left = 5;
    const auto count = [&] {
      if (--left == 0) throw std::runtime_error("as if it were killed");
    };
    Watched broken(store, count);
    Means trained({.tolerance = 0, .seed = 5}, broken);
    CHECK_THROWS_AS(trained.fit(x), std::runtime_error);
    CHECK(trained.fit(x).converged);  // in the same object it begins anew
  }
  {
    std::filesystem::remove_all(means);
    tf::ModelFolder store(means, every(1)), other(machine, every(1));
    int left = 5;
    const auto count = [&] {
      if (--left == 0) throw std::runtime_error("as if it were killed");
    };
    Watched broken(store, count);
    Means trained({.tolerance = 0, .seed = 5}, broken);
    CHECK_THROWS_AS(trained.fit(x), std::runtime_error);
    left = 5;
    Watched also_broken(other, count);
    Svm svm({.tolerance = 0, .seed = 5}, also_broken);
    CHECK_THROWS_AS(svm.fit(data.examples()), std::runtime_error);
  }
  tf::ModelFolder store(means, every(1)), other(machine, every(1));
  std::vector<float> moved = x;
  moved[17] += 0.25f;
  const auto of = [&](const tf::KMeansOptions& options, const std::vector<float>& points) {
    Means next(options, store);
    return message_of([&] { next.fit(points); });
  };
  const std::string message = of({.tolerance = 0, .seed = 6}, x);
  CAPTURE(message);
  CHECK(message.find("KMeans::fit: the folder '" + means + "' has a training that was not") == 0);
  CHECK(message.find("seed 5, or {.resume = false}") != std::string::npos);
  CHECK(message.find("seed 6") != std::string::npos);
  CHECK(of({.tolerance = 0, .seed = 5}, moved).find("203 points (") != std::string::npos);
  Means next({.tolerance = 0, .seed = 5}, store);
  CHECK(message_of([&] { next.partial_fit(x); }).find("expected fit() of 203") !=
        std::string::npos);
  CHECK(of({.tolerance = 0, .seed = 6, .resume = false}, moved).empty());
  CHECK(of({.tolerance = 0, .seed = 7}, moved).empty());  // the last one was finished

  const auto of_machine = [&](const tf::SvmOptions& options, const Data& examples) {
    Svm svm(options, other);
    return message_of([&] { svm.fit(examples.examples()); });
  };
  Data changed(60);
  changed.ids[3] = "another";
  CHECK(of_machine({.tolerance = 0, .seed = 5}, changed).find("expected 60 examples (") !=
        std::string::npos);
  CHECK(of_machine({.l2 = 2, .tolerance = 0, .seed = 5}, data).find("l2 2") != std::string::npos);
  CHECK(of_machine({.steps = 3, .tolerance = 0, .resume = false}, changed).empty());
}

TEST_CASE("Damaged folders are errors that name the file, and change nothing") {
  const Folder folder;
  const std::vector<float> x = cube(203);
  const Data data(60);
  const std::string means = (folder / "means").string(), machine = (folder / "svm").string();
  {
    tf::ModelFolder store(means), other(machine);
    Means({}, store).fit(x);
    Svm({}, other).fit(data.examples());
  }
  const auto error_of = [&](auto&& open, const std::string& in) {
    tf::ModelFolder store(in);
    return message_of([&] { open(store); });
  };
  const auto as_means = [](tf::TrainingStore& store) { Means opened({}, store); };
  const auto as_svm = [](tf::TrainingStore& store) { Svm opened({}, store); };

  // Another estimator, and other sizes.
  const std::string file = last_file(means);
  CHECK(error_of(as_svm, means)
            .find(file + ": expected a text that begins with 'support vector machine', got "
                         "'k-means\n") == 0);
  const auto other_sizes = [](tf::TrainingStore& store) { tf::KMeans<5, 3> opened({}, store); };
  CHECK(error_of(other_sizes, means).find(file + ": list 'centers'") == 0);

  // Lists and texts with other contents: the file itself is whole.
  const auto rewritten = [&](const std::string& in, const std::string& list, auto change,
                             std::string from = {}, const std::string& to = {}) {
    const std::string path = last_file(in);
    tf::TrainingState state;
    tf::ModelFolder(in).load(state);
    if (!from.empty()) {
      const auto at = state.text.find(from);
      REQUIRE(at != std::string::npos);
      state.text.replace(at, from.size(), to);
    } else {
      change(state.lists, list);
    }
    const std::string copy = in + "-damaged";
    std::filesystem::remove_all(copy);
    tf::ModelFolder damaged(copy);
    damaged.save(state, 1);
    return copy;
  };
  const auto first_is = [](double value) {
    return [value](tf::Variables& lists, const std::string& name) {
      lists.get<double>(name)[0] = value;
    };
  };
  const auto infinite = [](tf::Variables& lists, const std::string& name) {
    lists.get<float>(name)[0] = INFINITY;
  };
  const std::string of_means = means + "-damaged/model-1.safetensors";
  CHECK(error_of(as_means, rewritten(means, "counts", first_is(-1))).find(of_means) == 0);
  CHECK(error_of(as_means, rewritten(means, "centers", infinite))
            .find(of_means + ": list 'centers': expected numbers from") == 0);
  const auto nothing = [](tf::Variables&, const std::string&) {};
  CHECK(
      error_of(as_means, rewritten(means, "", nothing, "k-means\n", "k-means\n-")).find(of_means) ==
      0);
  CHECK(error_of(as_means, rewritten(means, "", nothing, "k-means\n", "k-means\nx"))
            .find(of_means + ": expected a whole number") == 0);
  const std::string of_svm = machine + "-damaged/model-1.safetensors";
  const auto longer = [](tf::Variables& lists, const std::string& name) {
    lists.get<std::int64_t>(name)[0] += 1;
  };
  CHECK(error_of(as_svm, rewritten(machine, "id_lengths", longer))
            .find(of_svm + ": list 'id_lengths'") == 0);
  CHECK(error_of(as_svm, rewritten(machine, "duals", first_is(-0.5))).find(of_svm) == 0);
  CHECK(error_of(as_svm, rewritten(machine, "v", first_is(NAN))).find(of_svm) == 0);

  // A file that is cut off: no other is whole.
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  CHECK(error_of(as_means, means).find(means + ": none of its checkpoints is whole") == 0);
  std::ofstream(folder / "plain") << "no folder";
  CHECK(message_of([&] {
          tf::ModelFolder((folder / "plain").string());
        }).find((folder / "plain").string()) == 0);
}
