"""Makes a site's tables and fills them: the counts of the original, or others.

Everything follows from the parameters and the seed, so that sites on several engines hold equal data.
"""

import datetime
import random
import sys
from dataclasses import dataclass

from werkzeug.security import generate_password_hash

from . import schema
from .config import ConfigError, load
from .database import Database, DatabaseError

_WORDS = (
    "the of and to in is for on with as at by from plan team week release design review draft budget launch sprint note "
    "idea question answer change test build page form list board space member topic update meeting agenda customer "
    "feature issue report chart deadline roadmap office travel welcome").split()
_ROWS_AT_ONCE = 100


@dataclass(frozen=True)
class Size:
    users: int = 20
    teams: int = 10
    spaces: int = 100
    members: int = 5
    discussions: int = 5000
    comments: int = 25000


def arguments(parser):
    parser.add_argument("config", help="the configuration that has the site")
    parser.add_argument("site", help="the site's host name; an SQLite file is made if it is not there")
    for name, default in vars(Size()).items():
        parser.add_argument(f"--{name}", type=int, default=default, help=f"default {default}; members: of each space")
    parser.add_argument("--seed", type=int, default=1, help="everything random follows from it")
    parser.add_argument("--password", default="admin", help="of Administrator; default admin")


def run(args):
    size = Size(**{name: getattr(args, name) for name in vars(Size())})
    try:
        config = load(args.config)
        if args.site not in config.sites:
            raise ConfigError(f"{args.config} has no site {args.site} (it has {', '.join(config.sites)})")
        site = config.sites[args.site]
        counts = fill(site, size, args.seed, args.password)
    except (ConfigError, DatabaseError, ValueError, OSError) as error:
        print(f"gameplan: {error}", file=sys.stderr)
        return 2
    print("\n".join(f"{table} {count}" for table, count in counts.items()))
    return 0


def fill(site, size, seed=1, password="admin"):
    """Makes all tables of a site in its empty database; the rows of each."""
    if size.users < size.members or min(vars(size).values()) < 1:
        raise ValueError("every number is at least 1, and a space has no more members than there are users")
    if site.engine == "sqlite":
        # The app itself opens only what is there.
        open(site.database, "xb").close()
    db = Database(site)
    try:
        for sql in schema.statements(db.engine.__name__.rpartition(".")[2]):
            db.execute(sql)
        with db.transaction():
            counts = {table: _insert(db, table, rows) for table, rows in _rows(size, seed, password)}
        for sql in schema.index_statements():
            db.execute(sql)
        return counts
    finally:
        db.close()


def _insert(db, table, rows):
    names = [name for name, _, _ in schema.columns(table)]
    into = f"INSERT INTO {table} ({', '.join(f'{chr(34)}{name}{chr(34)}' for name in names)}) VALUES "
    places = "(" + ", ".join("?" for _ in names) + ")"
    count, block = 0, []

    def flush():
        if block:
            db.execute(into + ", ".join([places] * (len(block) // len(names))), block)
            block.clear()

    for row in rows:
        block.extend(row.get(name) for name in names)
        count += 1
        if count % _ROWS_AT_ONCE == 0:
            flush()
    flush()
    return count


def _document(name, at, owner="Administrator", idx=0):
    return {"name": name, "creation": at, "modified": at, "modified_by": owner, "owner": owner, "docstatus": 0, "idx": idx}


def _rows(size, seed, password):
    """Tables with their rows, in the order in which they are filled."""
    dice = random.Random(seed)
    begin = "2023-01-01 00:00:00"
    user = lambda number: f"user{number % size.users + 1}@example.com"
    text = lambda low, high: " ".join(dice.choices(_WORDS, k=dice.randint(low, high)))
    secret = generate_password_hash(password)
    users = [dict(_document(name, begin), full_name=name, enabled=1, password=secret if name == "Administrator" else None)
             for name in ["Administrator", "Guest", *map(user, range(size.users))]]
    yield "gp_user", users
    teams = [dict(_document(i + 1, begin), title=text(1, 3), is_private=0) for i in range(size.teams)]
    yield "gp_team", teams
    # Discussions, members and spaces: in turn.
    members = {s: [user(3 * (s + 1) + k) for k in range(size.members)] for s in range(size.spaces)}
    projects = [
        dict(_document(p + 1, begin), title=text(1, 5), team=p % size.teams + 1, is_private=0,
             discussions_count=len(range(p, size.discussions, size.spaces)) if p < size.spaces else 0,
             members_count=size.members if p < size.spaces else 0)
        for p in range(size.spaces + size.teams)]
    yield "gp_project", projects
    yield "gp_member", [
        dict(_document(k * size.spaces + s + 1, begin, idx=k + 1), parent=s + 1, parentfield="members",
             parenttype="GP Project", user=members[s][k]) for k in range(size.members) for s in range(size.spaces)]
    comments = list(_comments(size, dice, user, text))
    discussions = list(_discussions(size, user, text, comments))
    yield "gp_discussion", discussions
    yield "gp_comment", comments
    yield "gp_unread_record", _unread(size, members, discussions, comments)
    yield "gp_discussion_visit", [
        dict(_document(d + 1, begin), discussion=d + 1, user=user(d // 7), last_visit="2024-06-01 00:00:00")
        for d in range(size.discussions)]


def _comments(size, dice, user, text):
    for c in range(size.comments):
        # Three in ten are Administrator's.
        owner = "Administrator" if c % 10 in (3, 6, 9) else user(dice.randrange(size.users))
        yield dict(_document(c + 1, _time(2024, c, size.comments), owner), content=text(3, 100),
                   reference_doctype="GP Discussion", reference_name=dice.randint(1, size.discussions))


def _discussions(size, user, text, comments):
    of = {}
    for comment in comments:
        of.setdefault(comment["reference_name"], []).append(comment)
    for d in range(size.discussions):
        owner, at = user(d // 7), _time(2023, d, size.discussions)
        mine = of.get(d + 1, [])
        last = {"last_post_at": at, "last_post_by": owner}
        if mine:
            last = {"last_post_at": mine[-1]["creation"], "last_post_by": mine[-1]["owner"],
                    "last_post_type": "GP Comment", "last_post": mine[-1]["name"]}
        title = text(2, 12)
        yield dict(_document(d + 1, at, owner), project=d % size.spaces + 1, team=d % size.spaces % size.teams + 1,
                   title=title.capitalize(), content=text(20, 200), slug=title.replace(" ", "-"),
                   comments_count=len(mine), participants_count=len({c["owner"] for c in mine}), **last)


def _unread(size, members, discussions, comments):
    name = 0
    posts = [(d, None, d["creation"], d["owner"]) for d in discussions]
    posts += [(discussions[c["reference_name"] - 1], c["name"], c["creation"], c["owner"]) for c in comments]
    for discussion, comment, at, owner in posts:
        readers = list(members[discussion["project"] - 1])
        if comment and owner != "Administrator":
            readers.append("Administrator")
        for reader in readers:
            name += 1
            yield dict(_document(name, at, owner), user=reader, discussion=discussion["name"],
                       project=discussion["project"], comment=comment, is_unread=1)


def _time(year, row, rows):
    """Rises with the row through a year."""
    at = datetime.datetime(year, 1, 1) + datetime.timedelta(seconds=row * (365 * 86400 // rows))
    return at.strftime("%Y-%m-%d %H:%M:%S")
