//! SQLite that is linked into a program or library.

use super::super::{capture, counts, database, has, make, script, shown};
use super::has_all_of_the_program;
use crate::support::{Bench, Said};
use std::path::PathBuf;
use std::process::Command;

/// SQLite as an archive, as rusqlite has it linked into this test program.
fn archive() -> Option<PathBuf> {
    let tests = std::env::current_exe().expect("this program");
    let built = tests.parent().and_then(|deps| deps.parent()).expect("in a directory").join("build");
    let all = std::fs::read_dir(&built).into_iter().flatten().flatten();
    let archives = all.map(|entry| entry.path().join("out/libsqlite3.a"));
    let newest =
        archives.filter(|path| path.is_file()).max_by_key(|path| path.metadata().and_then(|m| m.modified()).ok());
    if newest.is_none() {
        println!("NOT VERIFIED: SQLite linked into programs in C: {} has no libsqlite3.a", built.display());
    }
    newest.filter(|_| has("cc", "SQLite linked into programs in C"))
}

/// `program.c` with SQLite linked into it, and with these arguments of the compiler.
fn build(bench: &Bench, archive: &PathBuf, name: &str, args: &[&str]) -> String {
    let program = bench.path(name).display().to_string();
    let mut cc = Command::new("cc");
    cc.args(["-o", &program, &script("program.c")]).args(args).arg(archive).args(["-lm", "-lpthread", "-ldl"]);
    let built = cc.output().expect("cc");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    program
}

/// Runs a command that ends with the database's path and `linked` with and without a capture: both do the same.
fn captured(bench: &Bench, command: &[&str]) -> Said {
    let (plain, path) = (bench.path("plain.db").display().to_string(), bench.path("app.db").display().to_string());
    let expected = Command::new(command[0]).args(&command[1..]).args([&plain, "linked"]).output().expect("starts");
    let said = capture(bench, &["--values=full"], &[command, &[&path, "linked"]].concat());
    assert_eq!(said.code, Some(7), "changes and error codes are as without a capture: {said:?}");
    assert_eq!(said.out, String::from_utf8_lossy(&expected.stdout), "errno and the SQLite as well");
    said
}

/// Whether the only gap is the function that the program defines.
fn lacks_only_the_function(said: &Said) -> bool {
    said.err.contains("virtual tables of the program's own (copy)") && said.err.matches("\ncontend: - ").count() == 1
}

#[test]
fn programs_whose_functions_have_names_are_captured() {
    let Some(archive) = archive() else { return };
    // The linker leaves out unused functions; a program's exported functions come before those of libraries.
    for args in [&[][..], &["-no-pie"], &["-Wl,--gc-sections"], &["-rdynamic"]] {
        let bench = Bench::new();
        let program = build(&bench, &archive, "program", args);
        let said = captured(&bench, &[&program]);
        assert!(lacks_only_the_function(&said), "{args:?}: {said:?}");
        has_all_of_the_program(&bench);
    }
}

/// A program that loads a library with its own SQLite while it runs. The library registers its function itself, as some
/// drivers for Node do. With STRICT the kernel refuses to change code; with WAITS the program does not end at once.
const HOST: &str = r#"
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>
int (*registered)(int, char **);
int main(int argc, char **argv) {
    enum { MEMORY_DENY_WRITE_EXECUTE = 65 };
    if (getenv("STRICT") && prctl(MEMORY_DENY_WRITE_EXECUTE, 1, 0, 0, 0)) return 77;
    dlopen(argv[1], RTLD_NOW);
    int rc = registered ? registered(argc - 1, argv + 1) : 9;
    if (getenv("WAITS")) sleep(1);
    return rc;
}
"#;
const REGISTERS: &str = r"
int run(int, char **);
extern int (*registered)(int, char **);
__attribute__((constructor)) static void begin(void) { registered = run; }
";

/// That program, and the library.
fn host(bench: &Bench, archive: &PathBuf) -> [String; 2] {
    let [host, registers] = ["host.c", "registers.c"].map(|name| bench.path(name).display().to_string());
    std::fs::write(&host, HOST).expect("written");
    std::fs::write(&registers, REGISTERS).expect("written");
    let hidden = ["-shared", "-fPIC", "-Dmain=run", "-Wl,--exclude-libs,ALL", &registers];
    let library = build(bench, archive, "addon.so", &hidden);
    let program = bench.path("host").display().to_string();
    let built = Command::new("cc").args(["-rdynamic", "-o", &program, &host, "-ldl"]).output().expect("cc");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    [program, library]
}

#[test]
fn libraries_that_are_loaded_later_are_captured() {
    let Some(archive) = archive() else { return };
    let bench = Bench::new();
    let [program, library] = host(&bench, &archive);
    let said = captured(&bench, &[&program, &library]);
    assert!(lacks_only_the_function(&said), "{said:?}");
    has_all_of_the_program(&bench);
}

/// A program that loads a library, opens a database with the library's own SQLite, and unloads it, ten times. Each time another
/// library takes its address, if there are more arguments.
const RELOADS: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv) {
    for (int i = 0; i < 10; i++) {
        void *library = dlopen(argv[1], RTLD_NOW);
        int (*run)(const char *) = (int (*)(const char *))dlsym(library, "run_once");
        if (!run || run(argv[2])) return 1;
        dlclose(library);
        if (dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD)) return 2;
        if (i + 3 >= argc) continue;
        char *other = dlsym(dlopen(argv[i + 3], RTLD_NOW), "block");
        if (!other) return 3;
        printf("%d\n", other < (char *)run && (char *)run < other + BLOCK);
    }
    return 0;
}
"#;
const ONCE: &str = r#"
#include <stddef.h>
int sqlite3_open(const char *, void **);
int sqlite3_exec(void *, const char *, void *, void *, char **);
int sqlite3_close(void *);
int run_once(const char *path) {
    void *db;
    if (sqlite3_open(path, &db)) return 1;
    int rc = sqlite3_exec(db, "INSERT INTO thing (name) VALUES ('again')", NULL, NULL, NULL);
    return sqlite3_close(db) || rc;
}
"#;

fn cc(bench: &Bench, name: &str, source: &str, args: &[&str]) {
    let file = bench.path(name);
    std::fs::write(&file, source).expect("written");
    let built = Command::new("cc").arg(&file).args(args).output().expect("cc");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}

/// The size of a shared library in memory: the end of the last segment that is loaded.
fn size_in_memory(library: &str) -> u64 {
    let file = std::fs::read(library).expect("readable");
    let number = |at: usize, bytes: usize| file[at..at + bytes].iter().rev().fold(0, |sum, b| sum << 8 | u64::from(*b));
    let heads = (0..number(0x38, 2)).map(|i| (number(0x20, 8) + i * number(0x36, 2)) as usize);
    let loaded = heads.filter(|at| number(*at, 4) == 1).map(|at| number(at + 0x10, 8) + number(at + 0x28, 8));
    loaded.max().expect("a segment")
}

#[test]
fn a_library_that_is_unloaded_makes_room_for_the_next_one() {
    let Some(archive) = archive() else { return };
    let bench = Bench::new();
    let [program, library] = ["reloads", "once.so"].map(|name| bench.path(name).display().to_string());
    let archive = archive.display().to_string();
    let shared = ["-o", &library, "-shared", "-fPIC", "-Wl,--exclude-libs,ALL", &archive, "-lm", "-lpthread"];
    cc(&bench, "once.c", ONCE, &shared);
    let block = format!("-DBLOCK={}", size_in_memory(&library) - 0x6000);
    cc(&bench, "reloads.c", RELOADS, &["-o", &program, &block, "-ldl"]);
    let others: Vec<String> = (0..10).map(|i| bench.path(&format!("other-{i}.so")).display().to_string()).collect();
    cc(&bench, "other.c", "char block[BLOCK];", &["-o", &others[0], "-shared", "-fPIC", &block]);
    for other in &others[1..] {
        std::fs::copy(&others[0], other).expect("copied");
    }
    make(&bench, "app.db", "CREATE TABLE thing (id INTEGER PRIMARY KEY, name TEXT)");
    let path = database(&bench).display().to_string();
    let mut command = vec![program.as_str(), &library, &path];
    for more in [vec![], others.iter().map(String::as_str).collect()] {
        let covers = more.len();
        command.extend(more);
        let said = capture(&bench, &[], &command).exits(0);
        assert!(said.err.contains("Nothing is known to be missing"), "{said:?}");
        assert_eq!(counts(&shown(&bench), "INSERT INTO thing")[0], 10, "{said:?}");
        assert_eq!(said.out.matches('1').count(), covers, "another library is at the address of each: {said:?}");
        std::fs::remove_dir_all(bench.path("taken")).expect("removed");
    }
}

#[test]
fn processes_whose_functions_are_not_replaced_are_reported() {
    let Some(archive) = archive() else { return };
    for (script, report) in [
        ("unset LD_PRELOAD; WAITS=1 exec \"$0\" \"$@\"", "a process did not load contend's library"),
        ("STRICT=1 exec \"$0\" \"$@\"", "one could not change its code in memory"),
    ] {
        let bench = Bench::new();
        let [program, library] = host(&bench, &archive);
        let path = database(&bench).display().to_string();
        let said = capture(&bench, &[], &["sh", "-c", script, &program, &library, &path, "linked"]);
        if said.code == Some(77) {
            println!("NOT VERIFIED: code that cannot be changed: this kernel cannot forbid it");
            continue;
        }
        assert_eq!(said.code, Some(7), "the program does the same: {said:?}");
        let (_, end) = said.err.split_once("The capture has gaps:").unwrap_or_else(|| panic!("{said:?}"));
        assert!(end.contains(report) && end.contains(&library), "{script}: {said:?}");
    }
}

#[test]
fn programs_that_are_out_of_reach_are_reported_with_the_reason() {
    let Some(archive) = archive() else { return };
    for (args, reason) in [
        (&["-s"][..], "the names of its functions were removed"),
        (&["-Wl,--discard-all"], "SQLite's own functions have no names in it"),
        (&["-static"], "the C library is linked into it, too"),
    ] {
        let bench = Bench::new();
        let program = build(&bench, &archive, "program", args);
        let said = captured(&bench, &[&program]);
        let missing = shown(&bench)["missing"].to_string();
        for text in [&said.err, &missing] {
            assert!(text.contains(&format!("{program} has SQLite linked into it")), "{args:?}: {text}");
            assert!(text.contains(reason) && text.contains("`contend watch` sees its locks"), "{args:?}: {text}");
        }
        let reports = said.err.matches("To capture it").count();
        assert_eq!(reports, 2, "at once and at the end: {said:?}");
    }
}
