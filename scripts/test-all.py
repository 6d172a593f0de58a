#!/usr/bin/env python3
"""All tests: the workspace's test programs, and those of workers and apps in other languages, on what scripts/build-for-tests.sh
built. Programs whose tests measure time run first, one after the other; then the others, two at a time, because they mostly wait.
What a program prints comes when it has ended. A failure is a failure; only tests in scripts/retried-tests.txt run a second time,
alone.

With names (`conformance`, `workers-go`) only these programs run.
"""

import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CARGO = os.environ.get("CARGO", "cargo")
# Tests start `python3` thousands of times. A script in its place that looks for the interpreter (pyenv) takes longer than it.
os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
WORKSPACE = [CARGO, "test", "--workspace"]
# Each Rust program runs as many tests at a time as there are processors, and these more, because their tests mostly wait.
THREADS = {"watch": 2, "run": 1.5, "http": 1.5}
# These measure time, or how much is done in a time.
MEASURING = ["watch", "trial", "run", "servers", "conformance", "http", "contend-worker/pacing", "contend-worker/http_pacing"]
# The longest of the others begin first, so that none of them is alone at the end.
LONGEST = ["studies", "shim", "capture", "report", "apps", "contend/contend", "powercut"]
LANGUAGES = ["go", "java", "node", "php", "python"]
OTHERS = {
    "apps": ["scripts/test-apps.sh"],
    **{f"workers-{language}": ["scripts/test-workers.sh", language] for language in LANGUAGES},
    "fake": ["sh", "-c", "cd workers/fake && python3 -m unittest -q"],
    "report": ["scripts/check-report.sh"],
    "scripts": ["sh", "-c", "cd scripts && python3 -m unittest -q"],
    # The whole workspace: with other packages dependencies would be built with other features.
    "examples": [*WORKSPACE, "--doc", "--", "--quiet"],
}


class Program:
    def __init__(self, name, command, directory=ROOT, is_rust=False):
        self.name, self.command, self.directory, self.is_rust = name, command, directory, is_rust
        self.output, self.failed = "", False

    def run(self, *further):
        began = time.monotonic()
        threads = str(int(THREADS.get(self.name, 1) * len(os.sched_getaffinity(0))))
        rust = {"CARGO_MANIFEST_DIR": str(self.directory), "RUST_TEST_THREADS": threads}
        environment = {**os.environ, **rust} if self.is_rust else None
        process = subprocess.Popen(
            [*self.command, *further], cwd=self.directory, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace"
        )
        self.output = process.stdout.read()
        # Which of its time is work, and which is waiting.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.failed = process.returncode != 0
        result = f"FAILED with {process.returncode}" if self.failed else "ok"
        took, worked = time.monotonic() - began, usage.ru_utime + usage.ru_stime
        print(f"== {self.name}: {result}, {took:.0f} s, {worked:.0f} s of a processor\n{self.output}", flush=True)
        return self

    def failures(self):
        """Names of failed tests; none if the program did not come to its end."""
        ended = self.output.rpartition("test result: FAILED")[0]
        listed = ended.rpartition("\nfailures:\n")[2]
        return re.findall(r"^    (\S+)$", listed, re.MULTILINE) if ended else []

    def reason(self):
        """The end of what it printed, or what its failed tests said, without what led to the place in the code."""
        said = self.output.partition("\nfailures:\n")[2].partition("\nfailures:\n")[0] or self.output
        lines = [line for line in said.splitlines() if not re.match(r" +\d+: | +at |stack backtrace:|note: Some details", line)]
        return "\n".join(line[:300] for line in lines[-40:])

    def passes_again(self, names):
        """Whether the failed tests pass alone. A name that the program does not know would pass by not being run."""
        print(f"== a second time, alone: {self.name}: {' '.join(names)}")
        self.run("--exact", *names, "--test-threads=1")
        passed = re.findall(r"^test result: ok\. (\d+) passed", self.output, re.MULTILINE)
        return not self.failed and sum(map(int, passed)) >= len(names)


def rust_programs():
    # Cargo's own messages go to the terminal.
    built = subprocess.run(
        [*WORKSPACE, "--tests", "--no-run", "--message-format=json-render-diagnostics"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    )
    for message in map(json.loads, built.stdout.splitlines()):
        if message["reason"] == "compiler-artifact" and message["profile"]["test"] and message["executable"]:
            directory = Path(message["manifest_path"]).parent
            target = message["target"]
            name = target["name"] if directory == ROOT else f"{directory.name}/{target['name']}"
            yield Program(name, [message["executable"], "--quiet"], directory, is_rust=True)


def main(only):
    programs = [*rust_programs(), *(Program(name, command) for name, command in OTHERS.items())]
    unknown = {*only, *MEASURING, *LONGEST} - {program.name for program in programs}
    if unknown:
        sys.exit(f"no program is called {', '.join(sorted(unknown))}")
    programs = [program for program in programs if not only or program.name in only]
    order = [*MEASURING, *LONGEST]
    programs.sort(key=lambda program: order.index(program.name) if program.name in order else len(order))
    measuring = [program for program in programs if program.name in MEASURING]
    for program in measuring:
        program.run()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(Program.run, [program for program in programs if program.name not in MEASURING]))
    failed = [program for program in programs if program.failed]
    lines = (ROOT / "scripts/retried-tests.txt").read_text().splitlines()
    may = {line.split("\t")[0] for line in lines}
    for program in failed:
        names = program.failures()
        if not program.is_rust or not names or not may.issuperset(names):
            print(f"== {program.name} failed, see above: {' '.join(name for name in names if name not in may)}")
        elif program.passes_again(names):
            print(f"== failed among the others and passed alone: {program.name}: {' '.join(names)}")
            continue
        program.failed = True
    wrong = [program.name for program in failed if program.failed]
    for program in failed:
        if program.failed:
            # Once more, where a reader of a long log looks first.
            print(f"== {program.name}\n{program.reason()}")
    if wrong:
        sys.exit(f"tests failed: {' '.join(wrong)}")


if __name__ == "__main__":
    main(sys.argv[1:])
