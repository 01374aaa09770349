// SPDX-License-Identifier: Apache-2.0

// The meaning of kernels: spaces, layouts, strided views, bodies; when two descriptions are one
// kernel; and what a step must have.

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <utility>

#include <typeflow/graph.hpp>
#include <typeflow/interpret/program.hpp>
#include <typeflow/lower/compile.hpp>
#include <typeflow/lower/known_kernels.hpp>
#include <typeflow/lower/merge_program.hpp>
#include <typeflow/lower/verify.hpp>
#include <typeflow/operations.hpp>

namespace {

namespace tf = typeflow;
namespace ir = tf::ir;
using tf::DType;

constexpr const ir::Op* exp_op = &tf::record<tf::ops::Exp>;
constexpr const ir::Op* add_op = &tf::record<tf::ops::Add>;
constexpr const ir::Op* sum_op = &tf::record<tf::ops::Sum>;

constexpr ir::InputSpec operand(unsigned axes, bool is_strided = false) {
  return {DType::float32, false, is_strided, 0, axes, 0};
}
constexpr ir::InputSpec position(unsigned axes) { return {DType::int32, true, false, 0, axes, 0}; }
constexpr ir::ItemSpec item(const ir::Op* op, int phase, int a, int b = -1) {
  return {op, false, false, DType::float32, phase, 0, b < 0 ? 1 : 2, {a, b}};
}
constexpr ir::ItemSpec row_item(const ir::Op* op, int phase, int a) {
  return {op, false, true, DType::float32, phase, 0, 1, {a}};
}
constexpr ir::ItemSpec fold(int phase, int a) {
  return {sum_op, true, true, DType::float32, phase, 0, 1, {a}};
}
constexpr ir::StoreSpec store(int value, bool is_row = false, bool is_strided = false) {
  return {value, is_row, is_strided, DType::float32, 0};
}

/// e^x + r, where r is e to the sum of the row's e^x, in two passes. Stores that, r and e^x.
constexpr ir::KernelSpec two_passes() {
  ir::KernelSpec k{};
  k.begin(ir::KernelKind::loop, tf::DeviceKind::cpu);
  k.outer = 1;
  k.folds = true;
  k.inputs = 3;
  k.input[0] = operand(3);
  k.input[1] = position(2);
  k.input[2] = operand(2, true);
  k.items = 4;
  k.item[0] = item(exp_op, 0, 0);      // value 3
  k.item[1] = fold(1, 3);              // value 4
  k.item[2] = row_item(exp_op, 1, 4);  // value 5
  k.item[3] = item(add_op, 1, 3, 5);   // value 6
  k.item[0].words = 2;
  k.item[3].words = 1;
  k.stores = 3;
  k.store[0] = store(6);
  k.store[1] = store(5, true);
  k.store[2] = store(3, false, true);
  return k;
}

constexpr ir::KernelSpec product(int outer) {
  ir::KernelSpec k{};
  k.begin(ir::KernelKind::contraction, tf::DeviceKind::cpu);
  k.outer = outer;
  k.dtype = DType::float32;
  k.op = &tf::record<tf::ops::MatMul>;
  k.inputs = 3;
  k.input[2] = operand(ir::space_of(k).whole());
  k.items = 1;
  k.item[0] = item(add_op, 0, 3, 2);
  k.stores = 1;
  k.store[0] = store(4);
  return k;
}

}  // namespace

TEST_CASE("the axes of loops, and which of them is folded") {
  const ir::KernelSpace map = ir::space_of(ir::KernelKind::loop, 2, false);
  CHECK((map.rank == 3 && map.folded == 0u && map.whole() == 7u && map.extents() == 3));
  const ir::KernelSpace rows = ir::space_of(ir::KernelKind::loop, 2, true);
  CHECK((rows.rank == 3 && rows.folded == 4u));
  CHECK(rows.axes_of(store(0)) == 7u);
  CHECK(rows.axes_of(store(0, true)) == 3u);
  const ir::KernelSpace columns = ir::space_of(ir::KernelKind::columns, 1, false);
  CHECK((columns.rank == 3 && columns.folded == 2u && columns.extents() == 3));
  CHECK(columns.axes_of(store(0, true)) == 5u);
  for (int axis = 0; axis < 3; ++axis) CHECK(columns.extent(axis) == axis);
}

TEST_CASE("a contraction's extents are rows, columns and depth, then the axes outside") {
  const ir::KernelSpace space = ir::space_of(product(2));
  CHECK((space.rank == 4 && space.folded == 0u && space.extents() == 5));
  const std::array<int, 4> expected{3, 4, 0, 1};  // outside, outside, rows, columns
  for (int axis = 0; axis < 4; ++axis) {
    CHECK(space.extent(axis) == expected[static_cast<std::size_t>(axis)]);
  }
}

TEST_CASE("an operand's strides are 0 along the axes on which it repeats") {
  static constexpr std::int64_t extents[] = {3, 4, 5};
  constexpr auto whole = ir::layout_of<3>(7u, extents, {nullptr});
  static_assert(whole.begin == 0 && whole.stride[0] == 20 && whole.stride[1] == 5 &&
                whole.stride[2] == 1);
  constexpr auto repeated = ir::layout_of<3>(5u, extents, {nullptr});  // (3,1,5)
  static_assert(repeated.stride[0] == 5 && repeated.stride[1] == 0 && repeated.stride[2] == 1);
  static constexpr std::int64_t at[] = {2, 3, 4};
  static_assert(whole.at(at, 3) == 59 && repeated.at(at, 3) == 14);
  // The same for loops with fewer axes than the layout has room for.
  constexpr auto roomy = ir::layout_of<tf::max_rank>(5u, extents, {nullptr});
  static_assert(roomy.at(at, 3) == 14);
  CHECK(roomy.stride[2] == 1);
}

TEST_CASE("a strided view begins at the sum of two numbers, and may run backwards") {
  const std::int64_t extents[] = {2,  3, /*strided view 0*/ 1, 1, 1, 1, /*strided view 1*/ 4, 2,
                                  10, -1};
  const ir::StridedExtents strided_view = ir::strides_at(1, 2, extents);
  const auto layout = ir::layout_of<2>(3u, extents, strided_view);
  CHECK((layout.begin == 6 && layout.stride[0] == 10 && layout.stride[1] == -1));
  const ir::ElementRange range = ir::elements_of(layout, 3u, extents, 2);
  CHECK((range.first == 4 && range.last == 17));
  // Along its second axis alone.
  const auto row = ir::layout_of<2>(2u, extents, strided_view);
  CHECK((row.begin == 6 && row.stride[0] == 0 && row.stride[1] == -1));
  const ir::ElementRange of_row = ir::elements_of(row, 2u, extents, 2);
  CHECK((of_row.first == 4 && of_row.last == 7));
  CHECK(ir::StridedExtents::count(2) == 4);
}

TEST_CASE("a strided view without elements does not move its operand") {
  static constexpr std::int64_t extents[] = {0, 3, 4, 2, 10, 1};
  const auto layout = ir::layout_of<2>(3u, extents, ir::strides_at(0, 2, extents));
  CHECK((layout.begin == 0 && layout.stride[0] == 0 && layout.stride[1] == 0));
  const ir::ElementRange none = ir::elements_of(layout, 3u, extents, 2);
  CHECK(none.first == none.last);
  // Extents of axes along which it repeats do not matter.
  CHECK(ir::layout_of<2>(2u, extents, ir::strides_at(0, 2, extents)).begin == 6);
}

TEST_CASE("values, operands, strided views and words of a body have numbers in order") {
  const ir::KernelSpec kernel = two_passes();
  const ir::KernelBody body = ir::body_of(kernel);
  CHECK((body.first_item() == 3 && body.values() == 7));
  CHECK((body.operand(0) == 0 && body.operand(2) == 1));  // positions have no memory
  CHECK(body.first_result() == 2);
  CHECK((body.strided_before(2) == 0 && body.strided_before_store(2) == 1 &&
         body.strided_views() == 2));
  CHECK((body.words_before(0) == 0 && body.words_before(3) == 2 && body.words_before(4) == 3));
  const ir::KernelSpec contraction = product(0);
  const ir::KernelBody of_product = ir::body_of(contraction);
  CHECK((of_product.product() == 3 && of_product.first_item() == 4 && of_product.values() == 5));
  CHECK((of_product.is_factor(1) && !of_product.is_factor(2) && !body.is_factor(0)));
}

TEST_CASE("a pass folds; the last one stores elements") {
  ir::KernelSpec kernel = two_passes();
  const ir::KernelBody body = ir::body_of(kernel);
  CHECK(body.passes() == 2);
  CHECK((body.folds_in(0) && !body.folds_in(1)));
  CHECK((ir::folds_in(kernel.item[1], 0) && !ir::folds_in(kernel.item[1], 1)));
  CHECK((ir::is_row_value(kernel.item[2], 1) && !ir::is_row_value(kernel.item[2], 0)));
  CHECK(!ir::is_row_value(kernel.item[1], 1));  // an accumulator
  CHECK((ir::is_element_value(kernel.item[3]) && !ir::is_element_value(kernel.item[2])));
  CHECK((body.phase_of(0) == 0 && body.phase_of(3) == 0 && body.phase_of(6) == 1));
  kernel.store[0] = store(5, true);  // no element needs the fold
  CHECK(body.passes() == 1);
  kernel.store[0] = store(3);
  kernel.items = 1;
  kernel.stores = 1;
  CHECK(ir::body_of(kernel).passes() == 1);  // an elementwise kernel
  kernel.store[0] = store(5, true);
  kernel.items = 3;
  CHECK(ir::body_of(kernel).passes() == 1);  // a fold alone
}

TEST_CASE("a graph's softmax takes three passes, and its kernel knows") {
  tf::Graph g(tf::inference);
  softmax(tf::placeholder<float, tf::batch, 10>(g, "x")).named("y");
  const ir::ProgramPools program = ir::compile(std::move(g));
  REQUIRE(program.steps.size() == 1);
  const ir::KernelSpec& kernel = program.specs[0];
  CHECK(ir::body_of(kernel).passes() == 3);
  CHECK(ir::space_of(kernel).folded == 2u);
  CHECK(kernel.op == nullptr);
}

TEST_CASE("descriptions are compared up to their counts, in every member before") {
  const ir::KernelSpec kernel = two_passes();
  const auto differs = [&](const auto& change) {
    ir::KernelSpec other = kernel;
    change(other);
    return !(other == kernel);
  };
  CHECK(kernel == two_passes());
  CHECK(differs([](ir::KernelSpec& k) { k.kind = ir::KernelKind::columns; }));
  CHECK(differs([](ir::KernelSpec& k) { k.device = tf::DeviceKind::gpu; }));
  CHECK(differs([](ir::KernelSpec& k) { k.wide = true; }));
  CHECK(differs([](ir::KernelSpec& k) { k.outer = 2; }));
  CHECK(differs([](ir::KernelSpec& k) { k.folds = false; }));
  CHECK(differs([](ir::KernelSpec& k) { k.variant = 1; }));
  CHECK(differs([](ir::KernelSpec& k) { k.dtype = DType::float64; }));
  CHECK(differs([](ir::KernelSpec& k) { k.inputs = 2; }));
  CHECK(differs([](ir::KernelSpec& k) { k.items = 3; }));
  CHECK(differs([](ir::KernelSpec& k) { k.stores = 1; }));
  CHECK(differs([](ir::KernelSpec& k) { k.input[0].dtype = DType::float64; }));
  CHECK(differs([](ir::KernelSpec& k) { k.input[0].axes = 2; }));
  CHECK(differs([](ir::KernelSpec& k) { k.input[0].is_strided = true; }));
  CHECK(differs([](ir::KernelSpec& k) { k.input[1].is_index = false; }));
  CHECK(differs([](ir::KernelSpec& k) { k.input[0].rank = 1; }));
  CHECK(differs([](ir::KernelSpec& k) { k.item[0].op = sum_op; }));
  CHECK(differs([](ir::KernelSpec& k) { k.item[0].dtype = DType::float64; }));
  CHECK(differs([](ir::KernelSpec& k) { k.item[0].phase = 1; }));
  CHECK(differs([](ir::KernelSpec& k) { k.item[0].is_row = true; }));
  CHECK(differs([](ir::KernelSpec& k) { k.item[1].is_fold = false; }));
  CHECK(differs([](ir::KernelSpec& k) { k.item[3].count = 1; }));
  CHECK(differs([](ir::KernelSpec& k) { k.item[3].arguments[1] = 4; }));
  CHECK(differs([](ir::KernelSpec& k) { k.store[0].value = 3; }));
  CHECK(differs([](ir::KernelSpec& k) { k.store[0].is_row = true; }));
  CHECK(differs([](ir::KernelSpec& k) { k.store[0].is_strided = true; }));
  CHECK(differs([](ir::KernelSpec& k) { k.store[0].dtype = DType::float64; }));
  CHECK(differs([](ir::KernelSpec& k) { k.store[0].rank = 1; }));
  const auto of_other_operation = [] {
    ir::KernelSpec k = product(0);
    k.op = &tf::record<tf::ops::Conv>;
    return k;
  }();
  CHECK(!(product(0) == of_other_operation));

  ir::KernelSpec used = kernel;  // what an earlier kernel left behind the counts
  used.input[5] = operand(1);
  used.item[6] = fold(3, 1);
  used.item[0].arguments[7] = 9;
  used.store[9] = store(2);
  CHECK(used == kernel);
  CHECK(ir::key_of(used) == ir::key_of(kernel));
  CHECK(ir::trimmed(used) == kernel);
  CHECK(ir::trimmed(used).item[6].op == nullptr);
}

TEST_CASE("equal descriptions are one kernel of a program") {
  ir::ProgramPools program;
  ir::KnownKernels known;
  CHECK(known.number_of(program, two_passes()) == 0);
  CHECK(known.number_of(program, product(0)) == 1);
  CHECK(known.number_of(program, product(1)) == 2);
  CHECK(known.number_of(program, two_passes()) == 0);
  CHECK(known.number_of(program, product(0)) == 1);
  REQUIRE((program.specs.size() == 3 && program.kernels.size() == 3));
  CHECK(program.specs[2] == product(1));
  CHECK(program.kernels[2].outer == 1);
}

TEST_CASE("a summary lists aligned operands, element stores, strided views and costs") {
  const ir::KernelSummary loop = ir::summary_of(two_passes());
  CHECK(loop.strided_views == 2);
  CHECK(loop.aligned == 1u);         // operand 1 is a strided view, and repeats
  CHECK(loop.element_stores == 1u);  // store 1 is a row's, store 2 a strided view
  CHECK(loop.flops == exp_op->flops + add_op->flops);
  CHECK((!loop.random && !loop.prints && !loop.updates));
  const ir::KernelSummary contraction = ir::summary_of(product(1));
  CHECK(contraction.aligned == 4u);  // never the product's operands
  CHECK(ir::loop_extents(contraction) == 4);
  CHECK(ir::loop_extents(loop) == 2);
}

TEST_CASE("a step needs extents for loops and strided views, and words for each item") {
  const ir::StepNeeds loop = ir::needs_of(two_passes());
  CHECK((loop.extents == 2 + 2 * 4 && loop.words == 3 && loop.inputs == 2));
  const ir::StepNeeds contraction = ir::needs_of(product(1));
  CHECK((contraction.extents == 4 && contraction.inputs == 3));
  CHECK(contraction.words == tf::record<tf::ops::MatMul>.words);
  ir::KernelSpec custom{};
  custom.begin(ir::KernelKind::custom, tf::DeviceKind::cpu);
  custom.op = &tf::record<tf::ops::CumSum>;
  custom.inputs = custom.stores = 1;
  custom.input[0] = {DType::float32, false, false, 3, 0, 0};
  custom.store[0] = {0, false, false, DType::float64, 2};
  const ir::StepNeeds own = ir::needs_of(custom);
  CHECK((own.extents == 5 && own.inputs == 1 && own.words == custom.op->words));
  CHECK((ir::tensor_rank(custom, 0) == 3 && ir::tensor_rank(custom, 1) == 2));
  CHECK(ir::tensor_dtype(custom, 1) == DType::float64);
}

TEST_CASE("the verifier counts extents and words of all kernels") {
  const auto broken = [](const auto& breaking) {
    tf::Graph g(tf::inference);
    auto x = tf::placeholder<float, 3, 4>(g, "x");
    auto W = tf::placeholder<float, 4, 5>(g, "W");
    auto y = matmul(x, W);
    leaky_relu(cumsum<0>(y), 0.5).named("y");
    ir::ProgramPools pools = ir::compile(std::move(g));
    CHECK(ir::verify(pools).empty());
    breaking(pools);
    return std::string(ir::verify(pools).view());
  };
  CHECK(broken([](ir::ProgramPools& p) { p.steps[0].extents.count = 2; }) ==
        "step 0: other extents than its kernel has");
  CHECK(broken([](ir::ProgramPools& p) { p.steps[1].extents.count = 3; }) ==
        "step 1: other extents than its kernel has");
  CHECK(broken([](ir::ProgramPools& p) { p.steps[1].words.count = 0; }) ==
        "step 1: fewer words than its kernel has");
}

TEST_CASE("merging copies each list by what its numbers are of") {
  // Numbers that are slots and steps and blocks at once: each list must be moved by its own kind.
  ir::ProgramPools region;
  region.types.push(tf::Type(DType::float32, tf::Dims{}));
  for (int i = 0; i < 3; ++i) {
    region.slots.push({ir::SlotKind::temporary, {}, 0, tf::none, 0, tf::none});
  }
  region.kernels.push(ir::summary_of(two_passes()));
  const auto list = [&](std::initializer_list<tf::Id> ids) {
    const tf::Id first = region.operands.size();
    for (const tf::Id id : ids) region.operands.push(id);
    return std::pair{first, static_cast<tf::Id>(ids.size())};
  };
  for (int i = 0; i < 2; ++i) {
    ir::Step step{};
    const auto [slots, slot_count] = list({0, 1, 2});
    step.operands = {slots, slot_count};
    const auto [steps, step_count] = i == 0 ? list({}) : list({0});
    step.after = {steps, step_count};
    const auto [sets, set_count] = list({1, 2});
    step.needs = {sets, set_count};
    region.steps.push(step);
  }
  region.blocks.push(ir::Block{0, 2, {}, {}, {}, false});
  region.block_inputs.push(tf::none);
  region.block_inputs.push(2);
  region.block_results.push(1);

  ir::ProgramPools out;
  ir::BlockMerger blocks;
  blocks.add_main(out);
  for (int i = 0; i < 10; ++i) blocks.add_slot(out, {}, 0);
  const tf::Pool<tf::Id> kernels(1, 7);
  const auto no_variable = [](tf::Id) { return tf::none; };
  CHECK(blocks.merge(out, region, kernels, no_variable) == 1);
  CHECK(blocks.merge(out, region, kernels, no_variable) == 2);
  blocks.finish(out);
  REQUIRE(out.steps.size() == 4);
  for (int b = 1; b <= 2; ++b) {
    const ir::Block& block = out.blocks[b];
    CHECK((block.first == 2 * (b - 1) && block.count == 2));
    const tf::Id slots = 10 + 3 * (b - 1);
    for (int s = 0; s < 2; ++s) {
      const ir::Step& step = out.steps[block.first + s];
      CHECK((step.kernel == 7 && step.operands.count == 3 && step.needs.count == 0));
      for (int i = 0; i < 3; ++i) CHECK(out.operands[step.operands.first + i] == slots + i);
      REQUIRE(step.after.count == s);
      if (s == 1) CHECK(out.operands[step.after.first] == block.first);
    }
    REQUIRE((block.inputs.count == 2 && block.results.count == 1 && block.parts.count == 0));
    CHECK(out.operands[block.inputs.first] == tf::none);
    CHECK(out.operands[block.inputs.first + 1] == slots + 2);
    CHECK(out.operands[block.results.first] == slots + 1);
  }
}
