# SPDX-License-Identifier: Apache-2.0

"""The parts of bench/run that measure nothing: python test_bench.py BENCH, where BENCH is its folder."""

import argparse
import contextlib
import importlib.machinery
import importlib.util
import io
import math
import pathlib
import sys
import unittest
import unittest.mock as mock
import xml.etree.ElementTree

sys.dont_write_bytecode = True
BENCH = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(BENCH))
import charts  # noqa: E402
import ratios  # noqa: E402

try:
    import numpy
except ImportError:
    numpy = None


def script(name):
    """A script without suffix as a module."""
    loader = importlib.machinery.SourceFileLoader(name, str(BENCH / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


run = script("run")
models = script("models")


def case(name, ratio):
    return ratios.Case(name, 2.0, {"slow": 100.0, "fast": 2.0 * ratio})


class Ratios(unittest.TestCase):
    def test_fastest_peer_counts(self):
        self.assertEqual(ratios.Case("x", 2.0, {"a": 3.0, "b": 5.0}).ratio, 1.5)

    def test_geomean_leaves_out_cases_without_peer(self):
        cases = [case("a", 0.5), case("b", 4.0), case("c", 4.0), ratios.Case("d", 1.0, {})]
        self.assertAlmostEqual(ratios.geomean(cases), 2.0)
        self.assertTrue(math.isnan(ratios.geomean([])))

    def test_summary_names_the_worst_and_leaves_out_the_three_best(self):
        cases = [case("a", 8.0), case("b", 0.5), case("c", 16.0), case("d", 2.0), case("e", 4.0)]
        self.assertEqual(ratios.summary("group", cases), [
            "group: 5 cases, 1 below 0.90, without the three best 1.00, worst b 0.50",
            "geomean ratio 3.48"])  # 512^(1/5)
        self.assertEqual(ratios.summary("group", [ratios.Case("a", 1.0, {})]), [])

    def test_fused_products_are_compared_with_two_passes(self):
        cases = [ratios.Case("a_bias_relu", 2.0, {}), ratios.Case("b", 7.0, {}),
                 ratios.Case("a_bias_relu_in_two_passes", 4.0, {}), ratios.Case("c_relu", 3.0, {}),
                 ratios.Case("c_relu_in_two_passes", 24.0, {})]
        self.assertEqual(
            ratios.fused(cases), ["fused against product and pass: geomean 4.00"])  # of 2 and 8
        self.assertEqual(ratios.fused(cases[:2]), [])

    def test_table_has_all_peers(self):
        cases = [ratios.Case("a", 0.5, {"x": 1.0}), ratios.Case("b", 20.0, {"y": 10.0})]
        self.assertEqual(ratios.table(cases), [
            "| case | ours ms | x ms | y ms | ratio |", "| --- | --- | --- | --- | --- |",
            "| a | 0.5 | 1.00 |  | 2.00 |", "| b | 20.00 |  | 10.00 | 0.50 |"])
        cases = [ratios.Case("a", 0.5, {}, 25.04), ratios.Case("b", 2, {"x": 1.0})]
        self.assertEqual(ratios.table(cases), [
            "| case | ours ms | x ms | ratio | GB/s |", "| --- | --- | --- | --- | --- |",
            "| a | 0.5 |  |  | 25.0 |", "| b | 2.00 | 1.00 | 0.50 |  |"])
        cases = [ratios.Case("a", 0.5, {}, 25.04, 1.234), ratios.Case("b", 2, {}, 3.0)]
        self.assertEqual(ratios.table(cases), [
            "| case | ours ms | ratio | GB/s | of a copy |", "| --- | --- | --- | --- | --- |",
            "| a | 0.5 |  | 25.0 | 1.23 |", "| b | 2.00 |  | 3.0 |  |"])


class Charts(unittest.TestCase):
    def test_bars_start_at_one_and_are_as_long_as_the_logarithm(self):
        root = xml.etree.ElementTree.fromstring(
            charts.bar_chart("a < b", [("four", 4.0), ("half", 0.5), ("two", 2.0)]))
        svg = "{http://www.w3.org/2000/svg}"
        _, four, half, two = root.iter(svg + "rect")
        self.assertEqual(four.get("x"), two.get("x"))
        width = {bar: float(bar.get("width")) for bar in (four, half, two)}
        self.assertAlmostEqual(width[four], 2 * width[two], delta=0.2)
        self.assertAlmostEqual(width[half], width[two], delta=0.2)
        self.assertAlmostEqual(
            float(half.get("x")) + width[half], float(two.get("x")), delta=0.2)
        texts = [text.text for text in root.iter(svg + "text")]
        for text in ("a < b", "four", "4.00", "0.50"):
            self.assertIn(text, texts)

    def test_ratios_are_positive(self):
        for ratio in (0.0, math.nan, math.inf):
            with self.assertRaisesRegex(ValueError, "expected ratios above 0"):
                charts.bar_chart("x", [("a", ratio)])


class Run(unittest.TestCase):
    def test_filters(self):
        self.assertEqual(run.parts_of(["short_rows"]), {"short_rows": [""]})
        self.assertEqual(run.parts_of(["rows/soft", "gemm", "rows/norm"]),
                         {"gemm": [""], "rows": ["soft", "norm"]})
        self.assertEqual(list(run.parts_of(["softmax"])), run.GROUPS)
        self.assertEqual(run.parts_of(["softmax"])["half"], ["softmax"])
        self.assertEqual(list(run.parts_of([])), run.GROUPS)

    def test_models_are_those_of_bench_models(self):
        self.assertEqual(run.MODELS, models.DEFAULT)

    def test_batch_goes_to_all_programs_of_convolution(self):
        calls = []

        def output_of(command, environment=None, text=None):
            words = [str(word) for word in command]
            calls.append(words)
            batch = words[words.index("--batch") + 1] if "--batch" in words else None
            if "--list" in words:
                return f"a forward {batch} 28\nb forward {batch} 14\n"
            if "torch_of_test" in words:
                self.assertEqual(text, "a forward 32 28")
                return "name=a ms=3\n"
            return f"a {batch} 64 2.00\ngeomean ratio 2.00\n"

        arguments = argparse.Namespace(threads=1, batch=32, seconds=1, rounds=2, environment=None,
                                       python="torch_of_test")
        with mock.patch.multiple(run, build=lambda target: True, output_of=output_of):
            case, = run.convolutions("a", arguments)
        self.assertEqual((case.ours, case.peers), (32.0, {"onednn": 64.0, "torch": 3.0}))
        self.assertEqual(len(calls), 1 + 2 * 2)

    def test_modules_of_an_interpreter(self):
        self.assertTrue(models.compiling.has_module(sys.executable, "json"))
        self.assertFalse(models.compiling.has_module(sys.executable, "no_module_of_this_name"))

    def programs(self, **outputs):
        arguments = argparse.Namespace(rounds=2, environment=None)
        return run.Programs(arguments, {
            name: [sys.executable, "-c", f"print({output!r})"] for name, output in outputs.items()})

    def test_times_are_matched_by_name(self):
        a, b = self.programs(ours="name=a ms=2 gb_per_s=8 share=0.7\nname=b ms=4", torch="name=b ms=8",
                             jax="name=a ms=3\nname=b ms=6").measure()
        self.assertEqual((a.name, a.ours, a.peers, a.rate, a.share),
                         ("a", 2.0, {"jax": 3.0}, 8.0, 0.7))
        self.assertEqual((b.name, b.ours, b.peers), ("b", 4.0, {"torch": 8.0, "jax": 6.0}))

    def test_check_finds_differences_and_missing_cases(self):
        programs = self.programs(
            ours="name=a ms=2\nname=b ms=4",
            torch="name=a ms=2 difference=1e-6 tolerance=1e-5\n"
                  "name=b ms=2 difference=inf tolerance=1e-5",
            jax="name=a ms=2 difference=0 tolerance=0")
        with contextlib.redirect_stdout(io.StringIO()):
            wrong = programs.check()
        self.assertEqual(wrong, ["b differs from torch's by inf", "b is no case of ours and of jax"])


@unittest.skipIf(numpy is None, "NumPy is not installed")
class Operands(unittest.TestCase):
    def test_bits_are_splitmix64(self):
        from peers import operands
        # The first numbers of the generator with the seed 0, as its authors' program prints them.
        self.assertEqual([int(z) for z in operands.bits(0, 3)],
                         [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F])

    def test_elements(self):
        from peers import operands
        x = operands.normal(100, 1000).elements(0).astype(float)
        self.assertLess(abs(x.mean()), 0.02)
        self.assertLess(abs(x.std() - 1), 0.02)
        self.assertLess(abs(x).max(), 3)
        self.assertFalse((x == operands.normal(100, 1000).elements(1)).any())
        i = operands.between(-2, 3, 10_000).elements(0)
        self.assertEqual(sorted(set(i.tolist())), [-2, -1, 0, 1, 2])

    def test_differences(self):
        sys.path.insert(0, str(BENCH / "peers"))
        import kernels
        a = numpy.array([1.0, -1.0, numpy.nan, numpy.inf])
        self.assertEqual(kernels.elements_differ(a, a), 0)
        self.assertAlmostEqual(kernels.elements_differ(a + 0.02, a), 0.01)
        self.assertEqual(kernels.elements_differ(a[:3], a), math.inf)
        self.assertEqual(kernels.elements_differ(numpy.array([1.0, 2, 3, 4]), a), math.inf)
        self.assertEqual(kernels.elements_differ(a, numpy.array([1.0, 2, 3, 4])), math.inf)
        self.assertGreater(kernels.moments_differ(a[:2], a[:2] + 1), 0.5)


if __name__ == "__main__":
    unittest.main()
