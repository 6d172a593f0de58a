//! The script or program that an interpreter runs, from its command line: `python3` alone does not say which one it is. Only a
//! file's name is taken, because arguments can hold secrets. Pure.

/// Interpreters, without the digits of their versions; the letters of options after which code or a module follows in place of
/// a script; those of options whose value may be the next word.
const INTERPRETERS: [(&str, &[char], &[char]); 6] = [
    ("python", &['c', 'm'], &['W', 'X', 'Q']),
    ("php", &['r', 'R', 'B', 'E', 'F'], &['c', 'd', 'z', 't', 'S']),
    ("node", &['e', 'p'], &['r', 'C']),
    ("ruby", &['e'], &['I', 'r', 'C', 'E']),
    ("perl", &['e', 'E'], &['I']),
    ("java", &[], &[]),
];
/// Options of Node.js with code, in words.
const CODE: [&str; 2] = ["--eval", "--print"];
/// The option of Java before a program. Without it a class is named, which is no file.
const JAR: &str = "-jar";

/// Name of the file that an interpreter runs; `is_file` says whether a word names a file for the process. `None` for other
/// programs, for code on the command line, and where no word before it is a file.
pub fn script(words: &[String], is_file: &dyn Fn(&str) -> bool) -> Option<String> {
    let (program, arguments) = words.split_first()?;
    let program = last_part(program).trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let (name, code, with_value) = INTERPRETERS.into_iter().find(|(name, ..)| *name == program)?;
    if name == "java" {
        let at = arguments.iter().position(|word| word == JAR)?;
        return arguments.get(at + 1).filter(|word| is_file(word)).map(|word| last_part(word).to_string());
    }
    let mut arguments = arguments.iter();
    while let Some(word) = arguments.next() {
        match word.strip_prefix('-') {
            Some(_) if CODE.iter().any(|code| word.starts_with(code)) => return None,
            Some(option) if !option.starts_with('-') && option.contains(code) => return None,
            Some(option) if option.len() == 1 && option.starts_with(with_value) => _ = arguments.next(),
            Some(_) => {}
            None if is_file(word) => return Some(last_part(word).to_string()),
            None => {}
        }
    }
    None
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_an_interpreter_is_named_and_nothing_else_of_its_command_line() {
        let files =
            ["/srv/import.py", "worker.py", "app.db", "site.php", "lib/server.js", "/opt/app/app.jar", "job.rb"];
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
            ("ruby -W0 job.rb", Some("job.rb")),
            ("perl -ne code app.db", None),
            ("java -Xmx1g -Dpassword=secret -jar /opt/app/app.jar app.db", Some("app.jar")),
            ("java -cp app.db com.example.Main", None),
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
