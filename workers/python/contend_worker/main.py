"""The handshake: reads lines of the tool and answers them in order, also during a run."""

import os
import platform
import select
import sys
import time
import traceback

from .run import MODEL, Run, told
from .script import carry_out
from .wire import FormatError, escape, fields, number

_PROGRESS_NS = 200_000_000
_INTERRUPT_AGAIN_NS = 10_000_000
_LINE_BYTES = 1 << 20


class Input:
    """Standard input without a buffer, which select would not see."""

    def __init__(self):
        self.bytes = bytearray()

    def fill(self):
        """Reads more. When the input ends, the tool is gone, and the worker exits."""
        got = os.read(0, 1 << 20)
        if not got:
            os._exit(0)
        self.bytes += got

    def line(self):
        while (end := self.bytes.find(b"\n")) < 0:
            if len(self.bytes) > _LINE_BYTES:
                raise FormatError("a line of more than 1 MiB")
            self.fill()
        line = self.bytes[:end].decode("utf-8", "replace")
        del self.bytes[:end + 1]
        return line

    def frame(self, length):
        while len(self.bytes) < length:
            self.fill()
        frame = bytes(self.bytes[:length])
        del self.bytes[:length]
        try:
            return frame.decode()
        except UnicodeDecodeError:
            raise FormatError("the text is not UTF-8") from None

    def has_line(self, timeout_ns):
        """Whether a line can be read; waits this long for it."""
        if b"\n" in self.bytes:
            return True
        if select.select([0], [], [], max(timeout_ns, 0) / 1e9)[0]:
            self.fill()
        return b"\n" in self.bytes


def say(line):
    write(line.encode() + b"\n")


def write(data):
    view = memoryview(data)
    while view:
        view = view[os.write(1, view):]


def fail(error):
    """Reports an error of the worker itself, and exits."""
    say(f"failed\t{escape(told(error))}")
    traceback.print_exception(error)
    os._exit(1)


class Worker:
    """A conversation with the tool."""

    def __init__(self, drivers):
        self.drivers, self.input, self.run = drivers, Input(), None

    def converse(self):
        facts = {"protocol": 1, "language": f"{platform.python_implementation()} {platform.python_version()}"}
        facts.update(self.drivers[0].hello())
        facts.update(lock_wait="off", drivers=",".join(d.name for d in self.drivers), models=MODEL)
        say("hello" + fields(**facts))
        while self.answer(self.input.line()):
            pass

    def answer(self, line):
        word, _, rest = line.partition("\t")
        word, _, length = word.partition(" ")
        try:
            if word == "quit":
                return False
            if word == "clock":
                say(f"clock\t{time.monotonic_ns()}")
            elif word == "script":
                text = self.input.frame(self.length(length))
                reply = carry_out(self.drivers, text).encode()
                write(b"reply %d\n%s" % (len(reply), reply))
            elif word == "plan":
                self.plan(self.input.frame(self.length(length)))
            elif word == "start":
                self.start(rest)
            elif word != "stop":
                raise FormatError(f"`{line[:60]}` is not what a tool says")
        except FormatError as e:
            say(f"failed\t{escape(str(e))}")
        except Exception as e:
            # Out of memory, or a bug of the worker: nothing can be relied on any more.
            fail(e)
        return True

    @staticmethod
    def length(text):
        length = number(text, 1 << 40)
        if length is None:
            raise FormatError(f"`{text}` is not a length")
        return length

    def plan(self, text):
        if self.run is not None:
            self.run.abandon()
            self.run = None
        self.run = Run(self.drivers, text)
        for session in self.run.sessions:
            say("session" + fields(**session))
        say("ready")

    def start(self, rest):
        start_ns = number(rest, (1 << 63) - 1)
        if start_ns is None or self.run is None:
            raise FormatError("`start` without a plan that is ready, or without a time")
        run, self.run = self.run, None
        try:
            self.supervise(run, start_ns)
        except FormatError as e:
            # A client that does not return holds its connection, so the worker exits.
            say(f"failed\t{escape(str(e))}")
            os._exit(1)
        except Exception as e:
            fail(e)

    def supervise(self, run, start_ns):
        """Supervises until every client has ended: progress lines, answers to the tool, end of the drain."""
        run.start(start_ns)
        next_progress = time.monotonic_ns() + _PROGRESS_NS
        while not run.is_over():
            run.check()
            now = time.monotonic_ns()
            if now >= next_progress:
                self.say_progress(run, now - start_ns)
                next_progress = now + _PROGRESS_NS
            drain_end = run.control.drain_end()
            if now >= drain_end:
                run.after_drain()
                wake = now + _INTERRUPT_AGAIN_NS
            else:
                wake = min(next_progress, drain_end)
            # select cannot also wait for clients, so a client's end is noticed within a few milliseconds.
            if self.input.has_line(min(wake - now, _INTERRUPT_AGAIN_NS)):
                self.during(run)
        self.say_progress(run, time.monotonic_ns() - start_ns)  # all is done: what is left may take its time
        run.finish()
        say("done" + fields(**run.done()))
        for client in run.clients:
            for frame in client.samples():
                if frame:
                    write(b"samples %d\n" % len(frame))
                    write(frame)
        say("end")

    def say_progress(self, run, elapsed_ns):
        operations, failed = run.counts()
        say("progress" + fields(elapsed_ns=max(elapsed_ns, 0), operations=operations, failed=failed))

    def during(self, run):
        line = self.input.line()
        if line == "clock":
            say(f"clock\t{time.monotonic_ns()}")
        elif line == "stop":
            run.control.stop(time.monotonic_ns())
        elif line == "quit":
            os._exit(0)
        else:
            raise FormatError(f"`{line[:60]}` during a run")


def by_hand(drivers, plan, samples):
    """Carries out the plan in a file without a tool."""
    try:
        with open(plan, encoding="utf-8", newline="\n") as file:
            run = Run(drivers, file.read())
        for session in run.sessions:
            print("session" + fields(**session).replace("\t", " "))
        run.start(time.monotonic_ns() + _INTERRUPT_AGAIN_NS)
        while not run.is_over():
            time.sleep(_INTERRUPT_AGAIN_NS / 1e9)
            if time.monotonic_ns() >= run.control.drain_end():
                run.after_drain()
        run.finish()
        with open(samples, "wb") as file:
            for client in run.clients:
                file.writelines(client.samples())
    except (FormatError, OSError) as e:
        sys.exit(f"contend worker: {e}")
    done = run.done()
    print(
        f"{done['operations']} operations, {done['attempts']} attempts, {done['failed']} failed, "
        f"{done['exhausted']} clients exhausted"
    )


def main(drivers):
    if sys.byteorder != "little":
        sys.exit("contend worker: samples are little-endian, this machine is not")
    if len(sys.argv) == 6 and sys.argv[2] == "--plan" and sys.argv[4] == "--samples":
        by_hand(drivers, sys.argv[3], sys.argv[5])
        sys.exit(0)
    if len(sys.argv) > 2:
        sys.exit("contend worker: usage: WORKER, or WORKER --plan FILE --samples FILE; it has no serve mode")
    Worker(drivers).converse()
    # Clients that still wait for a start hold nothing.
    sys.stdout.flush()
    os._exit(0)
