// SPDX-License-Identifier: Apache-2.0
#pragma once

// Checkpoints: a folder with the last states of a training, which goes on from there.
//
// A process may be killed at any moment. Each file is replaced as a whole, and the file `latest`,
// which names the checkpoints, after the checkpoint that it names first and before any is removed:
// what it names is there.

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <ratio>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/runtime/variables.hpp"
#include "typeflow/saving/files.hpp"
#include "typeflow/saving/load.hpp"
#include "typeflow/saving/save.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

struct CheckpointOptions {
  /// Of the files: model-100.safetensors.
  std::string name = "model";
  /// How many are kept, the last ones; 0: all.
  int keep = 5;
  /// Of those that are too many, one is left for good every so many hours of training; 0: none.
  double every_hours = 0;
  /// What else is put into them.
  SaveOptions save = {};
};

/// The checkpoints of a training in a folder, NAME-STEP.safetensors, and a file `latest` with their
/// names, a line each, the last one first. The folder is for one Checkpoints at a time.
///
/// Thread safety: none; save() reads the variables, so no run may assign them meanwhile.
class Checkpoints {
 public:
  /// Makes the folder if there is none, and removes unfinished files of killed processes. Error if
  /// that fails, or if an option makes no sense.
  TYPEFLOW_COLD explicit Checkpoints(const std::filesystem::path& folder,
                                     CheckpointOptions options = {})
      : folder_(folder), options_(std::move(options)) {
    if (options_.name.empty() || options_.name.find_first_of("/\n") != std::string::npos) {
      throw Error("Checkpoints", "the name of a file", detail::in_quotes(options_.name));
    }
    if (options_.keep < 0) throw Error("Checkpoints", "keep >= 0", std::to_string(options_.keep));
    if (!(options_.every_hours >= 0)) {
      throw Error("Checkpoints", "every_hours >= 0", std::to_string(options_.every_hours));
    }
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    if (error)
      throw Error(folder_.string(), "no such folder can be made (" + error.message() + ")");
    for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
      const std::string file = entry.path().filename().string();
      const bool own = file.starts_with(options_.name + "-") || file.starts_with("latest.");
      if (own && file.ends_with(".tmp")) std::filesystem::remove(entry.path(), error);
    }
    if (error) throw Error(folder_.string(), "cannot be read (" + error.message() + ")");
  }

  /// Saves all variables as the checkpoint of a step, and removes those that are too many. Returns
  /// the file's path. Error, with all earlier checkpoints in place, if it can't be written.
  TYPEFLOW_COLD std::filesystem::path save(const Variables& variables, std::int64_t step) {
    if (step < 0) throw Error("Checkpoints::save", "a step >= 0", std::to_string(step));
    const std::string file = options_.name + "-" + std::to_string(step) + ".safetensors";
    std::vector<std::string> files = list();
    typeflow::save(variables, folder_ / file, options_.save);
    std::erase(files, file);
    files.insert(files.begin(), file);
    const std::size_t kept = options_.keep == 0
                                 ? files.size()
                                 : std::min(files.size(), static_cast<std::size_t>(options_.keep));
    detail::ReplacingFile latest(folder_ / "latest");
    for (std::size_t i = 0; i < kept; ++i) latest.write(files[i] + "\n");
    latest.finish();
    for (std::size_t i = files.size(); i-- > kept;) retire(folder_ / files[i]);  // oldest first
    return folder_ / file;
  }

  /// The path of the last checkpoint; nothing if there is none.
  TYPEFLOW_COLD std::optional<std::filesystem::path> latest() const {
    const std::vector<std::string> files = list();
    if (files.empty()) return std::nullopt;
    return folder_ / files.front();
  }

  /// Loads the last checkpoint and returns its step; nothing if there is none. Error as load().
  TYPEFLOW_COLD std::optional<std::int64_t> restore_latest(Variables& variables,
                                                           const LoadOptions& options = {}) const {
    const std::vector<std::string> files = list();
    if (files.empty()) return std::nullopt;
    load(variables, folder_ / files.front(), options);
    return step_of(files.front());
  }

 private:
  using Clock = std::filesystem::file_time_type::clock;

  /// Removes a checkpoint, or leaves it for good. One that can't be removed costs room: a training
  /// should not end for it.
  void retire(const std::filesystem::path& path) {
    std::error_code error;
    const auto time = std::filesystem::last_write_time(path, error);
    const std::chrono::duration<double, std::ratio<3600>> hours = time - last_left_;
    if (!error && options_.every_hours > 0 && hours.count() >= options_.every_hours) {
      last_left_ = time;
    } else {
      std::filesystem::remove(path, error);
    }
  }

  /// The step in a file's name; -1 if it is not one of ours.
  std::int64_t step_of(std::string_view file) const {
    constexpr std::string_view ending = ".safetensors";
    if (!file.starts_with(options_.name + "-") || !file.ends_with(ending)) return -1;
    file.remove_prefix(options_.name.size() + 1);
    file.remove_suffix(ending.size());
    std::int64_t step = -1;
    const auto [end, error] = std::from_chars(file.data(), file.data() + file.size(), step);
    return error == std::errc() && end == file.data() + file.size() ? step : -1;
  }

  /// What the file `latest` names.
  std::vector<std::string> list() const {
    const std::filesystem::path path = folder_ / "latest";
    if (!std::filesystem::exists(path)) return {};
    const detail::MappedFile mapped(path);
    std::string_view text(reinterpret_cast<const char*>(mapped.bytes().data()),
                          mapped.bytes().size());
    std::vector<std::string> files;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      files.emplace_back(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
      if (step_of(files.back()) < 0) {
        throw Error(path.string(), "names " + detail::in_quotes(files.back()) +
                                       ", which is no checkpoint of " +
                                       detail::in_quotes(options_.name));
      }
    }
    return files;
  }

  std::filesystem::path folder_;
  CheckpointOptions options_;
  Clock::time_point last_left_ = Clock::now();  ///< when the last one that is left was written
};

}  // namespace typeflow::inline TYPEFLOW_TARGET
