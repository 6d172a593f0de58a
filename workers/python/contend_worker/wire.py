"""Values, texts and lines exchanged between tool and worker."""

import math
import re
import zlib

UNIQUE_STRIDE = 1 << 40
ANY_ROWS = 0xFFFFFFFF
MAX_INTEGER, MIN_INTEGER = (1 << 63) - 1, -(1 << 63)
MAX_U64 = (1 << 64) - 1

# Code spaces of samples, by name; the tool interprets the codes.
SPACES = ["ok", "sqlite", "sqlstate", "mysql", "http", "os", "worker"]
SQLITE, SQLSTATE, MYSQL, OS, WORKER = 1, 2, 3, 5, 6
# ECANCELED of code space `os`: for requests that a server never received.
CANCELED = (OS, 125)
WRONG_ROWS, NOT_KEPT, NO_VALUE, DRIVER_ERROR = 1, 2, 3, 4

STEP_NONE, STEP_BEGIN, STEP_COMMIT = 65535, 65534, 65533
FLAG_INTERRUPTED = 2

_ESCAPES = {"\\": "\\", "t": "\t", "n": "\n", "r": "\r", "0": "\0"}
_ESCAPE = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\0": "\\0"})
_DIGITS = re.compile(r"[0-9]+\Z")


class FormatError(Exception):
    """A plan or script that is malformed, or requests something that this worker cannot do."""


class TextRef(int):
    """The number of a text in the plan's table."""


def crop(text):
    return text if len(text) <= 60 else text[:60] + "..."


def escape(text):
    return text.translate(_ESCAPE)


def unescape(field):
    if "\\" not in field:
        return field
    parts = field.split("\\")
    out, i = [parts[0]], 1
    while i < len(parts):
        if parts[i]:
            letter, rest = parts[i][0], parts[i][1:]
        elif i + 1 < len(parts):
            # An escaped backslash splits into an empty part and the following one.
            letter, rest = "\\", parts[i + 1]
            i += 1
        else:
            raise FormatError("a backslash at the end")
        if letter not in _ESCAPES:
            raise FormatError(f"unknown escape `\\{letter}`")
        out.append(_ESCAPES[letter] + rest)
        i += 1
    return "".join(out)


def number(field, most):
    """An unsigned number up to `most`, or None."""
    if not _DIGITS.match(field) or len(field) > 20:
        return None
    n = int(field)
    return n if n <= most else None


def parse_value(field):
    kind, rest = field[:1], field[1:]
    if kind == "i":
        return int(rest)
    if kind == "t":
        return unescape(rest)
    if kind == "n":
        return None
    if kind == "r":
        return float(rest)
    if kind == "T":
        return TextRef(rest)
    if kind == "x":
        return bytes.fromhex(rest)
    raise FormatError(f"`{crop(field)}` is not a value (it must start with one of n i r t T x)")


def value_text(value):
    """A value in the form of a reply; a ValueError if it has none."""
    if value is None:
        return "n"
    if isinstance(value, bool):
        return "i1" if value else "i0"
    if isinstance(value, int):
        if MIN_INTEGER <= value <= MAX_INTEGER:
            return f"i{value}"
        raise ValueError(f"{value} does not fit into 64 bits")
    if isinstance(value, float):
        if math.isfinite(value):
            return f"r{value!r}"
        raise ValueError(f"{value} in the result")
    if isinstance(value, str):
        return "t" + escape(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "x" + bytes(value).hex()
    raise ValueError(f"the driver gave a {type(value).__name__}, which is no value")


def check_version(word, known, line):
    """Checks a first line such as `contend-plan 3`."""
    if not line.startswith(word + " "):
        raise FormatError(f"expected `{word} {known}` as the first line, found `{crop(line)}`")
    rest = line[len(word) + 1:]
    version = number(rest, 0xFFFFFFFF)
    if version == known:
        return
    if version is not None and version > known:
        raise FormatError(
            f"`{word} {version}` is newer than the {known} this program reads: use tool and worker of the same contend release"
        )
    raise FormatError(f"`{word} {crop(rest)}` is not a version this program reads (it reads {known})")


def digest(text):
    return f"{zlib.crc32(text.encode()):08x}"


def opened(kind, text):
    """The text before its last line, which has the digest that the tool gave it after it had checked it."""
    body, _, said = text.rpartition("end\t")
    if not body.endswith("\n") or not said.endswith("\n") or "\n" in said[:-1]:
        raise FormatError(f"{kind}: cut off: its last line is not `end` with a digest")
    if digest(body) != said[:-1]:
        raise FormatError(
            f"{kind}: changed after contend had checked it: its last line has the digest `{crop(said[:-1])}`, "
            f"the text before it {digest(body)}"
        )
    return body


def fields(**facts):
    """Facts as the rest of a line."""
    return "".join(f"\t{escape(name)}={escape(str(value))}" for name, value in facts.items())


def base36(state):
    """The number of a SQLSTATE."""
    return int(state, 36)
