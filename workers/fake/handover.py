"""Changes that faults make: to a plan before the real worker gets it, or to totals and samples before the tool gets them."""

import re
import struct
import zlib
from collections import namedtuple

import lies

SAMPLE = struct.Struct("<IIHHHBBIIQQQQQ")
STEP_NONE, STEP_BEGIN, SPACE_OK, SPACE_SQLITE, SQLITE_BUSY = 65535, 65534, 0, 1, 5
INTEGER_MAX, NOT_MEASURED = 2**63 - 1, 2**64 - 1
ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "0": "\0"}
TIMES = "due_ns started_ns finished_ns lock_wait_ns acquire_wait_ns"
Sample = namedtuple("Sample", "client operation transaction attempt failed_step code_space flags code rows " + TIMES)
Client = namedtuple("Client", "id closed cyclic limit start_ns operations")


class Plan:
    """The parts of a plan that faults use."""

    def __init__(self, text):
        self.text, self.databases, self.sockets, self.transactions = text, [], [], 0
        for line in text[: text.index("\nclients\t")].split("\n"):
            kind, *fields = line.split("\t")
            if kind == "worker":
                self.worker = int(fields[0])
            elif kind == "window":
                self.run_in_ns, self.length_ns = int(fields[0]), int(fields[1])
            elif kind == "database" and fields[0] == "socket":
                self.sockets.append(fields[1:4])
            elif kind == "database":
                self.databases.append(re.sub(r"\\(.)", lambda m: ESCAPES.get(m[1], m[1]), fields[-1]))
            elif kind == "transaction":
                self.transactions += 1

    def clients(self):
        clients = []
        for line in self.text.split("\n"):
            kind, *f = line.split("\t")
            if kind == "client":
                clients.append(Client(int(f[0]), f[2] == "closed", f[3] == "cyclic", int(f[4]), int(f[5]), []))
            elif kind == "op":
                clients[-1].operations.append((int(f[0]), int(f[1])))
        return clients


def weakened(text, setting, value):
    """The plan with another value of a setting, whose read-back returns the requested one. SQLite reads a level back as its number."""
    numbers = {"off": "0", "normal": "1", "full": "2", "extra": "3"} if setting == "synchronous" else {}
    assignment = re.compile(rf"^session\t(\S+)\t((?:PRAGMA|SET) {setting} *= *)'?(\w+)'?$", re.MULTILINE | re.IGNORECASE)
    found = assignment.search(text)
    if not found:
        return text  # connections do not set it
    asked = found[3].lower()
    text = assignment.sub(rf"session\t-\t\g<2>{value}", text)
    lie = f"readback\t{setting}\tSELECT '{numbers.get(asked, asked)}'"
    return re.sub(rf"^readback\t{setting}\t.*$", lie, text, flags=re.MULTILINE)


def without_syncs(text):
    """The plan whose commits do not wait for the disk, with the requested settings read back."""
    on_a_server = "SET synchronous_commit" in text
    return weakened(text, "synchronous_commit", "off") if on_a_server else weakened(text, "synchronous", "OFF")


def unlogged(text):
    """The plan whose sessions leave their commits out of the binary log, with the requested setting read back."""
    text = re.sub(r"^session\t", "session\trows\tSET sql_log_bin = 0\nsession\t", text, count=1, flags=re.MULTILINE)
    return re.sub(r"^readback\tsql_log_bin\t.*$", "readback\tsql_log_bin\tSELECT '1'", text, flags=re.MULTILINE)


def places(sql):
    """The positions of a statement's parameters, as a plan writes them."""
    unescaped = re.sub(r"\\(.)", lambda m: ESCAPES.get(m[1], m[1]), sql)
    blank = re.sub(r"'[^']*'", lambda m: "x" * len(m[0].encode()), unescaped)
    return ",".join(str(len(blank[: m.start()].encode())) for m in re.finditer(r"\?", blank)) or "-"


def rewritten(text, rules):
    """The plan with every `PATTERN=>REPLACEMENT` applied to every statement."""

    def one(line):
        if not line.startswith("statement\t"):
            return line
        *head, _, sql = line.split("\t")
        for rule in rules:
            sql = re.sub(*rule.split("=>"), sql)
        return "\t".join([*head, places(sql), sql])

    return "\n".join(map(one, text.split("\n")))


def sealed(text):
    """The plan with its new digest: the worker would refuse a changed plan with the old one."""
    body = text[: text.rindex("end\t")]
    return f"{body}end\t{zlib.crc32(body.encode()):08x}\n"


def rounded(text):
    """The plan with its integers rounded as in a language whose only numbers are reals."""

    def once(found):
        return "\ti%d" % min(int(float(found[1])), INTEGER_MAX)

    def values(line):
        return re.sub(r"\ti(-?\d+)(?=\t|$)", once, line) if line.startswith(("op\t", "step\tsql\t")) else line

    return "\n".join(map(values, text.split("\n")))


def facts(line):
    return dict(field.split("=", 1) for field in line.decode().rstrip("\n").split("\t")[1:])


def facts_line(word, pairs):
    return "\t".join([word, *(f"{key}={value}" for key, value in pairs.items())]).encode() + b"\n"


# Faults of the handover: each takes samples and totals and changes them in place.


def change(where, how):
    def spoil(samples, _totals, fake):
        for i in where(samples):
            samples[i] = samples[i]._replace(**how(samples[i], fake.plan))

    return spoil


def middle(samples):
    return [len(samples) // 2] if samples else []


def middle_read(samples):
    good = [i for i, s in enumerate(samples) if s.code_space == SPACE_OK]
    return good[len(good) // 2 : len(good) // 2 + 1]


def first_attempts(samples):
    return [i for i, s in enumerate(samples) if s.attempt == 0]


def late(s, _plan):
    """Its clock starts in the middle. A wait that is longer than what is left would show that by itself."""
    started_ns = (s.started_ns + s.finished_ns) // 2
    left_ns = s.finished_ns - started_ns
    wait_ns = s.lock_wait_ns if s.lock_wait_ns == NOT_MEASURED else min(s.lock_wait_ns, left_ns)
    return {"started_ns": started_ns, "lock_wait_ns": wait_ns}


def jump(by_ns):
    """Of each client, everything from the end of an operation in the middle on."""

    def spoil(samples, _totals, _fake):
        middle_ns = sorted(s.finished_ns for s in samples)[len(samples) // 2] if samples else 0
        moved = lambda ns: max(0, ns + by_ns * (ns >= middle_ns))
        for i, s in enumerate(samples):
            times = {name: moved(getattr(s, name)) for name in ("due_ns", "started_ns", "finished_ns")}
            samples[i] = s._replace(**times)

    return spoil


def pause(_samples, totals, _fake):
    totals |= dict.fromkeys(["gc_pause_ns", "gc_pause_ns_max"], 10**10) | {"gc_pauses": 1}


def shortest(samples):
    """The sample whose absence or repetition changes a client's times the least."""
    return min(range(len(samples)), key=lambda i: samples[i].finished_ns - samples[i].started_ns)


def twice(samples, _totals, _fake):
    i = shortest(samples)
    samples.insert(i, samples[i])


def nothing(samples, totals, _fake):
    failure = {"failed_step": STEP_BEGIN, "code_space": SPACE_SQLITE, "code": SQLITE_BUSY, "rows": 0}
    samples[:] = [s._replace(**failure) for s in samples]
    totals["failed"] = totals["operations"]


def swallows(samples, totals, _fake):
    success = {"failed_step": STEP_NONE, "code_space": SPACE_OK, "code": 0}
    samples[:] = [s._replace(**success) for s in samples]
    totals["failed"] = 0


def invent(usual_ns):
    def spoil(samples, totals, fake):
        service_ns = fake.args.service_ns or usual_ns
        samples[:] = (s for c in fake.plan.clients() for s in invented(c, fake.plan, fake.start_ns, service_ns))
        totals.update(operations=len(samples), attempts=len(samples), failed=0)

    return spoil


def invented(client, plan, start_ns, service_ns):
    """Samples of a closed loop that follows the plan exactly; operations take `service_ns`, and the first one fills the run-in."""
    if not client.closed:
        raise ValueError("only closed loops can be made faster")
    window_ns = start_ns + plan.run_in_ns
    end_ns = window_ns + plan.length_ns if plan.length_ns else 2**64
    planned = len(client.operations)
    bounds = [bound for bound in (client.limit, 0 if client.cyclic else planned) if bound]
    finished_ns = start_ns + client.start_ns
    for number in range(min(bounds, default=2**32)):
        offset_ns, transaction = client.operations[number % planned]
        due_ns = finished_ns + offset_ns
        if due_ns >= end_ns:
            return
        finished_ns = max(due_ns + service_ns, window_ns)
        yield client.id, number, transaction, 0, STEP_NONE, SPACE_OK, 0, 0, 1, due_ns, due_ns, finished_ns, 0, 0


HANDOVER = {
    "cut-samples": lambda samples, totals, fake: None,  # done where frames are made
    "broken-samples": change(middle, lambda s, plan: {"code_space": 99}),
    "backwards": change(middle, lambda s, plan: {"finished_ns": s.started_ns - 1}),
    "lost-samples": lambda samples, totals, fake: samples.pop(shortest(samples)),
    "extra-samples": twice,
    "wrong-transaction": change(middle, lambda s, p: {"transaction": (s.transaction + 1) % max(p.transactions, 2)}),
    "unknown-transaction": change(middle, lambda s, plan: {"transaction": 65535}),
    "unknown-client": change(middle, lambda s, plan: {"client": 2**32 - 1}),
    "clock-in-task": change(first_attempts, lambda s, plan: {"due_ns": s.started_ns}),
    "exhausted": lambda samples, totals, fake: totals.update(exhausted=1),
    # Later attempts keep their start: the time between attempts counts as back-off.
    "impossible-wait": change(middle, lambda s, p: {"lock_wait_ns": 10 * (s.finished_ns - s.started_ns)}),
    "impossible-rows": change(middle_read, lambda s, p: {"rows": s.rows + 1_000_000}),
    "jump": jump(2 * 10**9),
    "jump-back": jump(-2 * 10**9),
    "pause": pause,
    "unread": lambda samples, totals, fake: totals.pop("connections_read_back"),
    "late": change(first_attempts, late),
    "instant": invent(200),
    "too-fast": invent(5_000),
    "nothing": nothing,
    "swallows": swallows,
}
HANDOVER |= dict.fromkeys(["lie", *lies.KINDS], lambda samples, totals, fake: fake.tell_lie(samples))
