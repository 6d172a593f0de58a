//! SQLite's extended result codes: <https://www.sqlite.org/rescode.html>. A number that is not among them is none, whatever its
//! lowest 8 bits are.

const EXTENDED: &[(u32, &str)] = &[
    (257, "SQLITE_ERROR_MISSING_COLLSEQ"),
    (261, "SQLITE_BUSY_RECOVERY"),
    (262, "SQLITE_LOCKED_SHAREDCACHE"),
    (264, "SQLITE_READONLY_RECOVERY"),
    (266, "SQLITE_IOERR_READ"),
    (267, "SQLITE_CORRUPT_VTAB"),
    (270, "SQLITE_CANTOPEN_NOTEMPDIR"),
    (275, "SQLITE_CONSTRAINT_CHECK"),
    (279, "SQLITE_AUTH_USER"),
    (513, "SQLITE_ERROR_RETRY"),
    (516, "SQLITE_ABORT_ROLLBACK"),
    (517, "SQLITE_BUSY_SNAPSHOT"),
    (518, "SQLITE_LOCKED_VTAB"),
    (520, "SQLITE_READONLY_CANTLOCK"),
    (522, "SQLITE_IOERR_SHORT_READ"),
    (523, "SQLITE_CORRUPT_SEQUENCE"),
    (526, "SQLITE_CANTOPEN_ISDIR"),
    (531, "SQLITE_CONSTRAINT_COMMITHOOK"),
    (769, "SQLITE_ERROR_SNAPSHOT"),
    (773, "SQLITE_BUSY_TIMEOUT"),
    (776, "SQLITE_READONLY_ROLLBACK"),
    (778, "SQLITE_IOERR_WRITE"),
    (779, "SQLITE_CORRUPT_INDEX"),
    (782, "SQLITE_CANTOPEN_FULLPATH"),
    (787, "SQLITE_CONSTRAINT_FOREIGNKEY"),
    (1032, "SQLITE_READONLY_DBMOVED"),
    (1034, "SQLITE_IOERR_FSYNC"),
    (1038, "SQLITE_CANTOPEN_CONVPATH"),
    (1043, "SQLITE_CONSTRAINT_FUNCTION"),
    (1288, "SQLITE_READONLY_CANTINIT"),
    (1290, "SQLITE_IOERR_DIR_FSYNC"),
    (1294, "SQLITE_CANTOPEN_DIRTYWAL"),
    (1299, "SQLITE_CONSTRAINT_NOTNULL"),
    (1544, "SQLITE_READONLY_DIRECTORY"),
    (1546, "SQLITE_IOERR_TRUNCATE"),
    (1550, "SQLITE_CANTOPEN_SYMLINK"),
    (1555, "SQLITE_CONSTRAINT_PRIMARYKEY"),
    (1802, "SQLITE_IOERR_FSTAT"),
    (1811, "SQLITE_CONSTRAINT_TRIGGER"),
    (2058, "SQLITE_IOERR_UNLOCK"),
    (2067, "SQLITE_CONSTRAINT_UNIQUE"),
    (2314, "SQLITE_IOERR_RDLOCK"),
    (2323, "SQLITE_CONSTRAINT_VTAB"),
    (2570, "SQLITE_IOERR_DELETE"),
    (2579, "SQLITE_CONSTRAINT_ROWID"),
    (2826, "SQLITE_IOERR_BLOCKED"),
    (2835, "SQLITE_CONSTRAINT_PINNED"),
    (3082, "SQLITE_IOERR_NOMEM"),
    (3091, "SQLITE_CONSTRAINT_DATATYPE"),
    (3338, "SQLITE_IOERR_ACCESS"),
    (3594, "SQLITE_IOERR_CHECKRESERVEDLOCK"),
    (3850, "SQLITE_IOERR_LOCK"),
    (4106, "SQLITE_IOERR_CLOSE"),
    (4362, "SQLITE_IOERR_DIR_CLOSE"),
    (4618, "SQLITE_IOERR_SHMOPEN"),
    (4874, "SQLITE_IOERR_SHMSIZE"),
    (5130, "SQLITE_IOERR_SHMLOCK"),
    (5386, "SQLITE_IOERR_SHMMAP"),
    (5642, "SQLITE_IOERR_SEEK"),
    (5898, "SQLITE_IOERR_DELETE_NOENT"),
    (6154, "SQLITE_IOERR_MMAP"),
    (6410, "SQLITE_IOERR_GETTEMPPATH"),
    (6666, "SQLITE_IOERR_CONVPATH"),
    (6922, "SQLITE_IOERR_VNODE"),
    (7178, "SQLITE_IOERR_AUTH"),
    (7434, "SQLITE_IOERR_BEGIN_ATOMIC"),
    (7690, "SQLITE_IOERR_COMMIT_ATOMIC"),
    (7946, "SQLITE_IOERR_ROLLBACK_ATOMIC"),
    (8202, "SQLITE_IOERR_DATA"),
    (8458, "SQLITE_IOERR_CORRUPTFS"),
    (8714, "SQLITE_IOERR_IN_PAGE"),
];

/// The name of an extended code.
pub fn sqlite_extended(code: u32) -> Option<&'static str> {
    EXTENDED.iter().find(|(known, _)| *known == code).map(|(_, name)| *name)
}

/// The extended code with this name, in upper case.
pub fn sqlite_extended_named(name: &str) -> Option<u32> {
    EXTENDED.iter().find(|(_, known)| *known == name).map(|(code, _)| *code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::lookup;
    use contend_wire::sample::CodeSpace;

    #[test]
    fn an_extended_code_begins_with_the_name_of_its_primary_code() {
        for (code, name) in EXTENDED {
            let primary = lookup(CodeSpace::Sqlite, code & 0xff).expect("a primary code").name;
            assert!(name.starts_with(&format!("{primary}_")), "{name} ({code}) is of {primary}");
        }
        assert!(EXTENDED.is_sorted());
        assert_eq!((sqlite_extended(522), sqlite_extended(1030)), (Some("SQLITE_IOERR_SHORT_READ"), None));
    }
}
