// SPDX-License-Identifier: Apache-2.0

// extract_snippets PROGRAM.cpp DOCUMENT.md OUTPUT.txt [DOCUMENT.md OUTPUT.txt]...
//
// Turns the C++ snippets of documents into one program, and what each document says that they print
// into the text that the program must print when it is given the number of the document, from 0 on.
// The rule, which the document repeats in a comment at its top:
//
//   ```cpp                  stands at file scope; blocks follow one another as in the document
//   <!-- in: NAME -->       before such a block: it stands inside of the function NAME; blocks of
//                           one name are one body
//   <!-- compiles: NAME --> the same, but the program does not call it: it needs data, or writes
//                           files
//   <!-- output: NAME -->   before a ```text block: what NAME prints. Without one, nothing.
//
// The program calls a document's functions in the order in which they begin. Of several documents
// each has a namespace for its snippets, so that they may use the same names. A document that has a
// main of its own is that program.

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iostream>
#include <set>
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
  bool is_called;
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
    const std::string uncalled = comment(before, "compiles");
    const std::string function = uncalled.empty() ? comment(before, "in") : uncalled;
    const std::string output = comment(before, "output");
    before.clear();
    if (language == "cpp") {
      if (!output.empty()) fail("an output must be a ```text block");
      if (function.empty()) {
        program.file_scope += block.str();
      } else {
        if (program.find(function) == nullptr)
          program.functions.push_back({function, {}, {}, uncalled.empty()});
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

bool has_main(const Program& program) {
  return program.file_scope.find("int main(") != std::string::npos;
}

/// The includes, each once, and the text without them: a namespace has none.
std::string without_includes(const std::string& text, std::set<std::string>& includes) {
  std::istringstream in(text);
  std::string rest;
  for (std::string line; std::getline(in, line);) {
    const bool is_include = line.starts_with("#include");
    if (is_include) includes.insert(line);
    rest += (is_include ? "" : line) + '\n';  // the numbers of lines stay
  }
  return rest;
}

void write_program(const std::vector<Program>& documents, std::ostream& code) {
  std::set<std::string> includes;
  std::ostringstream text;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    text << "namespace document_" << i << " {\n"
         << without_includes(documents[i].file_scope, includes);
    for (const Function& f : documents[i].functions) {
      text << "[[maybe_unused]] static void " << f.name << "() {\n" << f.body << "}\n";
    }
    text << "}\n";
  }
  for (const std::string& include : includes) code << include << '\n';
  code << "#include <cstdio>\n#include <cstdlib>\n"
       << text.str() << "int main(int, char** argv) {\n  switch (std::atoi(argv[1])) {\n";
  for (std::size_t i = 0; i < documents.size(); ++i) {
    code << "    case " << i << ":\n";
    for (const Function& f : documents[i].functions) {
      if (!f.is_called) continue;
      code << "      std::printf(\"# " << f.name << "\\n\");\n      document_" << i
           << "::" << f.name << "();\n";
    }
    code << "      break;\n";
  }
  code << "  }\n}\n";
}

/// One document, whose snippets may specialize templates of the library.
void write_program(const Program& program, std::ostream& code) {
  code << program.file_scope;
  if (has_main(program)) return;
  for (const Function& f : program.functions) {
    code << "[[maybe_unused]] static void " << f.name << "() {\n" << f.body << "}\n";
  }
  code << "int main() {\n";
  for (const Function& f : program.functions) {
    if (!f.is_called) continue;
    code << "  std::printf(\"# " << f.name << "\\n\");\n  " << f.name << "();\n";
  }
  code << "}\n";
}

void write_output(const Program& program, const std::string& path) {
  std::ofstream expected(path);
  for (const Function& f : program.functions) {
    if (f.is_called) expected << "# " << f.name << '\n' << f.output;
  }
  if (!expected.flush()) throw std::runtime_error(path + ": can't be written");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4 || argc % 2 != 0) {
    std::cerr << "usage: extract_snippets PROGRAM.cpp DOCUMENT.md OUTPUT.txt "
                 "[DOCUMENT.md OUTPUT.txt]...\n";
    return 2;
  }
  try {
    std::vector<Program> documents;
    for (int i = 2; i < argc; i += 2) {
      const Program& document = documents.emplace_back(extract(argv[i]));
      if (has_main(document) && (argc > 4 || !document.functions.empty())) {
        throw std::runtime_error(std::string(argv[i]) +
                                 ": has a main, and functions or other documents besides");
      }
      write_output(document, argv[i + 1]);
    }
    std::ofstream code(argv[1]);
    if (documents.size() == 1) {
      write_program(documents[0], code);
    } else {
      write_program(documents, code);
    }
    if (!code.flush()) throw std::runtime_error(std::string(argv[1]) + ": can't be written");
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
