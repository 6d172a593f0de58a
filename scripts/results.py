"""The tables of published and measured figures on the pages of studies, and whether a new run repeats them. How to call it:
scripts/update-results.sh and scripts/verify-results.sh; scripts/test_results.py tests it.
"""

import csv
import hashlib
import json
import pathlib
import re
import shlex
import statistics
import subprocess
import sys
import textwrap
import tomllib

VARIANTS = {"as-published": "as published, here", "corrected": "corrected, here"}
COMMAND = {"as-published": "--as-published", "corrected": "--full"}
# `--as-published` alone is of this extent, too. A quick record has shorter windows, other cells or less data.
EXTENT = "full"
NOT_RUN = "not run yet"
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
DISTURBED_MAX = 0.25
# How far beyond its rounds a corrected figure may lie when it is measured again. Throughputs of go-drivers as published, which
# were measured on two days, differ by up to 1.4.
BEYOND_ROUNDS = 1.5
NEAR_ROUNDS = f"its rounds and a factor of {BEYOND_ROUNDS:g}"
SERVERS = {"postgres": "PostgreSQL", "mariadb": "MariaDB"}


class Refused(Exception):
    """What is wrong with a record, and what to do."""


def load(path):
    return tomllib.loads(pathlib.Path(path).read_text())


def rules():
    return load("scripts/results.toml")


def studies():
    return [name for name in rules() if name != "columns"]


def kept(study):
    path = pathlib.Path(f"evidence/results/{study}.toml")
    return load(path) if path.exists() else {}


def variants(study):
    """The columns of measured figures: the study's two, and the original's form through each driver that the rules name."""
    drivers = {f"as-published-{name}": title for name, title in rules()[study].get("drivers", {}).items()}
    return {"as-published": VARIANTS["as-published"], **drivers, "corrected": VARIANTS["corrected"]}


def published(study):
    """Figures that the study file says were published: the cell (part, condition, contender, metric), and the value."""
    file = load(f"studies/{study}.toml")
    parts = {"": file, **file.get("part", {})}
    return [((part, p["condition"], p["contender"], p["metric"]), p["value"])
            for part, keys in parts.items() for p in keys.get("published", [])]


def corrected(study, cell):
    """The cell of the corrected variant that stands next to a published one."""
    part, condition, contender, metric = cell
    rule = rules()[study].get("part", {}).get(part, {})
    renamed = lambda what, name: rule.get(what, {}).get(name, name)
    return rule.get("to", part), renamed("conditions", condition), renamed("contenders", contender), renamed("metrics", metric)


def further(study):
    """Tables without published figures, of the corrected variant: the rule, and its cells row by row."""
    for table in rules()[study].get("table", []):
        rows = [[(table["part"], condition, contender, metric) for metric in table["metrics"]]
                for condition in table["conditions"] for contender in table["contenders"]]
        yield table, rows


def wanted(study, variant):
    """All cells that the tables have of a variant."""
    cells = [cell for cell, _ in published(study)]
    if variant != "corrected":
        return cells
    return [corrected(study, cell) for cell in cells] + [cell for _, rows in further(study) for row in rows for cell in row]


def key(cell):
    return " | ".join(cell)


def part_of(name):
    return name.split(" | ")[0]


# ---------------------------------------------------------------------------------------------- records


def runs(study, record):
    """Each part of a record with its directory and its run.toml, those that measure another variant left out: as published a
    part of a corrected run may have other windows than the original.
    """
    whole = record / "study.toml"
    parts = [("", record)] if not whole.exists() else [(at.parent.name, at.parent) for at in sorted(record.glob("*/run.toml"))]
    found = [(part, at, load(at / "run.toml")) for part, at in parts]
    for part, at, run in found:
        its = run["study"]
        if its["name"] != study:
            raise Refused(f"{at}: a record of the study {its['name']}, not of {study}")
        if its["extent"] != EXTENT:
            raise Refused(f"{at}: its extent is {its['extent']}; the tables are of `contend run {study} {COMMAND[its['variant']]}`")
        if "finished" not in run:
            raise Refused(f"{at}: the run was interrupted; `contend run --resume {record}` ends it")
    variant = (load(whole) if whole.exists() else found[0][2]["study"])["variant"]
    its = [(part, at, run) for part, at, run in found if run["study"]["variant"] == variant]
    driver = re.search(r"--driver[= ](\S+)", " ".join(its[0][2]["command"]))
    name = f"{variant}-{driver[1]}" if driver else variant
    if name not in variants(study):
        raise Refused(f"{record}: the tables have no column for {name}; `drivers` in scripts/results.toml names those that have one")
    return name, its


def figures(study, record):
    """The variant, and by part the figures that the tables need, and where they are from."""
    variant, parts = runs(study, record)
    cells, found = wanted(study, variant), {}
    for part, at, run in parts:
        values = rows(at, run)
        here = {key(cell): spread(values[cell[1:]]) for cell in cells if cell[0] == part and cell[1:] in values}
        if here:
            found[part] = {"from": source(part, at, run), "values": here}
    return variant, found


def spread(numbers):
    return [statistics.median(numbers), min(numbers), max(numbers), len(numbers)]


def trials(at):
    return {int(path.parent.name): load(path) for path in sorted(at.glob("trials/[0-9]*/trial.toml"))}


def rows(at, run):
    """Condition, contender and metric to the values of the valid trials, one a round."""
    study, found, values = run["study"], trials(at), {}
    with (at / "trials.csv").open() as file:
        for row in csv.DictReader(file):
            slot = found[int(row["trial"])]["slot"]
            if row["valid"] != "true":
                continue
            condition = study["conditions"][slot["condition"]]["label"] or "default"
            contender = study["contenders"][slot["contender"]]["label"]
            named = {name: (name, 1) for name in row} | {name: tuple(at) for name, at in rules()["columns"].items()}
            for metric, (column, factor) in named.items():
                try:
                    values.setdefault((condition, contender, metric), []).append(float(row[column]) * factor)
                except (KeyError, TypeError, ValueError):
                    pass
    return values


def programs(trial, engine):
    """Of the programs that did the work. Over HTTP they are the serving program's; workers are the load client then."""
    server = trial.get("server", {})
    facts = server.get("hello") or (trial["workers"][0]["hello"] if trial["workers"] else {})
    running = f"{SERVERS[engine]} {server['version']}" if engine in SERVERS and "version" in server else facts.get("engine")
    libraries = facts.get("libraries", "").split(",")
    # A driver that executes nothing has neither engine nor version.
    return {text for text in (running, facts.get("driver"), *libraries) if text and text not in ("none", "null")}


def source(part, at, run):
    # Trials that ran again were replaced, because other programs disturbed them.
    again = {slot["trial"] for slot in run.get("again", [])}
    found = [trial for number, trial in trials(at).items() if number not in again]
    disturbed = sum(1 for trial in found if any(mark["kind"].startswith("noisy") for mark in trial.get("marks", [])))
    if found and disturbed / len(found) > DISTURBED_MAX:
        raise Refused(f"{at}: {disturbed} of {len(found)} trials were disturbed; run it on a quiet machine")
    engines = [contender["engine"] for contender in run["study"]["contenders"]]
    seen = set().union(*(programs(trial, engines[trial["slot"]["contender"]]) for trial in found))
    disk = run["disk"]
    return {
        "part": part, "command": command(run["command"]), "date": run["started"][:10], "contend": run["contend"],
        "machine": machine(run) + f", Linux {run['machine']['kernel']}, {disk['file_system']}, "
                                  f"a sync takes {disk['fsync_ns_p50'] / 1e6:.2f} ms",
        "versions": sorted(seen), "trials": len(found), "disturbed": disturbed,
        "sha256": hashlib.sha256((at / "run.toml").read_bytes()).hexdigest()[:16]}


def machine(run):
    its = run["machine"]
    return f"{its['cores']} cores ({its['cpu']}{', virtual' if its['virtual_machine'] else ''})"


def command(words):
    """As typed, without what the figures do not depend on."""
    text = shlex.join(["contend", *words[1:]])
    return re.sub(r" (--(out|resume)[= ]('[^']*'|\S+)|--quiet|--allow-tmpfs)", "", text)


def keep(study, record):
    """Part by part: what a record does not have stays."""
    variant, found = figures(study, record)
    if not found:
        raise Refused(f"{record}: has no figure of the tables on {rules()[study]['page']}")
    all_kept = kept(study)
    old = all_kept.get(variant, {"from": [], "values": {}})
    all_kept[variant] = {
        "from": sorted([at for at in old["from"] if at["part"] not in found] + [new["from"] for new in found.values()],
                       key=lambda at: at["part"]),
        "values": {name: value for name, value in old["values"].items() if part_of(name) not in found}
                  | {name: value for new in found.values() for name, value in new["values"].items()}}
    path = pathlib.Path(f"evidence/results/{study}.toml")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(written(all_kept))


def written(all_kept):
    quoted = lambda value: json.dumps(value, ensure_ascii=False)
    lines = ["# Figures of records, by scripts/update-results.sh: median, smallest, largest and number of rounds. Not by hand."]
    for variant, found in sorted(all_kept.items()):
        for at in found["from"]:
            lines += ["", f"[[{variant}.from]]"] + [f"{name} = {quoted(value)}" for name, value in at.items()]
        lines += ["", f"[{variant}.values]"] + [f"{quoted(cell)} = {quoted(value)}" for cell, value in sorted(found["values"].items())]
    return "\n".join(lines) + "\n"


# ------------------------------------------------------------------------------------------------ pages


def shown(metric, value, digits=None):
    """Three digits, or all of a larger number unless `digits` says how many, in one unit for each metric."""
    if "_ns_" in metric:
        value /= 1e6
    if digits:
        value = float(f"{value:.{digits}g}")
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def unit(metric):
    return f"{metric}, ms" if "_ns_" in metric else metric


def has_run(all_kept, variant, part):
    return any(at["part"] == part for at in all_kept.get(variant, {}).get("from", []))


def here(all_kept, variant, cell):
    if not has_run(all_kept, variant, cell[0]):
        return NOT_RUN
    value = all_kept[variant]["values"].get(key(cell))
    if value is None:
        return "-"
    middle, low, high, rounds = value
    if rounds == 1:
        return shown(cell[3], middle)
    middle, low, high = (shown(cell[3], number, digits=3) for number in (middle, low, high))
    return f"{middle} ({low} to {high})"


def wrap(text):
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


def provenance(study, all_kept):
    """For each variant, where its figures are from, and what is missing."""
    for variant, title in variants(study).items():
        for at in all_kept.get(variant, {}).get("from", []):
            part = f", part `{at['part']}`" if at["part"] else ""
            # Those of programs behind HTTP were not kept until 2026-11-25.
            versions = "; ".join(at["versions"]) or "versions of the programs were not kept"
            yield wrap(f"*{title}*{part}: `{at['command']}`, {at['date']}, contend {at['contend']}; {versions}. "
                       f"{at['machine']}. {at['disturbed']} of {at['trials']} trials were disturbed. run.toml has the SHA-256 "
                       f"{at['sha256']}...")
        missing = sorted({cell[0] for cell in wanted(study, variant) if not has_run(all_kept, variant, cell[0])})
        if missing:
            names = ", ".join(f"`{part}`" for part in missing)
            parts, choice = ("", "") if missing == [""] else (f", {'part' if len(missing) == 1 else 'parts'} {names}", f" --set part={','.join(missing)}")
            _, is_driver, driver = variant.partition("as-published-")
            by = f"{COMMAND['as-published']} --driver {driver}" if is_driver else COMMAND[variant]
            yield wrap(f"*{title}*{parts}: {NOT_RUN} on a quiet machine. `contend run {study} {by}{choice} --out DIR`, "
                       f"then `scripts/update-results.sh {study} DIR`, fills the column.")


def tables(study):
    all_kept = kept(study)
    out = [wrap("Written by `scripts/update-results.sh` from the study file (published) and from records (here). Figures here are "
                "medians of rounds, with the smallest and the largest, in three digits; - stands where a variant has no such cell. "
                "Figures without rounds are rounded to three digits, large ones to whole numbers. `make verify` runs all commands "
                "again. On such a machine it expects figures *as published, here* within the factor below each table, "
                "and corrected medians between the smallest and the largest round, with a factor of "
                f"{BEYOND_ROUNDS:g} beyond each.")]
    out += provenance(study, all_kept)
    groups = {}
    for cell, value in published(study):
        groups.setdefault((cell[0], cell[3]), []).append((cell, value))
    for (part, metric), cells in groups.items():
        in_part = f"part `{part}`, " if part else ""
        other = corrected(study, cells[0][0])[3]
        heads = {variant: title if variant != "corrected" or other == metric else f"{title}: {unit(other)}"
                 for variant, title in variants(study).items()}
        lines = [f"| {in_part}{unit(metric)} | contender | published | {' | '.join(heads.values())} |", "|---|---|---|" + "---|" * len(heads)]
        for cell, value in cells:
            its = [here(all_kept, variant, corrected(study, cell) if variant == "corrected" else cell) for variant in heads]
            lines.append(f"| {cell[1]} | {cell[2]} | {shown(metric, value)} | {' | '.join(its)} |")
        out.append("\n".join(lines))
        out.append(wrap(f"Tolerance: {stated(study, part, metric)}."))
    # Without a record of theirs, `provenance` says that their part is missing.
    out += [grid(all_kept, table, rows) for table, rows in further(study) if has_run(all_kept, "corrected", table["part"])]
    return "\n\n".join(out)


def grid(all_kept, table, rows):
    heads = " | ".join(unit(metric) for metric in table["metrics"])
    lines = [f"| part `{table['part']}`, corrected | contender | {heads} |", "|---|---|" + "---|" * len(table["metrics"])]
    for row in rows:
        lines.append(f"| {row[0][1]} | {row[0][2]} | {' | '.join(here(all_kept, 'corrected', cell) for cell in row)} |")
    return "\n".join(lines)


def page(study):
    """The page, and what it should be."""
    path = pathlib.Path(rules()[study]["page"])
    text = path.read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit(f"{path}: needs the lines `{BEGIN}` and `{END}`")
    before, rest = text.split(BEGIN)
    return path, text, f"{before}{BEGIN}\n\n{tables(study)}\n\n{END}{rest.split(END)[1]}"


# ------------------------------------------------------------------------------------------- repetition


def tolerances(study, part, metric):
    """Factor of a table, and of contenders whose figures vary more."""
    its = rules()[study].get("part", {}).get(part, {}) if part else rules()[study]
    tolerance = its.get("tolerance", {}).get(metric)
    if tolerance is None:
        sys.exit(f"scripts/results.toml: {study}{f', part {part}' if part else ''}: `tolerance` has no {metric}")
    return tolerance if isinstance(tolerance, dict) else {"": tolerance}


def stated(study, part, metric):
    its = tolerances(study, part, metric)
    others = ", ".join(f"{factor:g} for {name}" for name, factor in its.items() if name)
    return f"a factor of {its['']:g}" + (f" ({others})" if others else "")


def expected(study, variant, cell, old):
    """The smallest and the largest figure that repeat a kept one, and the tolerance in words."""
    middle, low, high, _ = old
    if variant == "corrected":
        return low / BEYOND_ROUNDS, high * BEYOND_ROUNDS, NEAR_ROUNDS
    its = tolerances(study, cell[0], cell[3])
    factor = its.get(cell[2], its[""])
    return middle / factor, middle * factor, f"a factor of {factor:g}"


def judged(study, variant, found):
    """A line for each part and metric with a kept figure: whether the new figures repeat the kept ones. And whether all do,
    `None` if a figure is missing.
    """
    old, new = kept(study)[variant]["values"], {name: value for part in found.values() for name, value in part["values"].items()}
    groups = {}
    for cell in dict.fromkeys(wanted(study, variant)):
        if key(cell) in old:
            groups.setdefault((cell[0], cell[3]), []).append(cell)
    for (part, metric), cells in groups.items():
        table = f"{study}{f', part {part}' if part else ''}, {unit(metric)}, {variants(study)[variant]}"
        missing = [cell for cell in cells if key(cell) not in new]
        if missing:
            names = ", ".join(f"{cell[1]} {cell[2]}" for cell in missing)
            yield None, f"NOT VERIFIED  {table}: this run has no figure of {names}"
            continue
        wrong = []
        for cell in cells:
            was, now = old[key(cell)], new[key(cell)][0]
            low, high, words = expected(study, variant, cell, was)
            if not low <= now <= high:
                wrong.append(f"  {cell[1]} {cell[2]}: {shown(metric, was[0])}, now {shown(metric, now)}; the tolerance is {words}")
        tolerance = NEAR_ROUNDS if variant == "corrected" else stated(study, part, metric)
        verdict = "does not repeat within tolerance:" if wrong else f"repeats within {tolerance}"
        yield not wrong, "\n".join([f"{table}: {verdict}", *wrong])


def contend(command, out):
    """Carries out a kept command again. 1 is the exit status of a run with an invalid trial, which has no figure."""
    words = ["target/release/contend", *shlex.split(command)[1:], "--quiet", "--out", str(out)]
    return subprocess.run(words, stdout=subprocess.DEVNULL).returncode in (0, 1)


def repeat(study, run, out):
    """Runs all kept commands of a study again and says for each table and variant whether it repeats: False if one that should
    does not, `None` if nothing could be compared.
    """
    sources = [at for its in kept(study).values() for at in its["from"]]
    found = {}
    for number, command in enumerate(sorted({at["command"] for at in sources})):
        record = out / f"{study}-{number}"
        try:
            if not run(command, record):
                raise Refused(f"{command} did not come to its end")
            variant, parts = figures(study, record)
            found.setdefault(variant, {}).update(parts)
        except Refused as refused:
            print(f"NOT VERIFIED  {study}: {refused}")
    if not found:
        return None
    again = [of["from"] for parts in found.values() for of in parts.values()]
    machines = {at["machine"].split(", Linux")[0] for at in [*sources, *again]}
    lines = [line for variant, parts in found.items() for line in judged(study, variant, parts)]
    for _, line in lines:
        print(line)
    if len(machines) > 1:
        print(f"{study}: these are different machines, so a difference is no failure: {'; '.join(sorted(machines))}")
        return None
    if all(verdict is None for verdict, _ in lines):
        return None
    return all(verdict is not False for verdict, _ in lines)


# ------------------------------------------------------------------------------------------------ verbs


def check():
    stale = [path for path, text, wanted in map(page, studies()) if text != wanted]
    for path in stale:
        print(f"{path}: its tables are not what scripts/update-results.sh writes", file=sys.stderr)
    return 1 if stale else 0


def verify(names):
    out = pathlib.Path("target/verify/results")
    if out.exists():
        print(f"{out} is there already; remove it", file=sys.stderr)
        return 2
    out.mkdir(parents=True)
    verdicts = [repeat(study, contend, out) for study in names or studies()]
    if False in verdicts:
        return 1
    if True not in verdicts:
        print("NOT VERIFIED  no table could be compared", file=sys.stderr)
        return 2
    return 0


def main(arguments):
    verb, *rest = arguments or [""]
    names = rest if verb == "--verify" else [verb]
    if verb != "--check" and not set(names) <= set(studies()):
        print(f"usage: scripts/update-results.sh STUDY [RECORD...] or --check; scripts/verify-results.sh [STUDY...]; "
              f"STUDY is one of {', '.join(studies())}", file=sys.stderr)
        return 2
    if verb == "--check":
        return check()
    if verb == "--verify":
        return verify(names)
    try:
        for record in rest:
            keep(verb, pathlib.Path(record))
    except Refused as refused:
        print(refused, file=sys.stderr)
        return 1
    path, _, wanted = page(verb)
    path.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
