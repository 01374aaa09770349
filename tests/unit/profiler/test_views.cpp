// SPDX-License-Identifier: Apache-2.0

// Views of a profile that is made by hand: trees, sums, order, and tfprof's options.

#include <typeflow/profiler/view_table.hpp>
#include <typeflow/profiler/views.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "some_profile.hpp"
#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;
using tf::ProfileColumn;
using tf::ProfileNode;
using tf::ProfileView;

const tf::Profile profile = some_profile();

/// The names of a tree: "total(a(b,c),d)".
std::string names(const ProfileNode& node) {
  std::string text = node.name;
  for (std::size_t i = 0; i < node.below.size(); ++i) {
    text += (i == 0 ? "(" : ",") + names(node.below[i]);
  }
  return node.below.empty() ? text : text + ")";
}
std::string names(const tf::ProfileViewOptions& options) {
  return names(tf::profile_tree(profile, options));
}
/// Whether each node's total is its own sums and those of the nodes below.
bool is_sum(const ProfileNode& node) {
  tf::ProfileSums sums = node.own;
  bool right = true;
  for (const ProfileNode& below : node.below) {
    sums += below.total;
    right = right && is_sum(below);
  }
  return right && sums.calls == node.total.calls && sums.flops == node.total.flops &&
         sums.bytes == node.total.bytes && sums.parameters == node.total.parameters &&
         sums.occurrences == node.total.occurrences &&
         sums.seconds == doctest::Approx(node.total.seconds);
}

constexpr const char* odd = "a<b>&\"c\"";

}  // namespace

TEST_CASE("every view has the sums of all kernels, at each level") {
  for (const auto& [text, view] : tf::profile_views) {
    CAPTURE(text);
    const ProfileNode root = tf::profile_tree(profile, {.view = view});
    CHECK(root.name == "total");
    CHECK(is_sum(root));
    CHECK(root.total.seconds == doctest::Approx(16e-3));
    CHECK(root.total.calls == 7);
    CHECK(root.total.flops == 5'500'000);
    CHECK(root.total.bytes == 10'100'000);
    CHECK(root.total.occurrences == 4);
    CHECK(root.total.least_seconds == 0.5e-3);
    CHECK(root.total.most_seconds == 5e-3);
    CHECK(root.total.parameters == (view == ProfileView::scope ? 16 : 0));
    CHECK(root.total.seconds == doctest::Approx(profile.seconds()));
    CHECK(root.total.flops == profile.flops());
  }
  CHECK(profile.parameters() == 16);
}

TEST_CASE("scopes are a tree with kernels and variables, the slowest first") {
  const ProfileNode root = tf::profile_tree(profile, {.view = ProfileView::scope});
  CHECK(names(root) == std::string("total(net(net/fc1(net/fc1/Relu,net/fc1/W,net/fc1/b),") +
                           "net/While(net/While/Tanh))," + odd + ",loss,steps)");
  const ProfileNode& net = root.below[0];
  CHECK(net.total.seconds == doctest::Approx(11e-3));
  CHECK(net.total.calls == 5);
  CHECK(net.total.parameters == 16);
  CHECK(net.total.flops == 4'000'000);
  CHECK(net.below[0].below[0].operations == "MatMul + Add + Relu");
  CHECK(net.below[0].below[0].source == "net.cpp:5");
  CHECK(net.below[0].below[0].device == "/cpu:0");
}

TEST_CASE("the graph has below each kernel those whose results it reads, each once") {
  CHECK(names({.view = ProfileView::graph}) ==
        std::string("total(loss(net/While(net/fc1/Relu,net/While/Tanh)),") + odd + ")");
}

TEST_CASE("a circle in the graph, or a very deep one, is shown") {
  tf::Profile circle = profile;
  circle.steps[0].inputs = {3};
  CHECK(tf::profile_tree(circle, {.view = ProfileView::graph}).total.calls == 7);
  tf::Profile deep = profile;
  deep.steps.resize(1);
  for (int i = 1; i < 50'000; ++i) {
    deep.steps.push_back(deep.steps[0]);
    deep.steps.back().inputs = {i - 1};
    if (i > 49'000) deep.steps.back().name += std::string(3000, '/');
  }
  CHECK(tf::profile_tree(deep, {.view = ProfileView::graph}).total.calls == 100'000);
  CHECK(tf::profile_tree(deep, {.view = ProfileView::scope}).total.calls == 100'000);
}

TEST_CASE("kernels are grouped by kind, source line and device") {
  CHECK(names({.view = ProfileView::operations}) == "total(MatMul,Add,Tanh,Mean)");
  const ProfileNode lines = tf::profile_tree(profile, {.view = ProfileView::lines});
  CHECK(names(lines) == "total(net.cpp:5,dir \\ \"x\".cpp:1,net.cpp:9)");
  CHECK(lines.below[2].total.seconds == doctest::Approx(4e-3));
  CHECK(lines.below[2].total.occurrences == 2);
  CHECK(names({.view = ProfileView::devices}) == "total(/cpu:0,/gpu:0)");
}

TEST_CASE("rows are in the order of any column") {
  CHECK(names({.order_by = ProfileColumn::name}) ==
        std::string("total(") + odd + ",loss,net/While/Tanh,net/fc1/Relu)");
  CHECK(names({.order_by = ProfileColumn::calls}) ==
        std::string("total(net/While/Tanh,net/fc1/Relu,") + odd + ",loss)");
  CHECK(names({.order_by = ProfileColumn::bytes}) ==  // of two equal ones the first by name
        std::string("total(net/While/Tanh,") + odd + ",net/fc1/Relu,loss)");
  CHECK(names({.order_by = ProfileColumn::byte_rate}) ==
        std::string("total(net/While/Tanh,") + odd + ",net/fc1/Relu,loss)");
  for (const auto& [text, column] : tf::profile_columns) {
    CAPTURE(text);
    const tf::ProfileViewOptions options{.order_by = column, .select = {column}};
    CHECK(tf::profile_tree(profile, options).below.size() == 4);
    CHECK(!tf::profile_table(profile, options).empty());
  }
}

TEST_CASE("regular expressions match whole names, and choose rows as tfprof's do") {
  CHECK(names({.show_name_regexes = {"net"}}) == "total");
  CHECK(names({.show_name_regexes = {"net/.*"}}) == "total(net/fc1/Relu,net/While/Tanh)");
  CHECK(names({.show_name_regexes = {"loss", ".*Tanh"}}) == "total(net/While/Tanh,loss)");
  CHECK(names({.hide_name_regexes = {"net/.*"}}) == std::string("total(") + odd + ",loss)");
  // Rows below a hidden one move up; those below a trimmed one go.
  CHECK(names({.view = ProfileView::scope, .hide_name_regexes = {"net", "net/fc1", ".*[Wb]"}}) ==
        std::string("total(net/fc1/Relu,") + odd + ",net/While(net/While/Tanh),loss,steps)");
  CHECK(names({.view = ProfileView::scope, .trim_name_regexes = {"net/.*"}}) ==
        std::string("total(net,") + odd + ",loss,steps)");
  CHECK(names({.view = ProfileView::scope, .start_name_regexes = {".*While"}}) ==
        "total(net/While(net/While/Tanh))");
  CHECK(names({.view = ProfileView::scope, .max_depth = 1}) ==
        std::string("total(net,") + odd + ",loss,steps)");
  CHECK(names({.view = ProfileView::scope, .max_depth = 0}) == "total");
}

TEST_CASE("types are a kernel's operations and device, and a variable's") {
  CHECK(names({.account_type_regexes = {"Add"}}) == std::string("total(net/fc1/Relu,") + odd + ")");
  CHECK(names({.account_type_regexes = {"/gpu:.*"}}) == "total(loss)");
  const ProfileNode variables = tf::profile_tree(
      profile, {.view = ProfileView::scope, .account_type_regexes = {"_trainable_variables"}});
  CHECK(names(variables) == "total(net(net/fc1(net/fc1/W,net/fc1/b)))");
  CHECK(variables.total.parameters == 16);
  CHECK(variables.total.seconds == 0);
}

TEST_CASE("small rows are left out, and sums are of all rows unless asked otherwise") {
  CHECK(names({.min_micros = 3500}) == std::string("total(net/fc1/Relu,") + odd + ")");
  CHECK(names({.min_float_ops = 600'000}) == std::string("total(net/fc1/Relu,") + odd + ")");
  CHECK(names({.min_bytes = 1'000'000}) ==
        std::string("total(net/fc1/Relu,") + odd + ",net/While/Tanh)");
  CHECK(names({.view = ProfileView::scope, .min_params = 5}) == "total(net(net/fc1(net/fc1/W)))");
  CHECK(names({.view = ProfileView::lines, .min_occurrence = 2}) == "total(net.cpp:9)");
  const tf::ProfileViewOptions all{.view = ProfileView::scope, .hide_name_regexes = {".*Relu"}};
  CHECK(tf::profile_tree(profile, all).total.seconds == doctest::Approx(16e-3));
  tf::ProfileViewOptions shown = all;
  shown.account_displayed_op_only = true;
  CHECK(tf::profile_tree(profile, shown).total.seconds == doctest::Approx(8e-3));
}

TEST_CASE("a table has a line for each row, with units") {
  CHECK(tf::profile_table(
            profile, {.view = ProfileView::scope,
                      .max_depth = 2,
                      .select = {ProfileColumn::time, ProfileColumn::share, ProfileColumn::flops,
                                 ProfileColumn::flop_rate, ProfileColumn::roofline,
                                 ProfileColumn::parameters}}) ==
        "name                time    share     flops  Gflop/s  roofline  parameters\n"
        "total          16.000 ms  100.0 %    5.50 M     0.34    53.3 %          16\n"
        "  net          11.000 ms   68.8 %    4.00 M     0.36    63.6 %          16\n"
        "    net/fc1     8.000 ms   50.0 %    4.00 M     0.50    50.0 %          16\n"
        "    net/While   3.000 ms   18.8 %         0     0.00   100.0 %           0\n"
        "  a<b>&\"c\"      4.000 ms   25.0 %    1.00 M     0.25    25.0 %           0\n"
        "  loss          1.000 ms    6.2 %  500.00 k     0.50         -           0\n"
        "  steps                -    0.0 %         0        -         -           0\n");
}

TEST_CASE("an option that is no regular expression is an error") {
  CHECK(message_of([&] { tf::profile_tree(profile, {.trim_name_regexes = {"("}}); }) ==
        "trim_name_regexes: expected a regular expression, got \"(\"");
}

TEST_CASE("an empty profile has a total") {
  const std::string table = tf::profile_table({}, {.view = ProfileView::scope});
  CHECK(table.starts_with("name"));
  CHECK(table.find("\ntotal") != std::string::npos);
}
