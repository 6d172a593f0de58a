//! The command that runs contend with all rights: what a user without them should enter next.

use contend::cli::{arguments, quoted};
use std::path::Path;

/// Programs that run another one as root.
const AS_ROOT: [&str; 2] = ["sudo", "doas"];

/// This command as root, such as `sudo /home/me/contend watch app.db`, without `--depth sampled`; of another verb, a
/// watch. `None` for root.
pub fn command() -> Option<String> {
    if rustix::process::geteuid().is_root() {
        return None;
    }
    let program = std::env::current_exe().map_or("contend".to_string(), |path| path.display().to_string());
    let words: Vec<String> = arguments().skip(1).collect();
    let search = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |name: &&str| std::env::split_paths(&search).any(|dir| dir.join(name).is_file());
    Some(of(AS_ROOT.into_iter().find(is_there), &program, &words))
}

fn of(as_root: Option<&str>, program: &str, words: &[String]) -> String {
    let words = match words {
        [verb, rest @ ..] if verb == "watch" => {
            let is_sampled = |at: &usize| rest[*at] == "--depth" && rest.get(at + 1).is_some_and(|it| it == "sampled");
            let is_left_out = |at: usize| is_sampled(&at) || at.checked_sub(1).is_some_and(|at| is_sampled(&at));
            let kept = rest.iter().enumerate().filter(|(at, word)| !is_left_out(*at) && *word != "--depth=sampled");
            kept.map(|(_, word)| quoted(word)).collect::<Vec<_>>().join(" ")
        }
        _ => "DATABASE".to_string(),
    };
    let command = format!("{} watch {words}", quoted(program));
    as_root.map_or_else(|| format!("su -c {}", quoted(&command)), |as_root| format!("{as_root} {command}"))
}

/// Whether a file or directory is there and closed to this user.
pub fn is_closed(path: &Path) -> bool {
    let is_denied = |error: std::io::Error| error.kind() == std::io::ErrorKind::PermissionDenied;
    std::fs::metadata(path).err().is_some_and(is_denied) || std::fs::File::open(path).err().is_some_and(is_denied)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_has_the_path_and_the_arguments_and_another_depth() {
        let of = |as_root, program, words: &str| {
            of(as_root, program, &words.split(' ').map(str::to_string).collect::<Vec<_>>())
        };
        let words = "watch it's.db --depth sampled --for 60s --depth=sampled --depth exact";
        assert_eq!(
            of(Some("sudo"), "/my tools/contend", words),
            r"sudo '/my tools/contend' watch 'it'\''s.db' --for 60s --depth exact"
        );
        assert_eq!(of(None, "/opt/contend", "doctor --json"), "su -c '/opt/contend watch DATABASE'");
    }
}
