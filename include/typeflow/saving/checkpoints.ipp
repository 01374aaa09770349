// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <ratio>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/core/files.hpp"
#include "typeflow/runtime/variables.hpp"
#include "typeflow/saving/checkpoints.hpp"
#include "typeflow/saving/extras.hpp"
#include "typeflow/saving/load.ipp"
#include "typeflow/saving/save.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

TYPEFLOW_COLD TYPEFLOW_DEFINITION void detail::print_checkpoint_line(std::string_view line) {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
}

class Checkpoints::Parts {
 public:
  Parts(const std::string& folder, CheckpointOptions options)
      : folder_(folder), options_(std::move(options)) {
    if (options_.name.empty() || options_.name.find_first_of("/\n") != std::string::npos) {
      throw Error("Checkpoints", "the name of a file", detail::in_quotes(options_.name));
    }
    if (options_.keep < 0) throw Error("Checkpoints", "keep >= 0", std::to_string(options_.keep));
    if (!(options_.every_hours >= 0)) {
      throw Error("Checkpoints", "every_hours >= 0", std::to_string(options_.every_hours));
    }
    if (options_.save.extras != nullptr) {
      throw Error("Checkpoints", "include(name, x), which restores too", "the option .save.extras");
    }
    if (options_.read_only) return;
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    if (error)
      throw Error(folder_.string(), "no such folder can be made (" + error.message() + ")");
    for (const std::string& file : files()) {
      if (is_abandoned(file)) std::filesystem::remove(folder_ / file, error);
    }
    if (const List list = read_list(); !list.leaving.empty()) {
      remove(list.leaving);
      write_list(list.files, {});
    }
  }

  Extras& extras() { return extras_; }

  std::filesystem::path save(const Variables& variables, std::int64_t step) {
    if (step < 0) throw Error("Checkpoints::save", "a step >= 0", std::to_string(step));
    if (options_.read_only) {
      throw Error("Checkpoints::save", "a folder that is not read_only", folder_.string());
    }
    if (number_ < 0) remember(survey());
    const std::string file = options_.name + "-" + std::to_string(step) + ".safetensors";
    SaveOptions options = options_.save;
    options.extras = &extras_;
    options.metadata.insert_or_assign(number_key, std::to_string(number_ + 1));
    typeflow::save(variables, (folder_ / file).string(), options);
    ++number_;

    std::vector<std::string> earlier = std::exchange(newer_, {});
    for (std::string& listed : read_list().files) earlier.push_back(std::move(listed));
    std::erase_if(earlier, [&](const std::string& f) {
      return f == file || !std::filesystem::exists(folder_ / f);
    });
    std::erase(skipped_, file);
    std::vector<std::string> files = {file};
    for (const bool is_skipped : {false, true}) {  // damaged checkpoints are removed first
      for (const std::string& f : earlier) {
        const bool was_skipped = std::ranges::find(skipped_, f) != skipped_.end();
        if (was_skipped == is_skipped) files.push_back(f);
      }
    }
    const std::size_t kept = options_.keep == 0
                                 ? files.size()
                                 : std::min(files.size(), static_cast<std::size_t>(options_.keep));
    std::vector<std::string> leaving;
    for (std::size_t i = files.size(); i-- > kept;) {  // oldest first
      if (!stays(files[i])) leaving.push_back(files[i]);
    }
    files.resize(kept);
    write_list(files, leaving);
    if (!leaving.empty()) {
      remove(leaving);
      write_list(files, {});
    }
    return folder_ / file;
  }

  std::optional<std::int64_t> latest_step() const {
    const List list = read_list();
    if (list.files.empty()) return std::nullopt;
    return step_of(list.files.front());
  }

  std::optional<std::filesystem::path> latest() const {
    std::optional<std::filesystem::path> path;
    find_whole(survey(), {},
               [&](const std::string& file, detail::SavedFile&&) { path = folder_ / file; });
    return path;
  }

  std::optional<std::int64_t> restore_latest(Variables& variables, LoadOptions options) {
    if (options.extras == nullptr) options.extras = &extras_;
    if (options_.read_only) return restore_from_others(variables, options);
    return restore(survey(), variables, options);
  }

 private:
  using Clock = std::filesystem::file_time_type::clock;

  static constexpr std::string_view leaving_mark = "removing: ";
  static constexpr const char* number_key = "typeflow.checkpoint";
  static constexpr std::int64_t largest_number = std::int64_t{1} << 62;

  /// The content of the file `latest`.
  struct List {
    std::vector<std::string> files;
    std::vector<std::string> leaving;  ///< those about to be removed
  };
  /// The checkpoints of the folder, the most recent first.
  struct Survey {
    std::vector<std::string> files;
    std::vector<std::string> newer;  ///< those saved after `latest` was written
    std::int64_t number = 0;         ///< the highest serial number
  };

  std::optional<std::int64_t> restore(const Survey& found, Variables& variables,
                                      const LoadOptions& options) {
    std::optional<std::int64_t> step;
    skipped_ = find_whole(found, options, [&](const std::string& file, detail::SavedFile&& saved) {
      detail::Loading(variables, std::move(saved), (folder_ / file).string(), options).finish();
      step = step_of(file);
    });
    remember(found);
    return step;
  }
  /// The same while another process may remove checkpoints that were found.
  std::optional<std::int64_t> restore_from_others(Variables& variables,
                                                  const LoadOptions& options) {
    constexpr int attempts = 10;
    for (int attempt = 1;; ++attempt) {
      const Survey found = survey();
      try {
        return restore(found, variables, options);
      } catch (const Error&) {
        if (attempt == attempts || survey().files == found.files) throw;
      }
    }
  }

  void say(const std::string& sentence) const {
    if (options_.report) options_.report("Checkpoints: " + sentence);
  }
  void remember(const Survey& found) {
    number_ = found.number;
    newer_ = found.newer;
  }
  /// Removes files. Ignores errors: a file that stays costs space, but need not end the training.
  void remove(const std::vector<std::string>& files) const {
    std::error_code ignored;
    for (const std::string& file : files) std::filesystem::remove(folder_ / file, ignored);
  }
  /// Whether a surplus checkpoint is kept for good (CheckpointOptions::every_hours).
  bool stays(const std::string& file) {
    std::error_code error;
    const auto time = std::filesystem::last_write_time(folder_ / file, error);
    const std::chrono::duration<double, std::ratio<3600>> hours = time - last_left_;
    if (error || options_.every_hours <= 0 || hours.count() < options_.every_hours) return false;
    last_left_ = time;
    return true;
  }

  /// Calls take(file, contents) for the first undamaged checkpoint. Returns the ones before it.
  template <class F>
  std::vector<std::string> find_whole(const Survey& found, const LoadOptions& options,
                                      const F& take) const {
    std::vector<std::string> skipped;
    std::vector<std::string> reasons;
    for (const std::string& file : found.files) {
      const std::filesystem::path path = folder_ / file;
      std::optional<detail::MappedFile> mapped;
      detail::SavedFile saved;
      try {
        mapped.emplace(path);
        saved = detail::read_file(mapped->bytes(), path.string(), options);
      } catch (const Error& error) {
        skipped.push_back(file);
        reasons.emplace_back(error.what());
        continue;
      }
      for (const std::string& reason : reasons) say("skipped " + reason);
      if (!skipped.empty()) say("took " + path.string() + " instead");
      take(file, std::move(saved));
      return skipped;
    }
    if (skipped.empty()) return skipped;
    std::string all = "none of its checkpoints is whole; to begin anew, remove them";
    for (const std::string& reason : reasons) all += "; " + reason;
    throw Error(folder_.string(), all);
  }

  /// The step in a file's name; -1 if it is not the name of a checkpoint.
  std::int64_t step_of(std::string_view file) const {
    constexpr std::string_view ending = ".safetensors";
    if (!file.starts_with(options_.name + "-") || !file.ends_with(ending)) return -1;
    file.remove_prefix(options_.name.size() + 1);
    if (file.size() < ending.size()) return -1;
    file.remove_suffix(ending.size());
    return number_from(file);
  }
  /// The text as a number; -1 if it is not a number.
  static std::int64_t number_from(std::string_view text) {
    std::int64_t number = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() ? number : -1;
  }
  /// The serial number of a checkpoint; 0 if it has none, one that no training can have reached, or
  /// can't be read.
  std::int64_t number_in(const std::string& file) const {
    try {
      const detail::MappedFile mapped(folder_ / file);
      const detail::SavedFile saved = detail::parse_safetensors(mapped.bytes(), file);
      const auto found = saved.metadata.find(number_key);
      if (found != saved.metadata.end()) {
        const std::int64_t number = number_from(found->second);
        return number > 0 && number < largest_number ? number : 0;
      }
    } catch (const Error&) {  // loading it reports the error
    }
    return 0;
  }
  /// Whether a file is the unfinished ReplacingFile of a process that has ended, or of this one:
  /// latest.PROCESS-NUMBER.tmp or model-100.safetensors.PROCESS-NUMBER.tmp.
  bool is_abandoned(std::string_view file) const {
    constexpr std::string_view ending = ".tmp";
    if (!file.ends_with(ending)) return false;
    file.remove_suffix(ending.size());
    const std::size_t dot = file.rfind('.');
    const std::size_t dash = file.rfind('-');
    if (dot == file.npos || dash == file.npos || dash < dot) return false;
    const std::string_view target = file.substr(0, dot);
    if (target != "latest" && step_of(target) < 0) return false;
    const std::int64_t process = number_from(file.substr(dot + 1, dash - dot - 1));
    if (process <= 0 || number_from(file.substr(dash + 1)) < 0) return false;
    const auto id = static_cast<::pid_t>(process);
    return id == ::getpid() || id != process || (::kill(id, 0) != 0 && errno == ESRCH);
  }

  /// The names of the folder's files.
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    std::error_code error;
    if (options_.read_only && !std::filesystem::exists(folder_, error)) return names;
    std::filesystem::directory_iterator entry(folder_, error);
    for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
      names.push_back(entry->path().filename().string());
    }
    if (error) throw Error(folder_.string(), "cannot be read (" + error.message() + ")");
    return names;
  }
  List read_list() const {
    const std::filesystem::path path = folder_ / "latest";
    if (!std::filesystem::exists(path)) return {};
    const detail::MappedFile mapped(path);
    std::string_view text(reinterpret_cast<const char*>(mapped.bytes().data()),
                          mapped.bytes().size());
    List list;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      std::string_view file = text.substr(0, end);
      const bool is_leaving = file.starts_with(leaving_mark);
      if (is_leaving) file.remove_prefix(leaving_mark.size());
      if (step_of(file) < 0) {
        throw Error(path.string(), "names " + detail::in_quotes(file) +
                                       ", which is no checkpoint of " +
                                       detail::in_quotes(options_.name) +
                                       "; if it is damaged, remove it: the newest checkpoint of "
                                       "the folder is taken then");
      }
      (is_leaving ? list.leaving : list.files).emplace_back(file);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return list;
  }
  void write_list(const std::vector<std::string>& files,
                  const std::vector<std::string>& leaving) const {
    detail::ReplacingFile latest(folder_ / "latest");
    for (const std::string& file : files) latest.write(file + "\n");
    for (const std::string& file : leaving) {
      latest.write(std::string(leaving_mark) + file + "\n");
    }
    latest.finish();
  }

  /// The checkpoints in the order in which they are tried: those newer than `latest`, those that it
  /// names, those kept for good.
  Survey survey() const {
    struct Other {
      std::int64_t number;
      std::int64_t step;
      std::string file;
    };
    const List list = read_list();
    Survey found;
    for (const std::string& file : list.files) {
      found.number = std::max(found.number, number_in(file));
    }
    const std::int64_t last_listed = found.number;
    std::vector<Other> others;
    for (std::string& file : files()) {
      const std::int64_t step = step_of(file);
      if (step < 0 || std::ranges::find(list.files, file) != list.files.end()) continue;
      others.push_back({number_in(file), step, std::move(file)});
      found.number = std::max(found.number, others.back().number);
    }
    std::ranges::sort(others, [](const Other& a, const Other& b) {
      return std::tuple(a.number, a.step) > std::tuple(b.number, b.step);
    });
    if (list.files.empty() && !others.empty()) {
      say((folder_ / "latest").string() +
          " is missing or empty; the newest of the folder's checkpoints is taken, and none of "
          "them will be removed");
    }
    const auto older = std::ranges::find_if(others, [&](const Other& other) {
      return last_listed == 0 || other.number <= last_listed;
    });
    for (auto i = others.begin(); i != older; ++i) found.newer.push_back(i->file);
    found.files = found.newer;
    found.files.insert(found.files.end(), list.files.begin(), list.files.end());
    for (auto i = older; i != others.end(); ++i) found.files.push_back(i->file);
    return found;
  }

  std::filesystem::path folder_;
  CheckpointOptions options_;
  Extras extras_;
  Clock::time_point last_left_ = Clock::now();  ///< when the last one kept for good was written
  std::int64_t number_ = -1;                    ///< the highest serial number; -1: not read yet
  std::vector<std::string> newer_;              ///< checkpoints that `latest` does not name yet
  std::vector<std::string> skipped_;            ///< checkpoints that could not be restored
};

TYPEFLOW_COLD TYPEFLOW_DEFINITION Checkpoints::Checkpoints(const std::string& folder,
                                                           CheckpointOptions options)
    : parts_(new Parts(folder, std::move(options))) {}
TYPEFLOW_COLD TYPEFLOW_DEFINITION Checkpoints::~Checkpoints() { delete parts_; }

TYPEFLOW_DEFINITION Extras& Checkpoints::extras() { return parts_->extras(); }

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::string Checkpoints::save(const Variables& variables,
                                                                std::int64_t step) {
  return parts_->save(variables, step).string();
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::optional<std::int64_t> Checkpoints::latest_step() const {
  return parts_->latest_step();
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::optional<std::string> Checkpoints::latest() const {
  const std::optional<std::filesystem::path> path = parts_->latest();
  if (!path) return std::nullopt;
  return path->string();
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::optional<std::int64_t> Checkpoints::restore_latest(
    Variables& variables, LoadOptions options) {
  return parts_->restore_latest(variables, std::move(options));
}

}  // namespace typeflow::inline TYPEFLOW_ISA
