"""Figures in the prose of study pages: each follows from the page's records, its study file or its tables, or
scripts/prose-figures.toml says where it is from. `python3 scripts/prose_figures.py` from the repository's root prints those that
do not; scripts/test_prose_figures.py fails then.

A figure is a number with a unit: a time, a size, a rate, a share or a factor. Numbers without a unit, code and tables are left
alone. A record has many values, so a wrong figure can be right by chance, shares of two digits most of all: factors and shares of
two cells name the cells in the list.
"""

import fnmatch
import pathlib
import re
import sys
import tomllib

import results

NUMBER = r"\d[\d,]*(?:\.\d+)?"
UNITS = {"ns": ("time", 1e-9), "µs": ("time", 1e-6), "ms": ("time", 1e-3), "s": ("time", 1),
         "KiB": ("size", 2**10), "MiB": ("size", 2**20), "GiB": ("size", 2**30),
         "KB": ("size", 1e3), "MB": ("size", 1e6), "GB": ("size", 1e9),
         "/s": ("rate", 1), "per second": ("rate", 1), "a second": ("rate", 1), "%": ("percent", 1), "times": ("factor", 1)}
WORDS = "comments|operations|reads|requests|rows|transactions|writes"
UNIT = "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))
# Of several numbers the last one has the unit: 1, 2 and 3 ms.
FIGURES = re.compile(
    rf"(?<![\w.#-])({NUMBER}(?:(?:, | to | and | or |, and ){NUMBER})*) ?(?:(?:{WORDS}) ?)?({UNIT})(?!\w)")
# A part of a metric's name, and its unit; the first that fits.
METRICS = {"per_s": "/s", "per_configured_s": "/s", "_ns": "ns", "_us": "µs", "_ms": "ms", "percent": "%", "_mib": "MiB",
           "bytes": "B", "times": "times"}
LIST = "scripts/prose-figures.toml"
NO_CELLS = "no record has its cells, or not as many of each"


def without_tables(text):
    """The prose of a page: no generated block, code, table, heading or link's target."""
    text = re.sub(r"<!-- (\S+): begin -->.*?<!-- \1: end -->", "", text, flags=re.S)
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    text = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith(("|", "#")))
    return re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "", text))


def stated(text):
    """Number and unit of each figure, with the words around it."""
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:- |\d+\. ))", without_tables(text)):
        line = " ".join(paragraph.split())
        for found in FIGURES.finditer(line):
            for number in re.findall(NUMBER, found[1]):
                yield number.rstrip(","), found[2], line[max(0, found.start() - 60):found.end() + 30]


def is_rounded(number, value):
    """Whether a value is this number in its digits; large ones may have three."""
    digits, its = len(number.partition(".")[2]), float(number.replace(",", ""))
    return abs(value - its) <= 0.500001 * 10**-digits or its >= 1000 and float(f"{value:.3g}") == its


def in_base(metric, value):
    unit = next((unit for word, unit in METRICS.items() if word in metric), None)
    if unit is None:
        return None
    dimension, factor = UNITS.get(unit, ("size", 1))
    return dimension, value * factor


def of_records(study):
    """What the records and the published figures of a study have, each as dimension and value."""
    kept = [(name.split(" | ")[3], number) for its in results.kept(study).values()
            for name, value in its["values"].items() for number in value[:3]]
    published = [(cell[3], value) for cell, value in results.published(study)]
    return filter(None, (in_base(metric, number) for metric, number in kept + published))


def medians(study):
    """`VARIANT: CELL` to the median; `published` is a variant, too."""
    kept = {f"{variant}: {name}": value[0]
            for variant, its in results.kept(study).items() for name, value in its["values"].items()}
    return kept | {f"published: {results.key(cell)}": value for cell, value in results.published(study)}


def quotients(study, rule):
    """The quotients of the cells of a rule: a pattern is several cells, divided in their order; a list of cells is their sum."""
    values = medians(study)

    def its(wanted):
        if isinstance(wanted, list):
            return [sum(values[cell] for cell in wanted)] if set(wanted) <= values.keys() else []
        return [values[cell] for cell in sorted(values) if fnmatch.fnmatchcase(cell, wanted)]

    over, under = its(rule["of"]), its(rule["to"])
    return [this / that for this, that in zip(over, under)] if len(over) == len(under) else []


def follows(figure, found):
    """Whether a factor or a share follows from one of these quotients; a share may be one of the difference."""
    number, unit = figure.split(" ", 1)
    shares = (lambda q: [q]) if unit == "times" else (lambda q: [100 * q, 100 - 100 * q, 100 * q - 100])
    return any(is_rounded(number, value) for q in found for value in shares(q))


def settings(text):
    """Times and shares that a study file or the head of a generated block states."""
    for number, unit in re.findall(rf"(?<![\w.])(\d[\d_,]*(?:\.\d+)?) ?({UNIT})(?!\w)", text):
        dimension, factor = UNITS[unit]
        yield dimension, float(re.sub("[_,]", "", number)) * factor
    for name in re.findall(r"(?:_ms|_timeout|hold)\w* ?= ?(\[.*?\]|\d[\d_]*)", text):
        yield from (("time", int(number.replace("_", "")) / 1e3) for number in re.findall(r"\d[\d_]*", name))


def of_tables(text):
    """Numbers in tables by hand, which tests/tidy lists."""
    text = re.sub(r"<!-- results: begin -->.*?<!-- results: end -->", "", text, flags=re.S)
    rows = [line for line in text.splitlines() if line.lstrip().startswith("|")]
    return {number.rstrip(",") for row in rows for number in re.findall(NUMBER, row)}


def pages():
    """Name of the study and its page, of all that are built in."""
    for page in sorted(pathlib.Path("docs").glob("study-*.md")):
        study = page.stem.removeprefix("study-")
        if pathlib.Path(f"studies/{study}.toml").exists():
            yield study, page


def unfounded(study, text):
    """Figures of a page that neither its records nor its study file nor its tables have: `NUMBER UNIT`, and the words around."""
    file = pathlib.Path(f"studies/{study}.toml").read_text()
    blocks = " ".join(re.findall(r"<!-- results: begin -->(.*?)(?:\n\||<!-- results: end -->)", text, flags=re.S))
    workload = pathlib.Path(f"workloads/{tomllib.loads(file).get('workload', '')}.toml")
    texts = [file, " ".join(blocks.split()), *([workload.read_text()] if workload.is_file() else [])]
    records = list(of_records(study)) if study in results.studies() else []
    values, table = records + [found for its in texts for found in settings(its)], of_tables(text)
    for number, unit, around in stated(text):
        dimension, factor = UNITS[unit]
        if number not in table and not any(its == dimension and is_rounded(number, value / factor) for its, value in values):
            yield f"{number} {unit}", around


def problems():
    """One line for each figure that is neither founded nor listed, and for each listed one that is not on the page or does not
    follow from its cells.
    """
    rules = tomllib.loads(pathlib.Path(LIST).read_text())
    for study, page in pages():
        of_study = rules.get(study, [])
        listed = {figure for rule in of_study for figure in rule["figures"]}
        found = dict(unfounded(study, page.read_text()))
        for figure, around in found.items():
            if figure not in listed:
                yield (f"{page}: {figure}: not in its records, study file or tables ({around}): mend it, or say in {LIST} "
                       "where it is from")
        for figure in sorted(listed - found.keys()):
            yield f"{LIST}: {study}: {figure} needs no entry any more; remove it"
        for rule in of_study:
            its = quotients(study, rule) if "of" in rule else []
            wrong = [figure for figure in rule["figures"] if "of" in rule and not follows(figure, its)]
            made = f"its cells make {', '.join(f'{value:.4g}' for value in its)}" if its else NO_CELLS
            if wrong:
                yield f"{LIST}: {study}: {', '.join(wrong)}: {made}"


if __name__ == "__main__":
    lines = list(problems())
    print(*lines, sep="\n")
    sys.exit(bool(lines))
