"""Tests of results.py, on records and pages that are made here: `python3 -m unittest` in this folder."""

import contextlib
import io
import os
import pathlib
import shutil
import tempfile
import unittest

import results

STUDY = """
[part.old]
published = [
  { condition = "few", contender = "Go", metric = "rate", value = 100 },
  { condition = "few", contender = "Rust", metric = "rate", value = 200 },
]
[part.size]
published = [{ condition = "default", contender = "Go", metric = "mib", value = 76 }]
"""
RULES = """
[columns]
[s]
page = "page.md"
[s.part.old]
to = "new"
conditions = { few = "many" }
tolerance = { rate = { "" = 1.2, Rust = 3 } }
[s.part.size]
metrics = { mib = "wait_ns_p50" }
tolerance = { mib = 1.1 }
[[s.table]]
part = "curve"
conditions = ["few", "many"]
contenders = ["Go"]
metrics = ["rate"]
"""
PAGE = f"# Page\n\n{results.BEGIN}\n\nold\n\n{results.END}\n\nThe end.\n"


def toml(tables):
    """Tables of plain values, one level deep."""
    lines = []
    for name, table in tables.items():
        lines += [f"[{name}]"] if name else []
        lines += [f"{key} = {results.json.dumps(value)}" for key, value in table.items()]
    return "\n".join(lines) + "\n"


class Records(unittest.TestCase):
    def setUp(self):
        self.before = os.getcwd()
        self.place = pathlib.Path(tempfile.mkdtemp())
        os.chdir(self.place)
        for path, text in {"studies/s.toml": STUDY, "scripts/results.toml": RULES, "page.md": PAGE}.items():
            pathlib.Path(path).parent.mkdir(exist_ok=True)
            pathlib.Path(path).write_text(text)

    def tearDown(self):
        os.chdir(self.before)
        shutil.rmtree(self.place)

    def record(self, name, parts, variant="as-published", extent="full", words=("--as-published",), marks=(), finished=True, cores=2):
        """A record with parts: name, condition and figures by metric and contender."""
        at = pathlib.Path(name)
        at.mkdir()
        (at / "study.toml").write_text(toml({"": {"variant": variant}}))
        for part, (its_variant, condition, metric, figures) in parts.items():
            here = at / part
            for number, contender in enumerate(figures, 1):
                directory = here / f"trials/{number:04}"
                directory.mkdir(parents=True)
                kinds = "".join(f'[[marks]]\nkind = "{kind}"\n' for kind in marks)
                (directory / "trial.toml").write_text(
                    toml({"slot": {"trial": number, "contender": number - 1, "condition": 0}})
                    + '[server]\nversion = "mattn 1, SQLite 3.1, over HTTP"\n[server.hello]\ndriver = "mattn 1"\nengine = "SQLite 3.1"\n'
                    + '[[workers]]\n[workers.hello]\ndriver = "rusqlite 9"\nengine = "SQLite 9"\n' + kinds)
            rows = [f"{number},true,{value}" for number, value in enumerate(figures.values(), 1)]
            (here / "trials.csv").write_text("\n".join([f"trial,valid,{metric}", *rows]) + "\n")
            contenders = "".join(f'[[study.contenders]]\nlabel = "{label}"\nengine = "sqlite"\n' for label in figures)
            run = {"": {"started": "2026-11-25T10:00:00Z", "contend": "0.1.0", "command": ["contend", "run", "s", *words, "--out", name]},
                   "machine": {"cores": cores, "cpu": "C", "virtual_machine": True, "kernel": "6"},
                   "disk": {"file_system": "ext4", "fsync_ns_p50": 2e5}}
            run |= {"finished": {"at": "x"}} if finished else {}
            study = toml({"study": {"name": "s", "variant": its_variant, "extent": extent}})
            (here / "run.toml").write_text(toml(run) + study + f'[[study.conditions]]\nlabel = "{condition}"\n' + contenders)
        return at

    def published(self, name="a", rate=(90, 210), **further):
        old = ("as-published", "few", "rate", dict(zip(("Go", "Rust"), rate)))
        return self.record(name, {"old": old, "size": ("as-published", "default", "mib", {"Go": 80})}, **further)

    def rows(self):
        self.assertEqual(results.main(["s"]), 0)
        return [line for line in pathlib.Path("page.md").read_text().splitlines() if line.startswith("| ")]

    def refused(self, record, words):
        before = results.kept("s")
        with self.assertRaises(results.Refused) as raised:
            results.keep("s", record)
        self.assertIn(words, str(raised.exception))
        self.assertEqual(results.kept("s"), before)

    def test_both_variants_stand_next_to_the_published_figures(self):
        results.keep("s", self.published())
        results.keep("s", self.record("b", {"new": ("corrected", "many", "rate", {"Go": 95, "C": 1})}, "corrected"))
        rows = self.rows()
        self.assertIn("| few | Go | 100 | 90 | 95 |", rows)
        self.assertIn("| part `old`, rate | contender | published | as published, here | corrected, here |", rows)
        self.assertIn("| part `size`, mib | contender | published | as published, here | corrected, here: wait_ns_p50, ms |", rows)
        self.assertIn("| few | Rust | 200 | 210 | - |", rows)  # the part has no such contender
        self.assertEqual(results.check(), 0)

    def test_a_driver_that_the_rules_name_has_a_column_of_its_own(self):
        results.keep("s", self.published())
        through = lambda name, driver: self.published(name, rate=(30, 40), words=("--as-published", "--driver", driver))
        self.refused(through("b", "php"), "no column for as-published-php; `drivers` in scripts/results.toml")
        pathlib.Path("scripts/results.toml").write_text(RULES.replace('"page.md"', '"page.md"\ndrivers = { php = "in PHP" }'))
        self.assertIn("| few | Go | 100 | 90 | not run yet | not run yet |", self.rows())
        self.assertIn("`contend run s --as-published --driver php --set part=old,size --out DIR`", pathlib.Path("page.md").read_text().replace("\n", " "))
        results.keep("s", through("c", "php"))
        self.assertIn("| few | Go | 100 | 90 | 30 | not run yet |", self.rows())

    def test_a_part_replaces_nothing_but_itself(self):
        results.keep("s", self.published())
        results.keep("s", self.record("b", {"old": ("as-published", "few", "rate", {"Go": 91, "Rust": 209})}))
        kept = results.kept("s")["as-published"]
        self.assertEqual([at["part"] for at in kept["from"]], ["old", "size"])
        self.assertEqual(kept["values"]["size | default | Go | mib"], [80, 80, 80, 1])
        self.assertIn("| few | Go | 100 | 91 | not run yet |", self.rows())

    def test_a_part_of_a_corrected_run_that_measures_as_published_is_left_out(self):
        results.keep("s", self.published())
        both = {"old": ("as-published", "few", "rate", {"Go": 1, "Rust": 1}), "new": ("corrected", "many", "rate", {"Go": 95})}
        results.keep("s", self.record("b", both, "corrected", words=("--full",)))
        self.assertIn("| few | Go | 100 | 90 | 95 |", self.rows())

    def test_what_cannot_be_in_the_tables_is_refused(self):
        quick = {"new": ("corrected", "many", "rate", {"Go": 95})}
        self.refused(self.record("b", quick, "corrected", extent="quick"), "its extent is quick; the tables are of `contend run s --full`")
        self.refused(self.published("c", finished=False), "interrupted")
        self.refused(self.published("d", marks=("noisy-cpu",)), "were disturbed; run it on a quiet machine")
        self.refused(self.record("e", {"other": ("corrected", "many", "rate", {"Go": 95})}, "corrected"), "no figure of the tables on page.md")
        with contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(results.main(["s", "b"]), 1)

    def test_over_http_the_versions_are_of_the_serving_program(self):
        results.keep("s", self.published())
        self.assertEqual(results.kept("s")["as-published"]["from"][0]["versions"], ["SQLite 3.1", "mattn 1"])
        server = {"version": "10.11", "hello": {"driver": "app 1", "engine": "SQLite 3", "libraries": "PyMySQL 1,gunicorn 2"}}
        found = results.programs({"server": server, "workers": []}, "mariadb")
        self.assertEqual(found, {"MariaDB 10.11", "app 1", "PyMySQL 1", "gunicorn 2"})
        worker = {"workers": [{"hello": {"driver": "rusqlite 9", "engine": "SQLite 9"}}]}
        self.assertEqual(results.programs(worker, "sqlite"), {"rusqlite 9", "SQLite 9"})

    def test_a_table_without_published_figures_is_there_with_its_record(self):
        self.rows()
        self.assertIn("*corrected, here*, parts `curve`, `new`, `size`: not run yet", pathlib.Path("page.md").read_text().replace("\n", " "))
        results.keep("s", self.record("b", {"curve": ("corrected", "many", "rate", {"Go": 95})}, "corrected"))
        rows = self.rows()
        self.assertIn("| part `curve`, corrected | contender | rate |", rows)
        self.assertIn("| few | Go | - |", rows)
        self.assertIn("| many | Go | 95 |", rows)

    def test_a_kept_command_can_be_typed(self):
        words = ["target/release/contend", "run", "s", "--only", "A B*", "--quiet", "--out", "/a b/c"]
        self.assertEqual(results.command(words), "contend run s --only 'A B*'")

    def repeated(self, rate, **further):
        results.keep("s", self.published())

        def again(command, out):
            self.assertEqual(command, "contend run s --as-published")
            shutil.move(self.published("again", rate, **further), out)
            return True

        with contextlib.redirect_stdout(io.StringIO()) as said:
            verdict = results.repeat("s", again, self.place)
        return verdict, said.getvalue()

    def test_a_run_repeats_a_table_within_its_tolerance(self):
        verdict, said = self.repeated((100, 90))
        self.assertTrue(verdict)
        self.assertIn("s, part old, rate, as published, here: repeats within a factor of 1.2 (3 for Rust)\n", said)

    def test_a_figure_beyond_the_tolerance_is_named(self):
        verdict, said = self.repeated((120, 210))
        self.assertFalse(verdict)
        self.assertIn("rate, as published, here: does not repeat within tolerance:\n  few Go: 90, now 120; the tolerance is a factor of 1.2\n", said)

    def test_another_machine_may_differ(self):
        verdict, said = self.repeated((300, 210), cores=8)
        self.assertIsNone(verdict)
        self.assertIn("does not repeat", said)
        self.assertIn("different machines, so a difference is no failure: 2 cores (C, virtual); 8 cores (C, virtual)", said)

    def test_a_disturbed_repetition_verifies_nothing(self):
        verdict, said = self.repeated((300, 210), marks=("noisy-cpu",))
        self.assertIsNone(verdict)
        self.assertTrue(said.startswith("NOT VERIFIED  s: "), said)
        self.assertNotIn("does not repeat", said)

    def test_a_missing_figure_verifies_nothing(self):
        verdict, said = self.repeated((90,))
        self.assertTrue(verdict)
        self.assertIn("NOT VERIFIED  s, part old, rate, as published, here: this run has no figure of few Rust", said)

    def again(self, kept, repeated):
        """Keeps records, lets `repeat` find others for their commands, in that order, and returns what it says."""
        for at in kept:
            results.keep("s", at)
        commands = []

        def run(command, out):
            commands.append(command)
            shutil.move(repeated[command](), out)
            return True

        with contextlib.redirect_stdout(io.StringIO()) as said:
            verdict = results.repeat("s", run, self.place)
        self.assertEqual(commands, sorted(repeated))
        return verdict, said.getvalue()

    def rounds(self, name, middle, low, high):
        """A corrected record whose two tables have three rounds."""
        at = self.record(name, {part: ("corrected", "many", "rate", {"Go": 0}) for part in ("new", "curve")}, "corrected", words=("--full",))
        for part in ("new", "curve"):
            numbers = [middle, low, high] if low else [middle]
            rows = [f"1,true,{number}" for number in numbers]
            (at / part / "trials.csv").write_text("\n".join(["trial,valid,rate", *rows]) + "\n")
        return at

    def test_figures_with_an_interval_have_three_digits(self):
        results.keep("s", self.rounds("a", 202724, 176228, 215621))
        self.assertIn("| many | Go | 203,000 (176,000 to 216,000) |", self.rows())
        results.keep("s", self.rounds("b", 202724, None, None))
        self.assertIn("| many | Go | 202,724 |", self.rows())

    def test_corrected_figures_and_tables_without_published_ones_are_repeated(self):
        kept = self.rounds("a", 100, 80, 120)
        verdict, said = self.again([kept], {"contend run s --full": lambda: self.rounds("b", 170, None, None)})
        self.assertTrue(verdict, said)
        for part in ("new", "curve"):
            self.assertIn(f"s, part {part}, rate, corrected, here: repeats within its rounds and a factor of 1.5\n", said)

    def test_a_corrected_figure_beyond_its_rounds_is_named(self):
        kept = self.rounds("a", 100, 80, 120)
        verdict, said = self.again([kept], {"contend run s --full": lambda: self.rounds("b", 181, None, None)})
        self.assertIs(verdict, False)
        for part in ("new", "curve"):
            self.assertIn(f"s, part {part}, rate, corrected, here: does not repeat within tolerance:\n"
                          "  many Go: 100, now 181; the tolerance is its rounds and a factor of 1.5\n", said)

    def test_the_column_of_a_driver_is_repeated(self):
        pathlib.Path("scripts/results.toml").write_text(RULES.replace('"page.md"', '"page.md"\ndrivers = { php = "in PHP" }'))
        php = lambda name, rate: self.published(name, rate=rate, words=("--as-published", "--driver", "php"))
        verdict, said = self.again([self.published(), php("b", (30, 40))], {
            "contend run s --as-published": lambda: self.published("c"),
            "contend run s --as-published --driver php": lambda: php("d", (60, 40))})
        self.assertIs(verdict, False)
        self.assertIn("s, part old, rate, as published, here: repeats", said)
        self.assertIn("s, part old, rate, in PHP: does not repeat within tolerance:\n  few Go: 30, now 60; the tolerance is a factor of 1.2\n", said)

    def test_nothing_repeats_zero_but_zero(self):
        self.assertEqual(results.expected("s", "corrected", ("curve", "few", "Go", "rate"), [0, 0, 0, 3])[:2], (0, 0))
        low, high, _ = results.expected("s", "as-published", ("old", "few", "Go", "rate"), [0.1, 0.1, 0.1, 1])
        self.assertTrue(0 < low < high)


if __name__ == "__main__":
    unittest.main()
