"""python -m gameplan: serve sites, make one, check one; as a worker for contend, see worker.py."""

import argparse
import sys

from . import VERSION


def main():
    parser = argparse.ArgumentParser(prog="gameplan", description="A discussion app, one site per database.")
    parser.add_argument("--version", action="version", version=VERSION)
    commands = parser.add_subparsers(dest="command", required=True)
    serve = commands.add_parser("serve", help="serve the sites of a configuration with gunicorn")
    serve.add_argument("config", help="a file in TOML, or JSON with the ending .json; - for JSON on standard input")
    serve.add_argument("--bind", help="where to listen, in place of the configuration's `listen`")
    serve.add_argument("--report", type=int, help="descriptor for lines of JSON about workers and counts")
    # A server loads no driver but those of its sites, and these load some.
    if sys.argv[1:2] == ["serve"]:
        return _serve(parser.parse_args())
    from . import risk, seed

    seed.arguments(commands.add_parser("seed", help="make a site's tables and fill them"))
    risk.arguments(commands.add_parser("risk", help="SQLite: writers that hold transactions, until one is refused"))
    args = parser.parse_args()
    return {"seed": seed.run, "risk": risk.run}[args.command](args)


def _serve(args):
    from .config import ConfigError, load
    from .server import Server, reporter

    try:
        config = load(args.config)
    except ConfigError as error:
        print(f"gameplan: {error}", file=sys.stderr)
        return 2
    # gunicorn reads sys.argv otherwise.
    sys.argv = sys.argv[:1]
    Server(config, args.bind, None if args.report is None else reporter(args.report)).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
