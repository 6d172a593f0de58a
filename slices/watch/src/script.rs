//! The script or program that an interpreter runs, from its command line: `python3` alone does not say which one it is. Only a
//! file's name is taken, because arguments can hold secrets. Pure.

/// An interpreter and its options.
struct Interpreter {
    /// Name of its program, without the digits of its version.
    name: &'static str,
    /// Letters of options after which code or a module follows in place of a script.
    code: &'static [char],
    /// Letters of options with a value: the rest of the word, or the next word.
    with_value: &'static [char],
    /// Options in words, after which code or a module follows, or after `=`.
    long_code: &'static [&'static str],
    /// Options in words with a value that is the next word, unless `=` and the value follow in the same one.
    long_with_value: &'static [&'static str],
}

static INTERPRETERS: [Interpreter; 6] = [
    Interpreter {
        name: "python",
        code: &['c', 'm'],
        with_value: &['W', 'X', 'Q'],
        long_code: &[],
        long_with_value: &["--check-hash-based-pycs"],
    },
    Interpreter {
        name: "php",
        code: &['r', 'R', 'B', 'E', 'F'],
        with_value: &['c', 'd', 'z', 't', 'S'],
        long_code: &["--run", "--process-begin", "--process-code", "--process-end", "--process-file"],
        long_with_value: &["--define", "--docroot", "--php-ini", "--server", "--zend-extension"],
    },
    Interpreter {
        name: "node",
        code: &['e', 'p'],
        with_value: &['r', 'C'],
        long_code: &["--eval", "--print", "--run"],
        long_with_value: &OF_NODE,
    },
    Interpreter {
        name: "ruby",
        code: &['e'],
        with_value: &['I', 'r', 'C', 'E'],
        long_code: &[],
        long_with_value: &[
            "--disable",
            "--enable",
            "--encoding",
            "--external-encoding",
            "--internal-encoding",
            "--parser",
        ],
    },
    Interpreter { name: "perl", code: &['e', 'E'], with_value: &['I'], long_code: &[], long_with_value: &[] },
    Interpreter { name: JAVA, code: &[], with_value: &[], long_code: &["-m", "--module"], long_with_value: &OF_JAVA },
];
/// Options of Node.js with a value, which may be a file. Those of V8 have theirs in the same word.
const OF_NODE: [&str; 50] = [
    "--allow-fs-read",
    "--allow-fs-write",
    "--build-snapshot-config",
    "--conditions",
    "--cpu-prof-dir",
    "--cpu-prof-interval",
    "--cpu-prof-name",
    "--debug-port",
    "--diagnostic-dir",
    "--disable-proto",
    "--disable-warning",
    "--dns-result-order",
    "--env-file",
    "--env-file-if-exists",
    "--experimental-default-type",
    "--experimental-loader",
    "--experimental-policy",
    "--experimental-sea-config",
    "--heap-prof-dir",
    "--heap-prof-interval",
    "--heap-prof-name",
    "--heapsnapshot-near-heap-limit",
    "--heapsnapshot-signal",
    "--icu-data-dir",
    "--import",
    "--input-type",
    "--inspect-port",
    "--inspect-publish-uid",
    "--loader",
    "--localstorage-file",
    "--max-http-header-size",
    "--openssl-config",
    "--policy-integrity",
    "--redirect-warnings",
    "--report-dir",
    "--report-directory",
    "--report-filename",
    "--report-signal",
    "--require",
    "--secure-heap",
    "--secure-heap-min",
    "--snapshot-blob",
    "--test-reporter",
    "--test-reporter-destination",
    "--title",
    "--tls-keylog",
    "--trace-event-categories",
    "--trace-event-file-pattern",
    "--unhandled-rejections",
    "--watch-path",
];
/// Options of Java whose value is the next word.
const OF_JAVA: [&str; 13] = [
    "-cp",
    "-classpath",
    "--class-path",
    "-p",
    "--module-path",
    "--upgrade-module-path",
    "--patch-module",
    "--add-exports",
    "--add-modules",
    "--add-opens",
    "--add-reads",
    "--enable-native-access",
    "--limit-modules",
];
const JAVA: &str = "java";
/// The option of Java before a program. Without it a class is named, which is no file.
const JAR: &str = "-jar";

/// Name of the file that an interpreter runs; `is_file` says whether a word names a file for the process. `None` for other
/// programs, for code on the command line, and where no word before it is a file.
pub fn script(words: &[String], is_file: &dyn Fn(&str) -> bool) -> Option<String> {
    let (program, arguments) = words.split_first()?;
    let program = last_part(program).trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let interpreter = INTERPRETERS.iter().find(|interpreter| interpreter.name == program)?;
    let is_java = interpreter.name == JAVA;
    let mut arguments = arguments.iter();
    while let Some(word) = arguments.next() {
        if is_java && word == JAR {
            return arguments.next().filter(|word| is_file(word)).map(|word| last_part(word).to_string());
        }
        match interpreter.option(word) {
            Some(Is::Code) => return None,
            Some(Is::BeforeItsValue) => _ = arguments.next(),
            Some(Is::Whole) => {}
            // A class, after which are its own arguments. A file of further options begins with `@`.
            None if is_java && !word.starts_with('@') => return None,
            None if is_file(word) => return Some(last_part(word).to_string()),
            None => {}
        }
    }
    None
}

/// What an option is.
enum Is {
    /// Code or a module follows: there is no script.
    Code,
    /// Its value is the next word.
    BeforeItsValue,
    Whole,
}

impl Interpreter {
    /// What a word is as an option; `None` if it is none.
    fn option(&self, word: &str) -> Option<Is> {
        let option = word.strip_prefix('-')?;
        let name = word.split_once('=').map_or(word, |(name, _)| name);
        let letters = Some(option).filter(|option| !option.starts_with('-'));
        Some(if self.long_code.contains(&name) {
            Is::Code
        } else if self.long_with_value.contains(&word) {
            Is::BeforeItsValue
        } else if letters.is_some_and(|letters| letters.starts_with(self.with_value)) {
            if option.len() == 1 { Is::BeforeItsValue } else { Is::Whole }
        } else if letters.is_some_and(|letters| letters.contains(self.code)) {
            Is::Code
        } else {
            Is::Whole
        })
    }
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_an_interpreter_is_named_and_nothing_else_of_its_command_line() {
        let files = [
            "/srv/import.py",
            "worker.py",
            "app.db",
            "site.php",
            "lib/server.js",
            "/opt/app/app.jar",
            "job.rb",
            "./otel.mjs",
            ".env",
        ];
        for (line, found) in [
            ("python3 /srv/import.py --password secret", Some("import.py")),
            ("/usr/bin/python3.11 -X dev -u worker.py app.db", Some("worker.py")),
            ("python3 -c code app.db", None),
            ("python3 -Bc code app.db", None),
            ("python3 -m http.server app.db", None),
            ("php -d memory_limit=1G site.php", Some("site.php")),
            ("php -c site.php app.db", Some("app.db")),
            ("node -r app.db lib/server.js", Some("server.js")),
            ("perl -I app.db job.rb", Some("job.rb")),
            ("php -r code app.db", None),
            ("node --inspect lib/server.js", Some("server.js")),
            ("node --eval code app.db", None),
            ("node --import ./otel.mjs lib/server.js", Some("server.js")),
            ("node --import=./otel.mjs lib/server.js", Some("server.js")),
            ("node --env-file .env --require ./otel.mjs lib/server.js", Some("server.js")),
            ("node -C app.db --inspect-port 9229 --title app.db lib/server.js", Some("server.js")),
            ("node --print=code app.db", None),
            ("php --php-ini app.db --define memory_limit=1G site.php", Some("site.php")),
            ("php -dmemory_limit=1G site.php", Some("site.php")),
            ("php --run code app.db", None),
            ("ruby -W0 job.rb", Some("job.rb")),
            ("perl -ne code app.db", None),
            ("java -Xmx1g -Dpassword=secret -jar /opt/app/app.jar app.db", Some("app.jar")),
            ("java -cp app.db com.example.Main", None),
            ("java -cp app.db com.example.Main -jar /opt/app/app.jar", None),
            ("java -p app.db -m example/com.example.Main -jar /opt/app/app.jar", None),
            ("java --add-opens app.db -jar /opt/app/app.jar", Some("app.jar")),
            ("python3 gone.py", None),
            ("sqlite3 app.db", None),
            ("php-fpm: pool www", None),
            ("", None),
        ] {
            let words: Vec<String> = line.split_whitespace().map(str::to_string).collect();
            assert_eq!(script(&words, &|word| files.contains(&word)).as_deref(), found, "{line}");
        }
    }
}
