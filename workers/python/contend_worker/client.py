"""One client: which operation is next and when, what happens after a failed attempt, the sample of every attempt."""

import threading
import time
from itertools import chain, islice, repeat

from . import samples, wire
from .driver import Failure

_clock = time.monotonic_ns
_NO_STEP = wire.STEP_NONE << 32
# Pause that keeps the failures of a client whose server is gone from filling the memory.
_REOPEN_PAUSE_S = 0.01


class Client:
    """Runs in its own thread. The samples are made from `pieces` once the run is over."""

    def __init__(self, run, spec):
        self.run_, self.plan, self.spec, self.control = run, run.plan, spec, run.control
        self.library = run.library
        self.pieces = [[]]
        self.retries, self.failed, self.is_exhausted, self.is_over = 0, 0, False, False
        # The next operation, its first unique number, and the end of the previous one.
        self.operation, self.unique, self.end = 0, spec.id * wire.UNIQUE_STRIDE, 0
        self.jitter_turn = 0
        self.connection = None
        # The connection to interrupt; the lock prevents it from being closed or rolled back meanwhile.
        self.lock, self.current = threading.Lock(), None
        self.broken = None
        # Settings read back at the start, whether they were read after the run, and the difference then.
        self.facts, self.is_read_back, self.differs = {}, False, None
        # By transaction, and modified in place: functions of the connection, factories on a new one, or functions
        # that open one.
        self.at_first_use = self._all(self._first)
        self.at_loss = self._all(self._opens)
        self.functions = list(self.at_loss)
        self.thread = threading.Thread(target=self._thread, name=f"client {spec.id}", daemon=True)

    # Connection

    def _all(self, make):
        transactions = enumerate(self.plan.transactions)
        return [self._connects(i) if t.connects else make(i) for i, t in transactions]

    def open(self):
        self.connection = self.run_.connect(self.spec.database)
        self.functions[:] = self.at_first_use
        self.use(self.connection)

    def bind(self):
        """Creates all functions, so that none has to be created in the window."""
        for index, t in enumerate(self.plan.transactions):
            if not t.connects:
                self.functions[index] = self._function(index)

    def _function(self, index):
        try:
            return self.run_.functions.of(index, self.connection)
        except Exception as e:
            raise self.library.failed(e, self._first_step(index), 0) from None

    def _first_step(self, index):
        return wire.STEP_BEGIN if self.plan.transactions[index].begin else 0

    def _first(self, index):
        """A transaction that is the first of its kind on a connection."""

        def first(args, unique, operation):
            function = self.functions[index] = self._function(index)
            return function(args, unique, operation)

        return first

    def _connects(self, index):
        """A transaction that begins with a new connection."""

        def connects(args, unique, operation):
            self._reopen(0)
            return self._function(index)(args, unique, operation)

        return connects

    def _opens(self, index):
        """A transaction that finds its connection lost."""

        def opens(args, unique, operation):
            self._reopen(self._first_step(index))
            return self.functions[index](args, unique, operation)

        return opens

    def _reopen(self, step):
        self.close()
        try:
            self.open()
        except Exception as e:
            if self.run_.driver.is_server:
                time.sleep(_REOPEN_PAUSE_S)
            failure = self.library.failed(e, step, 0)
            self._lose()
            raise failure from None

    def _lose(self):
        """Makes the next operation open a new connection."""
        self.close()
        self.functions[:] = self.at_loss

    def use(self, connection):
        with self.lock:
            self.current = connection

    def close(self):
        self.use(None)
        if self.connection is not None:
            connection, self.connection = self.connection, None
            try:
                connection.close()
            except Exception as e:
                self.control.tell(f"closing a connection: {e}")

    def interrupt(self):
        with self.lock:
            if self.current is not None:
                self.current.interrupt()

    # The loop

    def _thread(self):
        self.control.begun.wait()
        try:
            if not self.control.abandoned:
                self.loop()
                self._look_again()
        except BaseException as e:
            self.broken = e
            raise
        finally:
            self.is_over = True
            self.close()

    def _look_again(self):
        """Reads back the last connection's settings after the run, outside of the measurement."""
        if self.connection is None or self.control.over:
            return
        try:
            found = self.run_.when_free(lambda: self.run_.look(self.connection))
        except Exception as e:
            # At the end of the drain it is interrupted.
            if not self.control.over:
                self.differs = f"client {self.spec.id}: the connection cannot be read back after the run: {e}"
            return
        self.is_read_back = True
        for name, value in self.facts.items():
            if found[name] != value:
                self.differs = f"client {self.spec.id}: {name} is {found[name]} after the start, {value} before"
                return

    @property
    def attempts(self):
        return sum(map(len, self.pieces)) // samples.KEPT

    def samples(self):
        """All samples, frame by frame."""
        return samples.frames(self.spec.id, self.pieces)

    def _operations(self):
        """(time, transaction, arguments) in order, from columns, which are more compact in memory than rows."""
        suit = self.connection.argument
        suited = self.connection.suits_arguments
        drawn = [(time_ns, t, tuple(map(suit, args)) if suited else args) for time_ns, t, args in self.spec.operations]
        columns = [list(column) for column in zip(*drawn)]
        if self.spec.is_cyclic:
            columns = [chain.from_iterable(repeat(column)) for column in columns]
        # A column with equal values need not be read from memory; the arguments determine the number of operations.
        for i in range(len(columns[:2])):
            first = drawn[0][i]
            if all(operation[i] == first for operation in drawn):
                columns[i] = repeat(first)
        return zip(*columns)

    def prepare(self):
        """Prepares everything that the window need not do."""
        self.operations = self._operations()

    def loop(self):
        spec, control = self.spec, self.control
        self.end = control.start_ns + spec.start_ns
        while size := min(samples.PIECE, spec.limit - self.operation) if spec.limit else samples.PIECE:
            last = self.operation + size
            if not self._carry_out(islice(self.operations, size)):
                return
            if self.operation < last:
                self.is_exhausted = not spec.is_open and self.end < control.window_end
                return
            self.pieces.append([])

    def _carry_out(self, operations):
        """Carries out these operations; false if the window is over before the last of them. Besides the library's
        part this is the whole cost of an operation, so every call and look-up counts."""
        control, functions, clock = self.control, self.functions, _clock
        words = [t | _NO_STEP for t in range(len(self.plan.transactions))]
        uniques = [t.uniques for t in self.plan.transactions]
        has_uniques, is_open = any(uniques), self.spec.is_open
        operation, unique, end, piece = self.operation, self.unique, self.end, self.pieces[-1]
        may_wait, is_inside = is_open or operation == 0, False
        for time_ns, t, args in operations:
            if time_ns or may_wait:
                due, started = self._begin(time_ns, end, operation == 0)
                may_wait = is_open
                if started is None:
                    break
            else:
                # The previous operation ended a moment ago; reading the clock again would only cost time.
                due = started = end
                if end >= control.window_end:
                    break
            try:
                rows = functions[t](args, unique, operation)
            except Failure as failure:
                end = self._failed(failure, (operation, t, args, unique), due, started)
            else:
                end = clock()
                piece += words[t], rows, due, started, end
            operation += 1
            if has_uniques:
                unique += uniques[t]
        else:
            is_inside = True
        self.operation, self.unique, self.end = operation, unique, end
        return is_inside

    def _begin(self, time_ns, end, is_first):
        """Due time and start of an operation, after waiting for it; None if it is not in the window any more."""
        control, is_open = self.control, self.spec.is_open
        due, started = time_ns + (control.start_ns if is_open else end), end
        if due >= control.window_end:
            return due, None
        if due > end or is_first:
            started = control.until(due, control.window_over)
        is_late = due >= control.window_end or is_open and started >= control.window_end
        return due, None if started < due or is_late else started

    def _failed(self, failure, operation, due, started):
        """Records a failed attempt and makes the next ones; returns the end of the last."""
        number, t, args, unique = operation
        control, attempt = self.control, 0
        while True:
            self._roll_back(failure)
            end = _clock()
            self._sample(t, attempt, failure, (due, started, end))
            wait_until = self._retry_at(attempt, failure, end)
            if wait_until is None:
                break
            started = control.until(wait_until, control.drain_over)
            # The thread may wake too late for another attempt.
            if started < wait_until or control.over or started >= control.drain_end():
                break
            attempt += 1
            self.retries += 1
            try:
                rows = self.functions[t](args, unique, number)
            except Failure as again:
                failure = again
                continue
            end = _clock()
            self.pieces[-1] += t | attempt << 16 | _NO_STEP, rows, due, started, end
            return end
        self.failed += 1
        return end

    def _sample(self, t, attempt, failure, times):
        is_cut = bool(self.control.over) and (failure.space, failure.code) in self.run_.driver.cut_codes
        flags = wire.FLAG_INTERRUPTED if is_cut else 0
        word = t | attempt << 16 | failure.step << 32 | failure.space << 48 | flags << 56
        self.pieces[-1] += word, failure.rows | failure.code << 32, *times

    def _roll_back(self, failure):
        """Whatever the failure was, SQLite may have rolled back by itself. Should the rollback fail where a transaction
        is open, the next begin fails and shows it. An interrupt must not reach it: a lock that stays keeps everybody
        waiting."""
        connection = self.connection
        if connection is None:
            return
        self.use(None)
        try:
            if not connection.is_lost(failure) and connection.is_in_transaction():
                connection.simple("ROLLBACK")
        except Exception as e:
            self.control.tell(f"rolling back: {e}")
        if connection.is_lost(failure):
            self._lose()
        else:
            self.use(connection)

    def _retry_at(self, attempt, failure, end):
        plan, control = self.plan, self.control
        if attempt + 1 >= plan.tries or (failure.space, failure.code) not in plan.retry_codes:
            return None
        wait_ns = plan.backoff_ns[min(attempt, len(plan.backoff_ns) - 1)] if plan.backoff_ns else 0
        permille = plan.jitter[self.jitter_turn % len(plan.jitter)] if plan.jitter else 1000
        self.jitter_turn += 1
        until = end + wait_ns * permille // 1000
        return None if control.over or until >= control.drain_end() else until
