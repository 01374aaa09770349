// SPDX-License-Identifier: Apache-2.0

// extract_snippets DOCUMENT.md PROGRAM.cpp OUTPUT.txt
//
// Turns the C++ snippets of a document into one program, and what the document says that they
// print into the text that the program must print. The rule, which the document repeats in a
// comment at its top:
//
//   ```cpp                  stands at file scope; blocks follow one another as in the document
//   <!-- in: NAME -->       before such a block: it stands inside of the function NAME; blocks of
//                           one name are one body
//   <!-- output: NAME -->   before a ```text block: what NAME prints. Without one, nothing.
//
// The program calls its functions in the order in which they begin. A document that has a main of
// its own is that program.

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct Function {
  std::string name;
  std::string body;
  std::string output;
};

struct Program {
  std::string file_scope;
  std::vector<Function> functions;

  Function* find(const std::string& name) {
    const auto found = std::find_if(functions.begin(), functions.end(),
                                    [&](const Function& f) { return f.name == name; });
    return found == functions.end() ? nullptr : &*found;
  }
};

/// The NAME of `<!-- key: NAME -->`; empty if the line is another.
std::string comment(std::string_view line, std::string_view key) {
  const std::string begin = "<!-- " + std::string(key) + ": ";
  const std::string_view end = " -->";
  if (!line.starts_with(begin) || !line.ends_with(end)) return {};
  return std::string(line.substr(begin.size(), line.size() - begin.size() - end.size()));
}

Program extract(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error(path + ": can't be read");
  Program program;
  std::string before;  // the line before the block
  std::string line;
  int number = 0;
  const auto fail = [&](const std::string& what) {
    throw std::runtime_error(path + ":" + std::to_string(number) + ": " + what);
  };
  while (std::getline(in, line)) {
    ++number;
    if (!line.starts_with("```")) {
      before = line;
      continue;
    }
    const std::string language = line.substr(3);
    std::ostringstream block;
    block << "#line " << number + 1 << " \"" << path << "\"\n";
    std::ostringstream text;
    while (true) {
      if (!std::getline(in, line)) fail("the block does not end");
      ++number;
      if (line == "```") break;
      block << line << '\n';
      text << line << '\n';
    }
    const std::string function = comment(before, "in");
    const std::string output = comment(before, "output");
    before.clear();
    if (language == "cpp") {
      if (!output.empty()) fail("an output must be a ```text block");
      if (function.empty()) {
        program.file_scope += block.str();
      } else {
        if (program.find(function) == nullptr) program.functions.push_back({function, {}, {}});
        program.find(function)->body += block.str();
      }
    } else if (!output.empty()) {
      Function* const known = program.find(output);
      if (known == nullptr) fail("no function '" + output + "' stands before its output");
      known->output += text.str();
    } else if (!function.empty()) {
      fail("what stands in a function must be a ```cpp block");
    }
  }
  if (program.file_scope.empty()) fail("the document has no snippet");
  return program;
}

void write(const Program& program, const std::string& source, const std::string& output) {
  std::ofstream code(source);
  std::ofstream expected(output);
  code << program.file_scope;
  if (program.file_scope.find("int main(") == std::string::npos) {
    for (const Function& f : program.functions) {
      code << "static void " << f.name << "() {\n" << f.body << "}\n";
      expected << "# " << f.name << '\n' << f.output;
    }
    code << "int main() {\n";
    for (const Function& f : program.functions) {
      code << "  std::printf(\"# " << f.name << "\\n\");\n  " << f.name << "();\n";
    }
    code << "}\n";
  } else if (!program.functions.empty()) {
    throw std::runtime_error(source + ": the document has a main and functions besides");
  }
  if (!code.flush() || !expected.flush()) throw std::runtime_error(source + ": can't be written");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: extract_snippets DOCUMENT.md PROGRAM.cpp OUTPUT.txt\n";
    return 2;
  }
  try {
    write(extract(argv[1]), argv[2], argv[3]);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
