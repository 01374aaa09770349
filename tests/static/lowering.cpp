// SPDX-License-Identifier: Apache-2.0

// A model with gradients of composed operations, compiled to a program. Also under the sanitizer of
// undefined behaviour: g++ then takes fewer expressions for constant ones, such as whether the
// address of an operation's record is null.

#include <cstdint>

#include <typeflow/devices.hpp>
#include <typeflow/typeflow.hpp>

namespace {

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 4>(g, "x");
  auto labels = tf::placeholder<float, tf::batch, 3>(g, "labels");
  auto W = tf::variable<float, 4, 3>(g, "W", tf::zeros());
  auto loss = mean(softmax_cross_entropy(matmul(x, W), labels)).named("loss");
  gradients(sum(square(gradients(loss, W))), W).named("second");
  tf::GradientDescent{.rate = 0.1}.minimize(loss).named("train");
}

using Program = tf::ir::Lowering<model>;
static_assert(Program::error.empty());
static_assert(Program::view.names.size == 6);
static_assert(Program::kernel_count > 2 && Program::view.steps.size >= Program::kernel_count);

constexpr void a_cheap_value_of_another_device(tf::Graph& g) {
  auto x = tf::placeholder<float, 3>(g, "x");
  auto doubled = tf::on<tf::Gpu<0>>(g, [&] { return x * 2; });
  tf::on<tf::Cpu<0>>(g, [&] { return exp(doubled); }).named("y");
}
/// Not computed again where it is read: it is pinned.
constexpr bool steps_and_slots_have_devices() {
  constexpr const tf::ir::ProgramView& program =
      tf::ir::Lowering<a_cheap_value_of_another_device>::view;
  if (program.steps.size != 2) return false;
  for (const tf::ir::Slot& slot : program.slots) {
    const bool temporary = slot.kind == tf::ir::SlotKind::temporary;
    if (slot.device != (temporary ? program.steps[slot.step].device : tf::Device{})) return false;
  }
  return program.steps[0].device == tf::gpu(0) && program.steps[1].device == tf::cpu(0);
}
static_assert(steps_and_slots_have_devices());

constexpr void casts_of_constants(tf::Graph& g) {
  auto x = tf::placeholder<double>(g, "x");
  auto half = tf::constant<double>(g, 2.5);
  auto seven = tf::constant<std::int32_t>(g, 7);
  auto truth = tf::cast<double>(not_equal(half, 0.0));
  auto whole = tf::cast<double>(tf::cast<std::uint64_t>(seven));
  (x + truth + whole + tf::cast<double>(tf::cast<float>(half))).named("y");
}
/// They are folded: one step adds numbers.
static_assert(tf::ir::Lowering<casts_of_constants>::view.steps.size == 1);

}  // namespace
