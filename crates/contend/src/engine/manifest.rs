//! Reads a worker's manifest, `worker.toml`: its models, settings and drivers. `docs/workers.md` explains the keys.

use super::declared::{self, SettingFile, kept, kept_all};
use super::driver::{Conformance, Driver, Facts, Fails, Model, Opens, Program, Variant};
use super::product::Engine;
use super::setting::Setting;
use super::{catalogue, pool, sqlite};
use crate::source::{FileError, Source, did_you_mean};
use contend_wire::plan::Connections;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

/// Tables by name; their spans give the order of the file.
type Tables<T> = BTreeMap<String, Spanned<T>>;
type Pairs = BTreeMap<String, String>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkerFile {
    language: String,
    #[serde(default)]
    build: String,
    #[serde(default)]
    needs: String,
    #[serde(default)]
    programs: Vec<String>,
    #[serde(default)]
    run: Vec<String>,
    #[serde(default)]
    lacks: Vec<String>,
    #[serde(default)]
    collector: bool,
    #[expect(dead_code, reason = "for people: where versions are pinned")]
    pinned: Option<String>,
    model: Tables<ModelFile>,
    #[serde(default)]
    setting: BTreeMap<String, SettingFile>,
    driver: Tables<DriverFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelFile {
    /// Its name, if another model of the file has the same key.
    name: Option<String>,
    about: String,
    #[serde(default)]
    connections: Sharing,
    opens: Option<OpensFile>,
    #[serde(default)]
    clients_share: bool,
    #[serde(default)]
    lacks: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Sharing {
    #[default]
    Client,
    Database,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OpensFile {
    #[serde(default)]
    fixed: u32,
    setting: Option<String>,
    #[serde(default)]
    one_with: Pairs,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DriverFile {
    about: String,
    engines: Vec<String>,
    models: Option<Vec<String>>,
    #[serde(default)]
    settings: Vec<String>,
    program: Option<String>,
    build: Option<String>,
    needs: Option<String>,
    programs: Option<Vec<String>>,
    env: Option<String>,
    #[serde(default)]
    facts: Pairs,
    #[serde(default)]
    executes_nothing: bool,
    dialect: Option<String>,
    #[serde(default)]
    lacks: Vec<String>,
    #[serde(default)]
    conformance: ConformanceFile,
    #[expect(dead_code, reason = "for the script that builds it")]
    extension: Option<String>,
    #[expect(dead_code, reason = "for the script that builds it")]
    package: Option<String>,
    #[expect(dead_code, reason = "for the script that builds it")]
    fetch: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ConformanceFile {
    options: Pairs,
    words: Pairs,
    variant: Vec<VariantFile>,
    fails: Vec<FailsFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct VariantFile {
    name: String,
    model: String,
    options: Pairs,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FailsFile {
    case: String,
    says: Vec<String>,
    reason: String,
}

/// The drivers of a manifest, in its order. `home` is its directory; `None` if it is built in.
///
/// # Errors
/// What is wrong, with line, key and the nearest name.
pub fn read(source: &Source, home: Option<&str>) -> Result<Vec<&'static Driver>, FileError> {
    let file: WorkerFile = source.parse()?;
    let settings = file.setting.iter().map(|(name, file)| declared::setting(name, file, source));
    let settings = settings.collect::<Result<Vec<Setting>, _>>()?;
    let reading = Reading { source, file: &file, home, settings };
    in_order(&file.driver).into_iter().map(|(name, file)| reading.driver(name, file)).collect()
}

/// Tables in the order of the file.
fn in_order<T>(tables: &Tables<T>) -> Vec<(&String, &T)> {
    let mut all: Vec<_> = tables.iter().collect();
    all.sort_by_key(|(_, table)| table.span().start);
    all.into_iter().map(|(name, table)| (name, table.get_ref())).collect()
}

struct Reading<'f> {
    source: &'f Source,
    file: &'f WorkerFile,
    home: Option<&'f str>,
    settings: Vec<Setting>,
}

impl Reading<'_> {
    fn driver(&self, name: &str, file: &DriverFile) -> Result<&'static Driver, FileError> {
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') {
            let message = "a driver's name has lower-case letters, digits and `-`";
            return Err(self.source.error(&["driver", name], message));
        }
        let every: Vec<String> = in_order(&self.file.model).into_iter().map(|(name, _)| name.clone()).collect();
        let models = file.models.as_ref().unwrap_or(&every);
        if models.is_empty() || file.engines.is_empty() {
            return Err(self.source.error(&["driver", name], "a driver has at least one model and one engine"));
        }
        let models = models.iter().map(|model| self.model(name, model)).collect::<Result<Vec<_>, _>>()?;
        let settings =
            file.settings.iter().map(|setting| self.setting(name, setting)).collect::<Result<Vec<_>, _>>()?;
        // Built-in manifests may name an engine of a slice that this program lacks.
        let engine = |engine: &String| match catalogue::find(engine) {
            None if self.home.is_none() => Ok(kept(engine)),
            _ => self.engine(&["driver", name, "engines"], engine).map(|engine| engine.name),
        };
        let engines = file.engines.iter().map(engine).collect::<Result<Vec<_>, _>>()?;
        let sends_as_written = self.sends_as_written(file);
        let dialect = file.dialect.as_ref().filter(|_| !sends_as_written);
        let dialect = dialect.map(|engine| self.dialect(name, engine)).transpose()?;
        Ok(Box::leak(Box::new(Driver {
            name: kept(name),
            language: kept(&self.file.language),
            engines: Vec::leak(engines),
            models: Vec::leak(models),
            about: kept(&file.about),
            program: self.program(name, file)?,
            facts: pairs(&file.facts),
            settings: Vec::leak(settings),
            executes_nothing: file.executes_nothing,
            collector: self.file.collector,
            dialect,
            sends_as_written,
            conformance: self.conformance(name, file)?,
        })))
    }

    /// The error for an unknown name, with the nearest known one.
    fn unknown<'k>(&self, key: &[&str], what: &str, name: &str, known: impl IntoIterator<Item = &'k str>) -> FileError {
        self.source.error(key, format!("there is no {what} `{name}`{}", did_you_mean(name, known)))
    }

    fn engine(&self, key: &[&str], name: &str) -> Result<&'static Engine, FileError> {
        let known = catalogue::ENGINES.iter().map(|engine| engine.name);
        catalogue::find(name).ok_or_else(|| self.unknown(key, "engine", name, known))
    }

    /// Whether the dialect of a driver of servers is that of workloads, SQLite's.
    fn sends_as_written(&self, file: &DriverFile) -> bool {
        let is_server = |name: &String| catalogue::find(name).is_some_and(|engine| engine.server.is_some());
        file.dialect.as_deref() == Some(sqlite::ENGINE.name) && file.engines.iter().all(is_server)
    }

    /// The dialect of an engine that is a server.
    fn dialect(&self, driver: &str, engine: &str) -> Result<contend_sql::Target, FileError> {
        let key = ["driver", driver, "dialect"];
        let server = self.engine(&key, engine)?.server;
        let message = "a driver's own dialect is that of an engine which is a server";
        server.map(|server| server.dialect).ok_or_else(|| self.source.error(&key, message))
    }

    fn setting(&self, driver: &str, name: &str) -> Result<Setting, FileError> {
        let known = || self.settings.iter().map(|setting| setting.name);
        let found = self.settings.iter().find(|setting| setting.name == name).copied();
        found.ok_or_else(|| self.unknown(&["driver", driver, "settings"], "setting", name, known()))
    }

    fn model(&self, driver: &str, name: &str) -> Result<Model, FileError> {
        let known = || self.file.model.keys().map(String::as_str);
        let file = self.file.model.get(name).map(Spanned::get_ref);
        let file = file.ok_or_else(|| self.unknown(&["driver", driver, "models"], "model", name, known()))?;
        Ok(Model {
            name: kept(file.name.as_deref().unwrap_or(name)),
            about: kept(&file.about),
            connections: match file.connections {
                Sharing::Client => Connections::Client,
                Sharing::Database => Connections::Database,
            },
            opens: file.opens.as_ref().map_or(Ok(Opens::ONE), |opens| self.opens(name, opens))?,
            clients_share: file.clients_share,
            lacks: kept_all(&file.lacks),
        })
    }

    fn opens(&self, model: &str, file: &OpensFile) -> Result<Opens, FileError> {
        let pools = [pool::SETTING_SIZE, pool::SETTING_IDLE, pool::SETTING_OPEN];
        let find = |key: &[&str], name: &str| {
            let all = || self.settings.iter().chain(&pools);
            let found = all().find(|setting| setting.name == name).copied();
            let key = [&["model", model, "opens"], key].concat();
            found.ok_or_else(|| self.unknown(&key, "setting", name, all().map(|setting| setting.name)))
        };
        let setting = file.setting.as_ref().map(|name| find(&["setting"], name)).transpose()?;
        let mut one_with = None;
        for (name, value) in &file.one_with {
            let key = ["model", model, "opens", "one_with", name];
            let value = find(&key[3..], name)?.canonical(value).map_err(|message| self.source.error(&key, message))?;
            one_with = Some((kept(name), kept(&value)));
        }
        let default = |setting: Setting| setting.default.parse().map(|default| (setting.name, default));
        let setting = setting.map(default).transpose().map_err(|_| {
            self.source
                .error(&["model", model, "opens", "setting"], "connections are counted by a setting that is a number")
        })?;
        if setting.is_none() && file.fixed == 0 {
            return Err(self.source.error(&["model", model, "opens"], "a model opens at least one connection"));
        }
        Ok(Opens { fixed: file.fixed, setting, one_with })
    }

    fn program(&self, driver: &str, file: &DriverFile) -> Result<Option<Program>, FileError> {
        let run = self.run(driver, file);
        let name = match (&file.program, self.home) {
            (Some(name), _) if name.is_empty() || name.contains('/') => {
                let message = "a program is the name of a file in the directory of workers";
                return Err(self.source.error(&["driver", driver, "program"], message));
            }
            (Some(name), _) => name.clone(),
            (None, None) => return Ok(None),
            (None, Some(_)) if run.is_empty() => {
                let message = "there is no `program`, and the worker has no `run`: nothing says how it is started";
                return Err(self.source.error(&["driver", driver], message));
            }
            (None, Some(_)) => driver.to_string(),
        };
        Ok(Some(Program {
            name: kept(&name),
            build: kept(file.build.as_ref().unwrap_or(&self.file.build)),
            needs: kept(file.needs.as_ref().unwrap_or(&self.file.needs)),
            programs: kept_all(file.programs.as_ref().unwrap_or(&self.file.programs)),
            run: kept_all(&run),
        }))
    }

    /// The command that starts a driver from the manifest's directory; empty if it must be built.
    fn run(&self, driver: &str, file: &DriverFile) -> Vec<String> {
        let Some(home) = self.home.filter(|_| !self.file.run.is_empty()) else { return vec![] };
        let env = file.env.iter().flat_map(|env| ["env".to_string(), env.clone()]);
        let words = self.file.run.iter().map(|word| word.replace("{home}", home).replace("{driver}", driver));
        env.chain(words).collect()
    }

    fn conformance(&self, driver: &str, file: &DriverFile) -> Result<Conformance, FileError> {
        let ConformanceFile { options, words, variant, fails } = &file.conformance;
        for (index, model) in variant.iter().map(|variant| &variant.model).enumerate() {
            if !self.file.model.contains_key(model) {
                let key = ["driver", driver, "conformance", "variant", &index.to_string(), "model"];
                return Err(self.unknown(&key, "model", model, self.file.model.keys().map(String::as_str)));
            }
        }
        let variants = variant.iter().map(|file| Variant {
            name: kept(&file.name),
            model: kept(&file.model),
            options: pairs(&file.options),
        });
        let fails = fails.iter().map(|file| Fails {
            case: kept(&file.case),
            says: kept_all(&file.says),
            reason: kept(&file.reason),
        });
        Ok(Conformance {
            lacks: kept_all(&[self.file.lacks.as_slice(), &file.lacks].concat()),
            options: pairs(options),
            words: pairs(words),
            variants: Vec::leak(variants.collect()),
            fails: Vec::leak(fails.collect()),
        })
    }
}

fn pairs(pairs: &Pairs) -> Facts {
    Vec::leak(pairs.iter().map(|(name, value)| (kept(name), kept(value))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Settings;

    const TEXT: &str = "language = 'Elvish'\nrun = ['elf', '{home}/worker', '{driver}']\nlacks = ['serve']\n\
        [model.wide]\nabout = 'a'\nconnections = 'database'\nopens = { fixed = 1, setting = 'hands', one_with = { pool_open = 'lazy' } }\n\
        [model.alone]\nabout = 'b'\n\
        [setting.hands]\nabout = 'c'\nleast = 1\nmost = 8\ndefault = 2\n\
        [driver.elf-lite]\nabout = 'd'\nengines = ['sqlite']\nsettings = ['hands']\nenv = 'A=1'\n\
        [driver.dwarf]\nabout = 'e'\nengines = ['postgres']\nmodels = ['alone']\nprogram = 'dwarf'\ndialect = 'mariadb'\n";

    fn read_text(text: &str, home: Option<&str>) -> Result<Vec<&'static Driver>, FileError> {
        read(&Source::new("worker.toml", text), home)
    }

    #[test]
    fn drivers_stand_in_the_order_of_the_file_and_have_what_their_worker_has() {
        let drivers = read_text(TEXT, Some("/here")).unwrap();
        assert_eq!(drivers.iter().map(|driver| driver.name).collect::<Vec<_>>(), ["elf-lite", "dwarf"]);
        assert_eq!(drivers[0].model_names(), ["wide", "alone"], "all of the worker, the first is the default");
        let program = drivers[0].program.as_ref().unwrap();
        assert_eq!(program.run, ["env", "A=1", "elf", "/here/worker", "elf-lite"]);
        assert_eq!(
            (drivers[1].dialect, drivers[1].conformance.lacks),
            (Some(contend_sql::Target::MariaDb), &["serve"][..])
        );
        let opens = |pairs: &[(&str, &str)]| {
            let settings: Settings = pairs.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
            drivers[0].models[0].opens(&settings)
        };
        assert_eq!([opens(&[]), opens(&[("hands", "5")]), opens(&[("hands", "5"), ("pool_open", "lazy")])], [3, 6, 1]);
    }

    #[test]
    fn a_driver_of_servers_may_send_sql_as_it_is_written() {
        let text = TEXT.replace("dialect = 'mariadb'", "dialect = 'sqlite'");
        let dwarf = read_text(&text, Some("/here")).unwrap()[1];
        assert!(dwarf.sends_as_written && dwarf.dialect.is_none());
        let alias = read_text(&TEXT.replace("['postgres']", "['postgresql']"), Some("/here")).unwrap()[1];
        assert_eq!(alias.engines, ["postgres"]);
        // On SQLite, its dialect is not the driver's own.
        let text = text.replace("['postgres']", "['sqlite']");
        assert!(read_text(&text, Some("/here")).is_err());
    }

    #[test]
    fn a_worker_of_contend_is_the_tool_itself_or_a_program_that_is_built() {
        let drivers = read_text(TEXT, None).unwrap();
        assert!(drivers[0].program.is_none());
        assert!(drivers[1].program.as_ref().is_some_and(|program| program.run.is_empty()));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line_and_the_nearest_name() {
        for (from, to, expected) in [
            (
                "engines = ['sqlite']",
                "engines = ['sqlit']",
                ":17: driver.elf-lite.engines: there is no engine `sqlit` (did you mean `sqlite`?)",
            ),
            (
                "engines = ['sqlite']",
                "engines = []",
                ":15: driver.elf-lite: a driver has at least one model and one engine",
            ),
            ("['alone']", "['alon']", ":23: driver.dwarf.models: there is no model `alon` (did you mean `alone`?)"),
            (
                "['hands']",
                "['hand']",
                ":18: driver.elf-lite.settings: there is no setting `hand` (did you mean `hands`?)",
            ),
            (
                "setting = 'hands'",
                "setting = 'pool_sise'",
                ":7: model.wide.opens.setting: there is no setting `pool_sise` (did you mean `pool_size`?)",
            ),
            ("'lazy'", "'lasy'", ":7: model.wide.opens.one_with.pool_open: `pool_open` cannot be `lasy`"),
            (
                "fixed = 1, setting = 'hands'",
                "fixed = 0",
                ":7: model.wide.opens: a model opens at least one connection",
            ),
            ("default = 2", "default = 9", ":14: setting.hands.default: 9 is not between 1 and 8"),
            ("least = 1\n", "", ":10: setting.hands: a setting has either `least` and `most`, or `values`"),
            (
                "setting.hands",
                "setting.busy_timeout",
                ":10: setting.busy_timeout: an engine has a setting of this name",
            ),
            ("[driver.dwarf]", "[driver.Dwarf]", ":20: driver.Dwarf: a driver's name has"),
            ("'dwarf'", "'../dwarf'", ":24: driver.dwarf.program: a program is the name of a file"),
            ("dialect = 'mariadb'", "dialect = 'http'", ":25: driver.dwarf.dialect: there is no engine `http`"),
            (
                "run = ['elf', '{home}/worker', '{driver}']\n",
                "",
                ":14: driver.elf-lite: there is no `program`, and the worker has no `run`",
            ),
            ("env = ", "evn = ", ":19: driver.elf-lite.evn: unknown field `evn`"),
            ("language = ", "langage = ", ":1: langage: unknown field `langage`"),
            ("engines = ['postgres']\n", "", ":20: driver.dwarf.engines: missing field `engines`"),
        ] {
            assert!(TEXT.contains(from), "{from}");
            let found = read_text(&TEXT.replace(from, to), Some("/here")).unwrap_err().to_string();
            assert!(found.starts_with(&format!("worker.toml{expected}")), "{expected}\n{found}");
        }
    }
}
