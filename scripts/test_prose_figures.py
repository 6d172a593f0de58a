"""Tests of prose_figures.py: on a page and a record that are made here, and on the pages of this repository."""

import os
import pathlib
import shutil
import tempfile
import unittest

import prose_figures

STUDY = """
workload = "w"
[load]
window = "2s"
[[published]]
condition = "default"
contender = "A"
metric = "throughput_ops_per_s"
value = 40
"""
KEPT = """
[as-published]
from = []
[as-published.values]
" | default | A | throughput_ops_per_s" = [123.4, 120.2, 130.6, 3]
" | default | B | throughput_ops_per_s" = [61.7, 60.0, 62.0, 3]
"""
LIST = """
[[s]]
figures = ["7 MiB"]
why = "by hand"
[[s]]
figures = ["2.0 times"]
of = "as-published:  | default | {of} | throughput_ops_per_s"
to = "as-published:  | default | {to} | throughput_ops_per_s"
[[s]]
figures = ["50 %"]
of = "as-published:  | default | B | throughput_ops_per_s"
to = "as-published:  | default | A | throughput_ops_per_s"
"""
PAGE = """# s: 9 ms

It makes 123 to 131 operations/s, 2.0 times B, published are 40 a second; B makes 50 % of it, in
windows of 2 s on 7 MiB. `sleep 5 s`

| 3 ms |
|---|
| 6 ms |

<!-- results: begin -->
A sync takes 0.27
ms.

| a | 8 ms |
<!-- results: end -->
"""


class Pages(unittest.TestCase):
    def setUp(self):
        self.old, place = os.getcwd(), pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, place)
        self.addCleanup(os.chdir, self.old)
        os.chdir(place)
        self.write("studies/s.toml", STUDY)
        self.write("evidence/results/s.toml", KEPT)
        self.write("scripts/results.toml", '[columns]\n[s]\npage = "docs/study-s.md"\n')
        self.write("docs/study-other.md", "No study: 99 ms.")
        self.list()

    def write(self, name, text):
        path = pathlib.Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def list(self, of="A", to="B"):
        self.write("scripts/prose-figures.toml", LIST.format(of=of, to=to))

    def problems(self, more="", page=PAGE):
        self.write("docs/study-s.md", f"{page}\n{more}\n")
        return list(prose_figures.problems())

    def test_figures_of_record_study_table_and_list_are_right(self):
        self.assertEqual(self.problems("A sync takes 0.27 ms, and 6 ms are in a table."), [])

    def test_a_figure_from_nowhere_is_named(self):
        for figure in ("124 /s", "122.5 /s", "123.4 ms", "0.28 ms", "8 ms", "3.1 times", "41 per second", "4 s"):
            found = self.problems(f"Here it is {figure}.")
            self.assertTrue(len(found) == 1 and f"docs/study-s.md: {figure}: not in its records" in found[0], (figure, found))

    def test_of_several_numbers_with_one_unit_each_counts(self):
        found = self.problems("They take 123, 777 and 888 operations per second.")
        self.assertEqual([line.split(":")[1] for line in found], [" 777 per second", " 888 per second"])

    def test_an_entry_that_is_not_needed_is_named(self):
        found = self.problems(page=PAGE.replace("on 7 MiB", ""))
        self.assertEqual(found, ["scripts/prose-figures.toml: s: 7 MiB needs no entry any more; remove it"])

    def test_a_factor_that_its_cells_do_not_make_is_named(self):
        self.list("B", "A")
        self.assertEqual(self.problems(), ["scripts/prose-figures.toml: s: 2.0 times: its cells make 0.5"])

    def test_an_entry_whose_cells_are_not_kept_is_named(self):
        self.list("C", "A")
        self.assertEqual(self.problems(), [f"scripts/prose-figures.toml: s: 2.0 times: {prose_figures.NO_CELLS}"])


class ThisRepository(unittest.TestCase):
    def test_figures_in_prose_are_from_somewhere(self):
        old = os.getcwd()
        os.chdir(pathlib.Path(__file__).parent.parent)
        self.addCleanup(os.chdir, old)
        self.assertEqual(list(prose_figures.problems()), [])


if __name__ == "__main__":
    unittest.main()
