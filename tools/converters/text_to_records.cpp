// SPDX-License-Identifier: Apache-2.0

// Lines of a text become records.

#include <string>
#include <vector>

#include <typeflow/data.hpp>
#include <typeflow/records.hpp>

#include "common.hpp"

int main(int argc, char** argv) {
  namespace tf = typeflow;
  CLI::App app("Writes a TFRecord file with an Example for each line of a text, plain or gzip.");
  std::string input;
  std::string output;
  std::string feature = "text";
  std::string packing;
  bool raw = false;
  app.add_option("INPUT", input, "text file")->required();
  app.add_option("OUTPUT", output, "TFRecord file")->required();
  app.add_option("--feature", feature, "name of the line in its Example")->capture_default_str();
  app.add_flag("--raw", raw, "the record is the line itself, in no Example");
  tools::add_packing(app, packing);
  return tools::run(app, argc, argv, [&] {
    tf::TfRecordWriter writer(output, {.packing = tools::packing_of(packing)});
    for (std::string line : tf::text_lines(input)) {
      if (!raw) line = tf::encode(tf::Example{{{feature, std::vector<std::string>{line}}}});
      writer.write(line);
    }
    writer.finish();
  });
}
