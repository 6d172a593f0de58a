#!/bin/sh
# Stands in for the program of its name that makes a data directory, such as initdb, in tests: makes each kind of directory
# once, keeps it, and copies it from then on. A kind is the program as installed and its words, without where the directory is.
set -eu
name=${0##*/} kept=$(dirname "$0")/../kept
for real in /usr/lib/postgresql/*/bin/"$name" /usr/bin/"$name"; do
    if [ -x "$real" ]; then break; fi
done
for word in "$@"; do
    case $word in --pgdata=* | --datadir=*) data=${word#*=} ;; esac
done
words=$(printf '%s\n' "$@" | sed "s|$(dirname "$data")|DIR|g")
kind=$kept/$name-$(printf '%s\n' "$(id -u)" "$(stat -Lc '%n %s %Y' "$real")" "$words" | sha256sum | cut -c1-16)
if [ ! -d "$kind" ]; then
    "$real" "$@"
    rm -rf "$kind.$$"
    cp -a "$data" "$kind.$$"
    # A machine that stops must leave no half-written one.
    sync -f "$kind.$$"
    # Another test may have been first.
    mv -T "$kind.$$" "$kind" 2>/dev/null || rm -rf "$kind.$$"
    exit
fi
cp -a "$kind/." "$data"
