// SPDX-License-Identifier: Apache-2.0

// table [FILE]: prints docs/operations.md, or writes it.

#include "support/cuda_on_host.hpp"

#include <typeflow/cuda/bits.hpp>
#include <typeflow/cuda/compression.hpp>
#include <typeflow/cuda/indexing.hpp>
#include <typeflow/cuda/kernels.hpp>
#include <typeflow/cuda/linalg.hpp>
#include <typeflow/cuda/mixed_matmul.hpp>
#include <typeflow/cuda/pooling.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "families.hpp"
#include "support/graph_operations.hpp"

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

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// The header of include/typeflow/cuda/ that has to be included for an operation's kernel; empty if
/// cuda.hpp has it. `type` is the operation's C++ type: "ops::Bitcast".
std::string header_of_kernel(std::string_view type) {
  const fs::path folder = fs::path(TYPEFLOW_SOURCE_DIR) / "include/typeflow/cuda";
  const std::string kernel = "struct kernel_of<" + std::string(type) + ">";
  const std::string contraction = "struct contraction_of<" + std::string(type) + ">";
  for (const fs::directory_entry& source : fs::directory_iterator(folder / "ops")) {
    const std::string text = read(source.path());
    if (text.find(kernel) == std::string::npos && text.find(contraction) == std::string::npos) {
      continue;
    }
    const std::string included =
        "#include \"typeflow/cuda/ops/" + source.path().filename().string() + '"';
    if (read(folder / "kernels.hpp").find(included) != std::string::npos) return {};
    for (const fs::directory_entry& header : fs::directory_iterator(folder)) {
      if (header.is_regular_file() && read(header.path()).find(included) != std::string::npos) {
        return "cuda/" + header.path().filename().string();
      }
    }
  }
  throw std::runtime_error("no header of cuda/ has the kernel of " + std::string(type));
}

/// "ops::Bitcast", of what the compiler prints of type_name<O>().
std::string_view type_of(const tf::ir::Op& op) {
  std::string_view text = op.type;
  text.remove_prefix(text.find("O = ") + 4);
  text = text.substr(0, text.find_first_of("];"));
  return text.substr(text.rfind("ops::"));
}

/// Where the operations of a row run: "CPU, GPU with `cuda/bits.hpp`".
std::string devices_of(const docs::Row& row) {
  std::vector<std::string> headers;
  std::vector<std::string> on_host;
  bool on_gpu = row.records.empty();
  const auto add = [](std::vector<std::string>& list, const std::string& text) {
    if (!text.empty() && std::find(list.begin(), list.end(), text) == list.end())
      list.push_back(text);
  };
  for (const docs::Record& r : row.records) {
    if (r.on_gpu == docs::OnGpu::host) {
      add(on_host, std::string(r.op->name));
      continue;
    }
    on_gpu = true;
    const bool own = r.op->kind == tf::Kind::custom || r.op->kind == tf::Kind::update ||
                     r.op->kind == tf::Kind::contraction;
    if (own) add(headers, header_of_kernel(type_of(*r.op)));
  }
  if (!on_gpu) return "CPU";
  std::string out = "CPU, GPU";
  for (std::size_t i = 0; i < headers.size(); ++i) {
    out += (i == 0 ? " with `" : ", `") + headers[i] + '`';
  }
  for (std::size_t i = 0; i < on_host.size(); ++i) {
    out += (i == 0 ? " but for `" : ", `") + on_host[i] + '`';
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
      "**On**: the devices that have kernels. GPUs have none for complex numbers and strings.\n"
      "\n"
      "- *GPU*: `<typeflow/cuda.hpp>` has the kernels ([cuda.md](cuda.md)).\n"
      "- *GPU with `cuda/indexing.hpp`*: `<typeflow/cuda/indexing.hpp>` has one of "
      "them.\n"
      "  Without that header it runs on the CPU.\n"
      "- *but for `X`*: the operation X is a part of it, or of its gradient, and runs on the CPU.\n"
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
                               devices_of(row)};
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
