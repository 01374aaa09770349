// SPDX-License-Identifier: Apache-2.0

// Shows a profile that a program has saved (tf::save_profile(profile, "net.profile.json")):
//
//   typeflow-prof net.profile.json --view scope --max_depth 2 --order_by flops
//   typeflow-prof net.profile.json --pprof net.pb.gz --chrome_trace net.json --flame_graph net.svg
//
// Views and options are those of TensorFlow's tfprof: docs/profiler.md. It ends with 0, or with 2
// and one line of what is wrong.

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <typeflow/profiler/files.hpp>
#include <typeflow/profiler/view_table.hpp>
#include <typeflow/profiler/views.hpp>

namespace tf = typeflow;

namespace {

struct Arguments {
  std::string profile;
  tf::ProfileViewOptions view;
  std::string pprof;
  std::string chrome_trace;
  std::string flame_graph;
  int width = 1200;
};

/// "kernels, scope, graph"
template <class Names>
std::string listed(const Names& names) {
  std::string text;
  for (const auto& [name, value] : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}
/// Puts the number of a name in the place of the name.
template <class Names>
CLI::Validator one_of(const Names& names) {
  return CLI::Validator(
      [&names](std::string& text) {
        for (const auto& [name, value] : names) {
          if (text != name) continue;
          text = std::to_string(static_cast<int>(value));
          return std::string();
        }
        return "expected one of " + listed(names) + ", got " + text;
      },
      "");
}
CLI::Validator at_least(double least) {
  return CLI::Validator(
      [least](std::string& text) {
        char* end = nullptr;
        const double number = std::strtod(text.c_str(), &end);
        if (end != text.c_str() && *end == '\0' && number >= least && number < 1e18) {
          return std::string();
        }
        return "expected a number >= " + std::to_string(static_cast<int>(least)) + ", got " + text;
      },
      "");
}

void add_options(CLI::App& app, Arguments& arguments) {
  tf::ProfileViewOptions& view = arguments.view;
  app.add_option("profile", arguments.profile, "a profile that tf::save_profile wrote")->required();
  app.add_option("--view", view.view, "rows: " + listed(tf::profile_views))
      ->transform(one_of(tf::profile_views))
      ->option_text("VIEW");
  app.add_option("--order_by", view.order_by, "a column: " + listed(tf::profile_columns))
      ->transform(one_of(tf::profile_columns))
      ->option_text("COLUMN");
  app.add_option("--select", view.select, "the columns behind the name")
      ->delimiter(',')
      ->transform(one_of(tf::profile_columns))
      ->option_text("COLUMN,...");
  const auto add_number = [&](const char* name, auto& value, const char* what) {
    app.add_option(name, value, what)->check(at_least(0))->option_text("NUMBER");
  };
  add_number("--max_depth", view.max_depth, "levels below the total");
  add_number("--min_micros", view.min_micros, "of a row's time");
  add_number("--min_float_ops", view.min_float_ops, "of a row");
  add_number("--min_bytes", view.min_bytes, "of a row");
  add_number("--min_params", view.min_params, "of a row");
  add_number("--min_occurrence", view.min_occurrence, "kernels of a row");
  const auto add_patterns = [&](const char* name, std::vector<std::string>& value,
                                const char* what) {
    app.add_option(name, value, what)->delimiter(',')->option_text("REGEX,...");
  };
  add_patterns("--account_type_regexes", view.account_type_regexes,
               "operations, devices, Variable or _trainable_variables that count");
  add_patterns("--start_name_regexes", view.start_name_regexes, "what begins at these rows");
  add_patterns("--trim_name_regexes", view.trim_name_regexes,
               "without these rows and what is below them");
  add_patterns("--show_name_regexes", view.show_name_regexes, "rows that are shown");
  add_patterns("--hide_name_regexes", view.hide_name_regexes, "rows that are not");
  app.add_flag("--account_displayed_op_only", view.account_displayed_op_only,
               "sums are of the rows that are shown");
  const auto add_file = [&](const char* name, std::string& value, const char* what) {
    app.add_option(name, value, what)->option_text("FILE");
  };
  add_file("--pprof", arguments.pprof, "write it for pprof, instead of a table");
  add_file("--chrome_trace", arguments.chrome_trace, "write the last calls for trace viewers");
  add_file("--flame_graph", arguments.flame_graph, "draw an SVG");
  app.add_option("--width", arguments.width, "of the drawing in pixels")
      ->check(at_least(100))
      ->option_text("NUMBER");
}

void show(const Arguments& arguments) {
  const tf::Profile profile = tf::load_profile(arguments.profile);
  const auto write = [&](const std::string& path, const auto& save) {
    if (path.empty()) return false;
    save(path);
    std::printf("wrote %s\n", path.c_str());
    return true;
  };
  bool wrote = write(arguments.pprof, [&](const auto& path) { tf::save_pprof(profile, path); });
  wrote |= write(arguments.chrome_trace,
                 [&](const auto& path) { tf::save_chrome_trace(profile, path); });
  wrote |= write(arguments.flame_graph,
                 [&](const auto& path) { tf::save_flame_graph(profile, path, arguments.width); });
  if (!wrote) std::fputs(tf::profile_table(profile, arguments.view).c_str(), stdout);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Shows a profile of a typeflow program: tables, or files for other viewers.",
               "typeflow-prof");
  Arguments arguments;
  add_options(app, arguments);
  try {
    app.parse(argc, argv);
    show(arguments);
  } catch (const CLI::Success& request) {  // --help
    return app.exit(request);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "typeflow-prof: %s\n", error.what());
    return 2;
  }
  return 0;
}
