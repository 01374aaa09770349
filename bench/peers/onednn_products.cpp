// SPDX-License-Identifier: Apache-2.0

// The products of kernels/gemm.cpp by oneDNN, with its options: by dnnl_sgemm, those of a batch and
// those with bias and relu by its matmul. All operands lie as ours do.

#include <unordered_map>
#include <vector>

#include <omp.h>
#include <dnnl.hpp>

#include "../kernels/cases.hpp"
#include "../kernels/products.hpp"

namespace {

using bench::Product;

std::vector<float> normal(std::int64_t count, std::uint64_t number) {
  std::vector<float> x(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = bench::Normal<float>::number(bench::bits(number, i));
  }
  return x;
}

void simple(const bench::Cases& c, const Product& p) {
  const std::vector<float> a = normal(std::int64_t{p.rows} * p.depth, 0);
  const std::vector<float> b = normal(std::int64_t{p.depth} * p.columns, 1);
  std::vector<float> y(static_cast<std::size_t>(p.rows) * static_cast<std::size_t>(p.columns));
  c.time(
      p.name,
      [&] {
        dnnl_sgemm('N', 'N', p.rows, p.columns, p.depth, 1, a.data(), p.depth, b.data(), p.columns,
                   0, y.data(), p.columns);
      },
      (a.size() + b.size() + y.size()) * sizeof(float));
}

void by_primitive(const bench::Cases& c, const Product& p, bool layer) {
  using Memory = dnnl::memory;
  using Tag = Memory::format_tag;
  constexpr auto type = Memory::data_type::f32;
  dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const Memory::desc a({p.batch, p.rows, p.depth}, type, Tag::abc);
  const Memory::desc b({p.batch, p.depth, p.columns}, type, Tag::abc);
  const Memory::desc bias({1, 1, p.columns}, type, Tag::abc);
  const Memory::desc y({p.batch, p.rows, p.columns}, type, Tag::abc);
  std::vector<float> values[] = {normal(std::int64_t{p.batch} * p.rows * p.depth, 0),
                                 normal(std::int64_t{p.batch} * p.depth * p.columns, 1),
                                 normal(p.columns, 2),
                                 normal(std::int64_t{p.batch} * p.rows * p.columns, 3)};
  dnnl::primitive_attr attributes;
  dnnl::post_ops after;
  if (layer) after.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
  attributes.set_post_ops(after);
  const dnnl::matmul::desc desc =
      layer ? dnnl::matmul::desc(a, b, bias, y) : dnnl::matmul::desc(a, b, y);
  const dnnl::matmul product(dnnl::matmul::primitive_desc(desc, attributes, engine));
  std::unordered_map<int, Memory> operands{{DNNL_ARG_SRC, Memory(a, engine, values[0].data())},
                                           {DNNL_ARG_WEIGHTS, Memory(b, engine, values[1].data())},
                                           {DNNL_ARG_DST, Memory(y, engine, values[3].data())}};
  if (layer) operands.insert({DNNL_ARG_BIAS, Memory(bias, engine, values[2].data())});
  c.time(
      p.name,
      [&] {
        product.execute(stream, operands);
        stream.wait();
      },
      a.get_size() + b.get_size() + y.get_size());
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Cases c(argc, argv);
  omp_set_num_threads(c.threads());
  for (const Product& p : bench::products) {
    if (!c.chosen(p.name)) continue;
    if (p.batch == 1) {
      simple(c, p);
    } else {
      by_primitive(c, p, false);
    }
  }
  for (const Product& p : bench::layers) {
    if (c.chosen(p.name)) by_primitive(c, p, true);
  }
}
