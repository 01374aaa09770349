// SPDX-License-Identifier: Apache-2.0

// The scalars of event files become a table: wall_time,step,tag,value.

#include <algorithm>
#include <filesystem>
#include <optional>
#include <protozero/exception.hpp>
#include <string>
#include <string_view>
#include <vector>

#include <typeflow/records.hpp>

#include "common.hpp"
#include "event_rows.hpp"

namespace {

namespace tf = typeflow;
namespace fs = std::filesystem;

/// An event file, or those of a folder, in the order of their names.
std::vector<std::string> files_of(const std::string& input) {
  if (!fs::is_directory(input)) return {input};
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(input)) {
    if (entry.path().filename().string().find("tfevents") != std::string::npos) {
      files.push_back(entry.path().string());
    }
  }
  if (files.empty()) throw tf::Error(input, "event files, with 'tfevents' in their names", "none");
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Writes the scalars of event files as a table (CSV) with the columns wall_time, step, tag "
      "and value.");
  std::string input;
  std::string output;
  std::vector<std::string> tags;
  bool partial = false;
  app.add_option("INPUT", input, "event file, or folder of some")->required();
  app.add_option("OUTPUT", output, "table")->required();
  app.add_option("--tag", tags, "of the scalars that are wanted, may be repeated; all by default")
      ->allow_extra_args(false);
  app.add_flag("--partial", partial,
               "where a file is damaged, or ends in an event, take those before");
  return tools::run(app, argc, argv, [&] {
    const std::vector<std::string> files = files_of(input);
    tools::WholeFile table(output);
    table.write("wall_time,step,tag,value\n");
    for (const std::string& file : files) {
      tf::TfRecordReader reader(file);
      for (;;) {
        std::optional<std::string_view> record;
        try {
          record = reader.next();
        } catch (const tf::Error&) {
          if (!partial) throw;
        }
        if (!record) break;
        try {
          table.write(tools::rows_of(*record, tags));
        } catch (const protozero::exception&) {
          throw tf::Error(tools::place(file, reader.count() - 1), "an event", "other bytes");
        }
      }
    }
    table.finish();
  });
}
