"""The tables of published and measured figures on the pages of studies: scripts/update-results.sh says how."""

import csv
import hashlib
import json
import pathlib
import re
import statistics
import sys
import textwrap
import tomllib

VARIANTS = {"as-published": "as published, here", "corrected": "corrected, here"}
COMMAND = {"as-published": "--as-published", "corrected": "--full"}
NOT_RUN = "not run yet"
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
DISTURBED_MAX = 0.25


def load(path):
    return tomllib.loads(pathlib.Path(path).read_text())


RULES = load("scripts/results.toml")


def published(study):
    """Figures that the study file says were published: part, condition, contender, metric, value."""
    file = load(f"studies/{study}.toml")
    parts = {"": file, **file.get("part", {})}
    return [(part, p["condition"], p["contender"], p["metric"], p["value"])
            for part, keys in parts.items() for p in keys.get("published", [])]


def corrected(study, cell):
    """The cell of the corrected variant compared with a published one."""
    part, condition, contender, metric = cell
    rule = RULES[study].get("part", {}).get(part, {})
    renamed = lambda what, name: rule.get(what, {}).get(name, name)
    return rule.get("to", part), renamed("conditions", condition), renamed("contenders", contender), renamed("metrics", metric)


def measured(study):
    """Metrics by part of which every cell of the corrected variant is shown, whether anything was published or not."""
    return RULES[study].get("measured", {})


def key(cell):
    return " | ".join(cell)


# ---------------------------------------------------------------------------------------------- records


def runs(record):
    """Each part of a record with its run.toml."""
    whole = record / "study.toml"
    if not whole.exists():
        return [("", record)]
    return [(at.parent.name, at.parent) for at in sorted(record.glob("*/run.toml"))]


def figures(study, record):
    """By variant: the figures that the tables need, and where they are from."""
    cells = [tuple(p[:4]) for p in published(study)]
    wanted = {"as-published": cells, "corrected": [corrected(study, cell) for cell in cells]}
    found = {}
    for part, at in runs(record):
        text = (at / "run.toml").read_bytes()
        run = tomllib.loads(text.decode())
        if run["study"]["name"] != study:
            sys.exit(f"{record}: a record of the study {run['study']['name']}, not of {study}")
        trials = [load(path) for path in sorted(at.glob("trials/[0-9]*/trial.toml"))]
        here = found.setdefault(run["study"]["variant"], {"from": [], "values": {}})
        here["from"].append(source(part, run, text, trials))
        values = rows(at, run)
        if run["study"]["variant"] == "corrected":
            wanted["corrected"] += [(part, *at) for at in values if at[2] in measured(study).get(part, [])]
        for cell in wanted[run["study"]["variant"]]:
            if cell[0] in (part, "") and (numbers := values.get(cell[1:])):
                here["values"][key(cell)] = [statistics.median(numbers), min(numbers), max(numbers), len(numbers)]
    return found


def rows(at, run):
    """Condition, contender and metric to the values of the valid trials, one a round."""
    study, values = run["study"], {}
    slots = {load(path)["slot"]["trial"] if "trial" in load(path)["slot"] else int(path.parent.name): load(path)["slot"]
             for path in at.glob("trials/[0-9]*/trial.toml")}
    with (at / "trials.csv").open() as file:
        for row in csv.DictReader(file):
            slot = slots[int(row["trial"])]
            if row["valid"] != "true":
                continue
            condition = study["conditions"][slot["condition"]]["label"] or "default"
            contender = study["contenders"][slot["contender"]]["label"]
            named = {name: (name, 1) for name in row} | {name: tuple(at) for name, at in RULES["columns"].items()}
            for metric, (column, factor) in named.items():
                try:
                    values.setdefault((condition, contender, metric), []).append(float(row[column]) * factor)
                except (KeyError, TypeError, ValueError):
                    pass
    return values


def source(part, run, text, trials):
    disturbed = sum(1 for trial in trials if any(mark["kind"].startswith("noisy") for mark in trial.get("marks", [])))
    if trials and disturbed / len(trials) > DISTURBED_MAX:
        sys.exit(f"{part or 'the record'}: {disturbed} of {len(trials)} trials were disturbed; run it on a quiet machine")
    versions = set()
    for trial in trials:
        hello = trial["workers"][0]["hello"] if trial["workers"] else {}
        versions.update(filter(None, (hello.get("engine"), hello.get("driver"))))
    command = re.sub(r" ?--(out|resume) \S+| --(quiet|allow-tmpfs)", "", " ".join(run["command"][1:]))
    machine, disk = run["machine"], run["disk"]
    return {
        "part": part, "command": f"contend {command}", "date": run["started"][:10], "contend": run["contend"],
        "machine": f"{machine['cores']} cores ({machine['cpu']}{', virtual' if machine['virtual_machine'] else ''}), "
                   f"Linux {machine['kernel']}, {disk['file_system']}, a sync takes {disk['fsync_ns_p50'] / 1e6:.2f} ms",
        "versions": sorted(versions), "trials": len(trials), "disturbed": disturbed,
        "sha256": hashlib.sha256(text).hexdigest()[:16]}


def keep(study, record):
    path = pathlib.Path(f"evidence/results/{study}.toml")
    kept = load(path) if path.exists() else {}
    for variant, found in figures(study, record).items():
        if found["values"]:
            kept[variant] = found
    quoted = lambda value: json.dumps(value, ensure_ascii=False)
    lines = ["# Figures of records, by scripts/update-results.sh: median, smallest, largest and number of rounds. Not by hand."]
    for variant, found in sorted(kept.items()):
        for at in found["from"]:
            lines += ["", f"[[{variant}.from]]"] + [f"{name} = {quoted(value)}" for name, value in at.items()]
        lines += ["", f"[{variant}.values]"] + [f"{quoted(cell)} = {quoted(value)}" for cell, value in sorted(found["values"].items())]
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


# ------------------------------------------------------------------------------------------------ pages


def shown(metric, value):
    """Three digits, or all of a larger number, in one unit for each metric."""
    if "_ns_" in metric:
        value /= 1e6
    digits = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return digits


def unit(metric):
    return f"{metric}, ms" if "_ns_" in metric else metric


def here(kept, variant, cell, metric):
    if variant not in kept:
        return NOT_RUN
    value = kept[variant]["values"].get(key(cell))
    if value is None:
        return "-"
    middle, low, high, rounds = value
    return shown(metric, middle) + (f" ({shown(metric, low)} to {shown(metric, high)})" if rounds > 1 else "")


def tables(study):
    kept = load(f"evidence/results/{study}.toml") if pathlib.Path(f"evidence/results/{study}.toml").exists() else {}
    wrap = lambda text: textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)
    out = [wrap("Written by `scripts/update-results.sh` from the study file (published) and from records (here). Figures here are "
                "medians of rounds, with the smallest and the largest; - stands where a variant has no such cell.")]
    for variant, title in VARIANTS.items():
        if variant not in kept:
            out.append(wrap(f"*{title}*: {NOT_RUN} on a quiet machine. `contend run {study} {COMMAND[variant]} --out DIR`, then "
                            f"`scripts/update-results.sh {study} DIR`, fills the column."))
            continue
        for at in kept[variant]["from"]:
            part = f", part `{at['part']}`" if at["part"] else ""
            out.append(wrap(f"*{title}*{part}: `{at['command']}`, {at['date']}, contend {at['contend']}; {'; '.join(at['versions'])}. "
                            f"{at['machine']}. {at['disturbed']} of {at['trials']} trials were disturbed. run.toml has the SHA-256 "
                            f"{at['sha256']}..."))
    groups = {}
    for part, condition, contender, metric, value in published(study):
        groups.setdefault((part, metric), []).append(((part, condition, contender, metric), value))
    for (part, metric), rows in groups.items():
        in_part = f"part `{part}`, " if part else ""
        lines = [f"| {in_part}{unit(metric)} | contender | published | {' | '.join(VARIANTS.values())} |", "|---|---|---|---|---|"]
        for cell, value in rows:
            beside = corrected(study, cell)
            lines.append(f"| {cell[1]} | {cell[2]} | {shown(metric, value)} | {here(kept, 'as-published', cell, metric)} | "
                         f"{here(kept, 'corrected', beside, beside[3])} |")
        out.append("\n".join(lines))
    values = kept.get("corrected", {}).get("values", {})
    for part, metrics in measured(study).items():
        for metric in metrics:
            cells = [cell for cell in map(lambda text: tuple(text.split(" | ")), values) if cell[0] == part and cell[3] == metric]
            lines = [f"| part `{part}`, {unit(metric)} | contender | {VARIANTS['corrected']} |", "|---|---|---|"]
            lines += [f"| {cell[1]} | {cell[2]} | {here(kept, 'corrected', cell, metric)} |" for cell in cells]
            out.append("\n".join(lines if cells else [*lines, f"| all | all | {NOT_RUN} |"]))
    return "\n\n".join(out)


def page(study):
    """The page, and what it should be."""
    path = pathlib.Path(RULES[study]["page"])
    text = path.read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit(f"{path}: needs the lines `{BEGIN}` and `{END}`")
    before, rest = text.split(BEGIN)
    return path, text, f"{before}{BEGIN}\n\n{tables(study)}\n\n{END}{rest.split(END)[1]}"


def main(arguments):
    studies = [name for name in RULES if name != "columns"]
    if arguments == ["--check"]:
        stale = [path for path, text, wanted in map(page, studies) if text != wanted]
        for path in stale:
            print(f"{path}: its tables are not what scripts/update-results.sh writes", file=sys.stderr)
        return 1 if stale else 0
    if not arguments or arguments[0] not in studies:
        print(f"usage: scripts/update-results.sh STUDY [RECORD...], STUDY one of {', '.join(studies)}; or --check", file=sys.stderr)
        return 2
    for record in arguments[1:]:
        keep(arguments[0], pathlib.Path(record))
    path, _, wanted = page(arguments[0])
    path.write_text(wanted)
    return 0


sys.exit(main(sys.argv[1:]))
