"""Lies of a worker, as changes to the plan that the real worker carries out and to the samples that the tool gets.

Each lie is as good as possible: the samples follow the tool's plan, so that only other evidence contradicts them.
README.md has a table of the kinds. `of` makes one from a seed.
"""

import random
import re
from collections import defaultdict

NOOP = "SELECT 1"
ANY = "0..*"


class Program:
    """A plan, of which the transactions and the operations can be changed."""

    def __init__(self, text):
        head, _, clients = text.partition("\nclients\t")
        self.lines, self.transactions, self.steps = [], [], []
        for line in head.split("\n"):
            kind, *fields = line.split("\t")
            if kind == "transaction":
                self.transactions.append(fields)
                self.steps.append([])
            elif kind == "step":
                self.steps[-1].append(fields)
            else:
                self.lines.append(line)
        self.retry = [line for line in self.lines if line.startswith("retry\t")]
        self.lines = [line for line in self.lines if not line.startswith("retry\t")]
        self.clients = ["clients\t" + clients.split("\n")[0]]
        self.clients += [line.split("\t") for line in clients.split("\n")[1:] if not line.startswith("end\t") and line]
        self.originals = len(self.transactions)
        self.back = {}  # number of a transaction of the lie -> number of the original, and its rows (None: unchanged)

    def text(self):
        transactions = []
        for fields, steps in zip(self.transactions, self.steps):
            transactions.append("\t".join(["transaction", *fields[:-1], str(len(steps))]))
            transactions += ["\t".join(["step", *step]) for step in steps]
        clients = [line if isinstance(line, str) else "\t".join(line) for line in self.clients]
        return "\n".join([*self.lines, *transactions, *self.retry, *clients, "end\t"])

    def operations(self):
        """Client and fields of each operation: `op`, time, transaction, arguments."""
        client = None
        for line in self.clients[1:]:
            if line[0] == "client":
                client = int(line[1])
            elif line[0] == "op":
                yield client, line

    def writes(self, transaction):
        return self.transactions[transaction][2] == "write"

    def kinds(self, writes):
        return [t for t in range(self.originals) if self.writes(t) == writes]

    def rows(self, transaction):
        """The fewest rows that the steps allow."""
        sql = [step for step in self.steps[transaction] if step[0] == "sql"]
        return sum(int(step[2].split("..")[0]) * int(step[3]) for step in sql)

    def statement(self, effect, sql):
        number = sum(line.startswith("statement\t") for line in self.lines)
        last = max(i for i, line in enumerate(self.lines) if line.startswith("statement\t"))
        self.lines.insert(last + 1, f"statement\t{number}\t{effect}\t-\t{sql}")
        return str(number)

    def instead(self, original, steps, begin=None, rows=True):
        """Adds a transaction that is carried out in place of the original and reported as the original."""
        number, name, kind, begins, uniques, slots, _ = self.transactions[original]
        fields = [str(len(self.transactions)), f"lie{len(self.transactions)}", kind, begin or begins, uniques, slots, "0"]
        self.transactions.append(fields)
        self.steps.append(steps)
        self.back[len(self.transactions) - 1] = (original, self.rows(original) if rows else None)
        return str(len(self.transactions) - 1)

    def nothing(self, original):
        return self.instead(original, [["sql", self.statement("rows", NOOP), ANY, "1", "-"]])


class Lie:
    def __init__(self, kind, size, program, change=None, unmoved=None):
        self.kind, self.size, self.plan, self.program, self.change = kind, size, program.text(), program, change
        self.unmoved, self.signs = unmoved, []  # the true time of a reported one, both since the start; signs of life so far

    def progress(self, since_start_ns, operations):
        """How many operations have ended by now according to the lie: no more than really had by the true time."""
        if not self.unmoved:
            return operations
        self.signs.append((since_start_ns, operations))
        return max((count for at, count in self.signs if at <= self.unmoved(since_start_ns)), default=0)

    def told(self, samples, start_ns):
        """Changes the samples of the lie into those of the tool's plan; returns how many it makes up."""
        made_up = sum(s.transaction in self.program.back for s in samples)
        for i, s in enumerate(samples):
            original, rows = self.program.back.get(s.transaction, (s.transaction, None))
            samples[i] = s._replace(transaction=original, rows=s.rows if rows is None or s.code_space else rows)
        if self.change:
            self.change(samples, start_ns)
        return made_up or (len(samples) if self.change or not self.program.back else 0)


def by_client(samples):
    of = defaultdict(list)
    for i, s in enumerate(samples):
        of[s.client].append(i)
    return of


def replace(operation, transaction):
    """Replaces the transaction of an operation by one without arguments."""
    operation[2:] = [transaction]


# Each kind: from a plan and a source of chance to a lie.


def drop(program, chance):
    """Acknowledges one in `one_in` writing transactions without carrying it out."""
    one_in = chance.choice([2, 5, 20, 100])
    nothing = {str(t): program.nothing(t) for t in program.kinds(True)}
    for _, op in program.operations():
        if op[2] in nothing and chance.random() < 1 / one_in:
            replace(op, nothing[op[2]])
    return Lie("drop", f"1 in {one_in}", program)


def skip(program, chance):
    """Never carries out one kind of reads."""
    kinds = program.kinds(False)
    if not kinds:
        return None
    read = chance.choice(kinds)
    nothing = program.nothing(read)
    for _, op in program.operations():
        if op[2] == str(read):
            replace(op, nothing)
    return Lie("skip", "all", program)


def cache(program, chance):
    """Carries out a part of the reads and reports the rest as if it had, with the rows that such a read has had before."""
    share = chance.choice([0.5, 0.9])
    nothing = {str(t): program.nothing(t) for t in program.kinds(False)}
    for _, op in program.operations():
        if op[2] in nothing and chance.random() < share:
            replace(op, nothing[op[2]])
    lie = Lie("cache", f"{share:.0%}", program)
    numbers = {int(number) for number in nothing.values()}
    told = lie.told

    def remembered(samples, start_ns):
        invented = {i for i, s in enumerate(samples) if s.transaction in numbers}
        made_up = told(samples, start_ns)
        known = {}
        for i, s in enumerate(samples):
            if i in invented:
                samples[i] = s._replace(rows=known.get(s.transaction, s.rows))
            elif not s.code_space:
                known[s.transaction] = s.rows
        return made_up

    lie.told = remembered
    return lie


def swap(program, chance):
    """Exchanges the arguments of operations with those of the next operation of the same transaction."""
    one_in, last = chance.choice([2, 10]), {}
    for client, op in program.operations():
        before = last.get((client, op[2]))
        if before and len(before) == len(op) and chance.random() < 1 / one_in:
            before[3:], op[3:] = op[3:], before[3:]
        last[client, op[2]] = op
    return Lie("swap", f"1 in {one_in}", program)


def shift(program, chance):
    """Moves a part of the time of each second operation to the next one."""
    share = chance.choice([0.1, 0.5])

    def change(samples, _):
        for of in by_client(samples).values():
            for i, j in zip(of[::2], of[1::2]):
                s, after = samples[i], samples[j]
                if s.operation == after.operation or after.attempt or s.attempt:
                    continue
                ns = int((s.finished_ns - s.started_ns) * share)
                if s.lock_wait_ns != 2**64 - 1:
                    ns = min(ns, s.finished_ns - s.started_ns - s.lock_wait_ns)
                samples[i] = s._replace(finished_ns=s.finished_ns - ns)
                started = max(after.due_ns - ns, after.started_ns - ns)
                samples[j] = after._replace(due_ns=after.due_ns - ns, started_ns=started)

    return Lie("shift", f"{share:.0%}", program, change)


def waits(sample, started_ns, finished_ns):
    """The waits of a sample whose attempt is reported to be shorter."""
    most = finished_ns - started_ns
    cut = lambda ns: ns if ns == 2**64 - 1 else min(ns, most)
    return {"lock_wait_ns": cut(sample.lock_wait_ns), "acquire_wait_ns": cut(sample.acquire_wait_ns)}


def early(program, _chance):
    """Reports the work of nine tenths of the run-in as work of the window."""
    line = next(line for line in program.lines if line.startswith("window\t"))
    run_in, length = map(int, line.split("\t")[1:3])
    kept, whole = run_in // 10, run_in + length
    if not kept or not length:
        return None

    def moved(ns):
        if not 0 < ns < whole:
            return ns
        return min(10 * ns, run_in) if ns <= kept else run_in + (ns - kept) * length // (whole - kept)

    def unmoved(ns):
        if ns >= whole:
            return ns
        return ns // 10 if ns <= run_in else kept + (ns - run_in) * (whole - kept) // length

    def change(samples, start_ns):
        at = lambda ns: start_ns + moved(ns - start_ns)
        for of in by_client(samples).values():
            for i in of:
                s = samples[i]
                due_ns, started_ns, finished_ns = at(s.due_ns) if i != of[0] else s.due_ns, at(s.started_ns), at(s.finished_ns)
                new = {"due_ns": due_ns, "started_ns": started_ns, "finished_ns": finished_ns}
                samples[i] = s._replace(**new, **waits(s, started_ns, finished_ns))

    return Lie("early", "9 of 10", program, change, unmoved)


def short(program, _chance):
    """Reports operations of an open loop to have ended after a quarter of their time."""
    line = next(line for line in program.lines if line.startswith("window\t"))
    # The tool reads its count at the end, so the last ones are true.
    until_ns = sum(map(int, line.split("\t")[1:3])) - 30_000_000

    def change(samples, start_ns):
        for of in by_client(samples).values():
            before_ns = 0
            for i in of:
                s = samples[i]
                if s.attempt or s.code_space or s.finished_ns > start_ns + until_ns:
                    started_ns, finished_ns = max(s.started_ns, before_ns), s.finished_ns
                else:
                    took_ns = s.finished_ns - s.started_ns
                    started_ns = max(s.due_ns, before_ns) if before_ns > s.due_ns else max(s.due_ns, s.started_ns)
                    finished_ns = min(s.finished_ns, started_ns + took_ns // 4)
                new = {"started_ns": started_ns, "finished_ns": finished_ns}
                samples[i] = s._replace(**new, **waits(s, started_ns, finished_ns))
                before_ns = finished_ns

    return Lie("short", "1 in 4", program, change)


def weakens(program, chance):
    """Sets a weaker setting on its connections once they have been read back."""
    pragma = chance.choice(["synchronous = OFF", "cache_size = -200000", "mmap_size = 268435456"])
    for client in {client for client, _ in program.operations()}:
        op = next(op for c, op in program.operations() if c == client)
        step = ["sql", program.statement("rows", f"PRAGMA {pragma}"), ANY, "1", "-"]
        replace(op, program.instead(int(op[2]), [step], begin="-"))
    return Lie("weakens", pragma, program)


def autocommit(program, _chance):
    """Commits each statement of a transaction by itself."""
    for fields in program.transactions:
        fields[3] = "-"
    return Lie("autocommit", "all", program)


def join(program, chance):
    """Carries out two transactions of a client that follow each other in one commit."""
    one_in, joined, before = chance.choice([1, 4, 20]), {}, None
    nothing = {str(t): program.nothing(t) for t in program.kinds(True)}
    for client, op in program.operations():
        same = before and before[0] == client and before[1][2] == op[2] and op[2] in nothing
        if not same or chance.random() >= 1 / one_in:
            before = (client, op)
            continue
        count, t = len(op) - 3, int(op[2])
        if t not in joined:
            later = [[re.sub(r"^p(\d+)", lambda m: f"p{int(m[1]) + count}", f) for f in step] for step in program.steps[t]]
            joined[t] = program.instead(t, [list(step) for step in program.steps[t]] + later)
        op[3:] = before[1][3:] + op[3:]
        replace(before[1], nothing[op[2]])
        op[2] = joined[t]
        before = None
    return Lie("join", f"1 in {one_in}", program)


def stretch(program, chance, factors=(1.5, 2.0, 4.0)):
    """Works `factor` times as long as it reports, and divides its times by that."""
    factor = chance.choice(factors)
    window = next(i for i, line in enumerate(program.lines) if line.startswith("window\t"))
    _, run_in, length, drain = program.lines[window].split("\t")
    program.lines[window] = f"window\t{int(int(run_in) * factor)}\t{int(int(length) * factor)}\t{drain}"
    offsets, starts = defaultdict(list), {}
    for line in program.clients[1:]:
        if line[0] == "client":
            starts[int(line[1])], client = int(line[6]), int(line[1])
            line[6] = str(int(int(line[6]) * factor))
        elif line[0] == "op":
            offsets[client].append(int(line[1]))
            line[1] = str(int(int(line[1]) * factor))

    def change(samples, start_ns):
        scaled = lambda ns: start_ns + int((ns - start_ns) / factor)
        for client, of in by_client(samples).items():
            end_ns, due_ns = start_ns + starts[client], 0
            for i in of:
                s, planned = samples[i], offsets[client]
                if not s.attempt:
                    due_ns = end_ns + planned[s.operation % len(planned)]
                started_ns = max(due_ns, scaled(s.started_ns), end_ns if s.attempt else 0)
                end_ns = max(started_ns, scaled(s.finished_ns))
                wait = s.lock_wait_ns if s.lock_wait_ns == 2**64 - 1 else min(int(s.lock_wait_ns / factor), end_ns - started_ns)
                samples[i] = s._replace(due_ns=due_ns, started_ns=started_ns, finished_ns=end_ns, lock_wait_ns=wait)

    return Lie("stretch", f"{factor} x", program, change)


def repeat(program, chance):
    """Lets one client work and reports its times for another one, too."""
    clients = sorted({client for client, _ in program.operations()})
    if len(clients) < 2:
        return None
    real, idle = chance.sample(clients, 2)
    nothing = {str(t): program.nothing(t) for t in range(program.originals)}
    for client, op in program.operations():
        if client == idle:
            replace(op, nothing[op[2]])
    return Lie("repeat", f"client {real} for {idle}", program)


KINDS = {
    kind.__name__: kind
    for kind in (autocommit, cache, drop, early, join, repeat, shift, short, skip, stretch, swap, weakens)
}


def of(kind, seed, text):
    """The lie of this kind; `lie` is any kind of those that closed loops allow."""
    chance = random.Random(seed)
    if kind == "lie":
        kind = chance.choice(sorted(KINDS.keys() - {"short"}))
    return KINDS[kind](Program(text), chance)
