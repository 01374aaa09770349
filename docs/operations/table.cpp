// SPDX-License-Identifier: Apache-2.0

// table [FILE]: prints docs/operations.md, or writes it.

#include <cstdio>
#include <string>
#include <string_view>

#include "families.hpp"

namespace {

namespace tf = typeflow;
namespace docs = typeflow::docs;

/// Text in a cell, in which Markdown must not find tags and emphasis.
std::string plain(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool spaced = i > 0 && text[i - 1] == ' ' && i + 1 < text.size() && text[i + 1] == ' ';
    if (text[i] == '|' || (!spaced && (text[i] == '<' || text[i] == '*'))) out += '\\';
    out += text[i];
  }
  return out;
}

std::string_view text_of(docs::Gradient gradient) {
  switch (gradient) {
    case docs::Gradient::any_order:
      return "yes";
    case docs::Gradient::once:
      return "once";
    case docs::Gradient::nothing:
      return "stops";
    case docs::Gradient::missing:
      return "error";
    default:
      return "";
  }
}
std::string_view text_of(docs::Compiled compiled) {
  switch (compiled) {
    case docs::Compiled::fused:
      return "fused";
    case docs::Compiled::product:
      return "product";
    case docs::Compiled::strided_view:
      return "view";
    case docs::Compiled::own_kernel:
      return "own";
    default:
      return "none";
  }
}

std::string types_in(tf::Domain domain) {
  std::string out;
  for (int i = 0; i < tf::dtype_count; ++i) {
    const auto type = static_cast<tf::DType>(i);
    if (!contains(domain, type)) continue;
    if (!out.empty()) out += ' ';
    out += '`' + std::string(name_of(type)) + '`';
  }
  return out;
}

void print_header() {
  std::printf(
      "<!-- Printed by docs/operations/table.cpp: change the rows there and build the target\n"
      "     operations_table. -->\n"
      "\n"
      "# Operations\n"
      "\n"
      "This page lists what a model can call. [guide.md](guide.md) explains how, `typeflow/ops/` "
      "has "
      "the\n"
      "details, and [adding_an_operation.md](adding_an_operation.md) shows how to write your own.\n"
      "\n"
      "**Shapes**: the shapes of the tensors in the order of the arguments, then the result's. `S` "
      "is\n"
      "any shape, `A+B` the shape that two shapes broadcast to. Letters are extents, `..` any "
      "axes. "
      "Every\n"
      "extent may be `tf::batch` unless the text says otherwise. `g` is the `tf::Graph`, `name` a "
      "text.\n"
      "\n"
      "**Gradient**: only floating types have one.\n"
      "\n"
      "- *yes*: of any order.\n"
      "- *once*: the gradient has no gradient.\n"
      "- *stops*: the operation is allowed, but no gradient flows through it.\n"
      "- *error*: asking for the gradient does not compile.\n"
      "- *sparse*: the gradient consists of rows and their positions.\n"
      "- An empty cell: there is nothing to differentiate.\n"
      "\n"
      "**Kernel**: the loop that computes the operation.\n"
      "\n"
      "- *fused*: one kernel together with neighbouring operations.\n"
      "- *product*: a matrix product or convolution, with the operations that follow on its tile.\n"
      "- *view*: none if all readers are fused and can read the operand in place; else its own.\n"
      "- *own*: a kernel of its own.\n"
      "- *none*: nothing has to be computed.\n"
      "\n"
      "**Types** of elements:\n"
      "\n"
      "| | |\n"
      "| --- | --- |\n");
  for (const docs::NamedDomain& d : docs::domains) {
    std::printf("| %s | %s |\n", std::string(d.name).c_str(), types_in(d.domain).c_str());
  }
}

void print_row(const docs::Row& row) {
  std::string gradient(text_of(gradient_of(row)));
  if (row.options.sparse) gradient += ", sparse";
  const std::string cells[] = {"`" + docs::escaped(row.call) + "`",
                               "`" + docs::escaped(row.shapes) + "`",
                               plain(row.meaning),
                               plain(types_of(row)),
                               gradient,
                               std::string(text_of(compiled(row))),
                               "CPU"};
  for (const std::string& c : cells) std::printf("| %s ", c.c_str());
  std::printf("|\n");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::freopen(argv[1], "w", stdout) == nullptr) {
    std::perror(argv[1]);
    return 1;
  }
  print_header();
  for (const docs::Family& family : docs::families) {
    std::printf("\n## %s\n\n", std::string(family.title).c_str());
    if (!family.about.empty()) std::printf("%s\n\n", std::string(family.about).c_str());
    std::printf(
        "| call | shapes | result | types | gradient | kernel | on |\n"
        "| --- | --- | --- | --- | --- | --- | --- |\n");
    for (const docs::Row& row : family.rows) print_row(row);
  }
  return std::fflush(stdout) == 0 ? 0 : 1;
}
