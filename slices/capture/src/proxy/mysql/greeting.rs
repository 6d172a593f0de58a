//! The server's greeting and the client's answer: what the proxy does not read is taken out of what the server offers.

use super::packet::Fields;

/// Capabilities of the protocol.
mod can {
    /// Absent: the server is MariaDB and has further ones.
    pub const MYSQL: u32 = 1;
    pub const FOUND_ROWS: u32 = 1 << 1;
    pub const CONNECT_WITH_DB: u32 = 1 << 3;
    pub const COMPRESS: u32 = 1 << 5;
    pub const IGNORE_SPACE: u32 = 1 << 8;
    pub const PROTOCOL_41: u32 = 1 << 9;
    pub const TLS: u32 = 1 << 11;
    pub const SECURE_CONNECTION: u32 = 1 << 15;
    pub const CONNECT_ATTRIBUTES: u32 = 1 << 20;
    pub const LONG_AUTHENTICATION: u32 = 1 << 21;
    pub const PLUGIN: u32 = 1 << 19;
    pub const DEPRECATE_EOF: u32 = 1 << 24;
    pub const OPTIONAL_METADATA: u32 = 1 << 25;
    pub const ZSTD: u32 = 1 << 26;
    pub const QUERY_ATTRIBUTES: u32 = 1 << 27;
    pub const PROGRESS: u32 = 1 << 29;

    /// Those that change the form of messages in ways that are not read. All of MariaDB's further ones do, or may later.
    pub const UNREAD: u32 = COMPRESS | TLS | OPTIONAL_METADATA | ZSTD | QUERY_ATTRIBUTES | PROGRESS;
    /// Those that decide how rows are counted and how texts are read.
    pub const OF_RESULTS: u32 = FOUND_ROWS | IGNORE_SPACE;
}

/// Length of a request for TLS: the beginning of a login.
const TLS_REQUEST: usize = 32;

/// The server, by its greeting.
#[derive(Debug, PartialEq)]
pub struct Greeting {
    pub version: String,
    pub offers_tls: bool,
    pub deprecates_eof: bool,
}

/// Takes out of a greeting what is not read. `None`: it is something else, such as an error.
pub fn reduce(body: &mut [u8]) -> Option<Greeting> {
    // Behind the version: a number, the first part of the challenge, and a zero.
    const CHALLENGE: usize = 4 + 8 + 1;
    let mut fields = Fields(body);
    if fields.u8()? != 10 {
        return None;
    }
    let version = String::from_utf8_lossy(fields.text()?).into_owned();
    fields.bytes(CHALLENGE)?;
    let at = body.len() - fields.0.len();
    // Two bytes, the encoding and the status, two bytes, the length of the challenge, six zeros, MariaDB's further ones.
    let (low, high, further) = (at, at + 5, at + 14);
    if body.len() < further + 4 {
        return None;
    }
    let all = u32::from_le_bytes([body[low], body[low + 1], body[high], body[high + 1]]);
    let [a, b, c, d] = (all & !can::UNREAD).to_le_bytes();
    (body[low], body[low + 1], body[high], body[high + 1]) = (a, b, c, d);
    if all & can::MYSQL == 0 {
        body[further..further + 4].fill(0);
    }
    let offers = |what: u32| all & what != 0;
    Some(Greeting { version, offers_tls: offers(can::TLS), deprecates_eof: offers(can::DEPRECATE_EOF) })
}

/// The answer of a client to the greeting.
#[derive(Debug, PartialEq)]
pub enum Answer {
    Login(Login),
    /// It wants TLS although it is not offered.
    Tls,
    /// Bytes of another protocol, or of an older one.
    Other,
}

/// A client's login, without its password.
#[derive(Debug, PartialEq)]
pub struct Login {
    pub user: String,
    pub database: String,
    /// Empty if the client does not name itself.
    pub program: String,
    /// Number of a collation.
    pub collation: u16,
    pub deprecates_eof: bool,
    /// Capabilities that change results.
    pub flags: u32,
}

/// Reads an answer. Some clients claim what was not offered, and do not use it: the claim is taken out, because the
/// server would believe it.
pub fn answer(body: &mut [u8]) -> Answer {
    const FURTHER: std::ops::Range<usize> = 28..32;
    let all = Fields(body).u32();
    if let Some(all) = all.filter(|all| all & can::PROTOCOL_41 != 0 && body.len() > TLS_REQUEST) {
        body[..4].copy_from_slice(&(all & !(can::UNREAD & !can::TLS)).to_le_bytes());
        if all & can::MYSQL == 0 {
            body[FURTHER].fill(0);
        }
    }
    match all {
        Some(all) if all & can::TLS != 0 && body.len() == TLS_REQUEST => Answer::Tls,
        Some(all) if all & can::PROTOCOL_41 != 0 => login(body, all).map_or(Answer::Other, Answer::Login),
        _ => Answer::Other,
    }
}

fn login(body: &[u8], all: u32) -> Option<Login> {
    let mut fields = Fields(body);
    fields.bytes(8)?;
    let collation = u16::from(fields.u8()?);
    fields.bytes(23)?;
    let user = text(fields.text()?);
    // The answer to the challenge.
    match all {
        _ if all & can::LONG_AUTHENTICATION != 0 => drop(fields.counted()?),
        _ if all & can::SECURE_CONNECTION != 0 => {
            let length = fields.u8()?;
            fields.bytes(usize::from(length))?;
        }
        _ => drop(fields.text()?),
    }
    let database = if all & can::CONNECT_WITH_DB == 0 { String::new() } else { text(fields.text()?) };
    // Servers do not insist on what follows.
    if all & can::PLUGIN != 0 && fields.text().is_none() {
        fields = Fields(b"");
    }
    let mut program = String::new();
    if all & can::CONNECT_ATTRIBUTES != 0 {
        let mut pairs = Fields(fields.counted().unwrap_or_default());
        while let (Some(name), Some(value)) = (pairs.counted(), pairs.counted()) {
            if name == b"program_name" {
                program = text(value);
            }
        }
    }
    let deprecates_eof = all & can::DEPRECATE_EOF != 0;
    Some(Login { user, database, program, collation, deprecates_eof, flags: all & can::OF_RESULTS })
}

/// The database and the collation of a change of the user; the password is passed over.
pub fn change(body: &[u8]) -> Option<(String, u16)> {
    let mut fields = Fields(body);
    fields.text()?;
    let length = fields.u8()?;
    fields.bytes(usize::from(length))?;
    let database = text(fields.text()?);
    Some((database, fields.u16().unwrap_or(0)))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Whether bytes of longer characters can look like quotes or backslashes: Big5, GBK, GB18030, Shift JIS.
pub fn is_unsafe(collation: u16) -> bool {
    // MariaDB's collations without padding have 1024 added.
    matches!(collation % 1024, 1 | 13 | 28 | 84 | 87 | 88 | 95 | 96 | 248..=250)
}

/// The server's form of an error before the login.
pub fn refusal(number: u16, text: &str) -> Vec<u8> {
    let body = [&[0xff][..], &number.to_le_bytes(), b"#08004", text.as_bytes()].concat();
    let length = u32::try_from(body.len()).unwrap_or(0).to_le_bytes();
    [&length[..3], &[0], &body].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn greeting(low: u32) -> Vec<u8> {
        let [a, b, c, d] = (low | can::UNREAD | can::PLUGIN).to_le_bytes();
        let head = [&b"\x0a5.5.5-10.11.6-MariaDB\0"[..], &[7; 12], &[0], &[a, b, 45, 2, 0, c, d, 21]].concat();
        [&head[..], &[0; 6], &[255; 4], b"twelve bytes\0mysql_native_password\0"].concat()
    }

    #[test]
    fn what_is_not_read_is_not_offered() {
        let mut body = greeting(can::PROTOCOL_41);
        let before = body.clone();
        let found = reduce(&mut body).expect("a greeting");
        assert_eq!(
            found,
            Greeting { version: "5.5.5-10.11.6-MariaDB".into(), offers_tls: true, deprecates_eof: false }
        );
        assert_eq!(body.len(), before.len());
        let again = reduce(&mut body.clone()).expect("a greeting");
        assert!(!again.offers_tls && body.windows(6).any(|part| part == [0; 6]) && !body.contains(&255));
        let changed = body.iter().zip(&before).filter(|(now, before)| now != before).count();
        assert_eq!(changed, 7, "three bytes of the capabilities, and four of MariaDB's");
        let mut of_mysql = greeting(can::MYSQL);
        reduce(&mut of_mysql).expect("a greeting");
        assert!(of_mysql.contains(&255), "reserved bytes of MySQL stay");
        for end in 0..before.len() {
            reduce(&mut before[..end].to_vec());
        }
        assert!(reduce(&mut b"\xff\x10\x04Too many connections".to_vec()).is_none());
    }

    #[test]
    fn a_login_is_read_without_its_password() {
        let all = can::PROTOCOL_41 | can::SECURE_CONNECTION | can::CONNECT_WITH_DB | can::CONNECT_ATTRIBUTES;
        let head = [&all.to_le_bytes()[..], &[0; 4], &[45], &[0; 23]].concat();
        let body = [&head[..], b"me\0\x03pwdshop\0\x12\x0cprogram_name\x04shop"].concat();
        let Answer::Login(found) = answer(&mut body.clone()) else { panic!("no login") };
        let names = (found.user.as_str(), found.database.as_str(), found.program.as_str());
        assert_eq!((names, found.collation), (("me", "shop", "shop"), 45));
        let with_plugin = [&(all | can::PLUGIN).to_le_bytes()[..], &head[4..], b"me\0\x03pwdshop\0native"].concat();
        assert!(matches!(answer(&mut with_plugin.clone()), Answer::Login(_)), "a last name without its NUL");
        let mut claims = body.clone();
        claims[3] |= 8;
        assert!(matches!(answer(&mut claims), Answer::Login(_)) && claims == body, "attributes of queries");
        for end in 0..body.len() {
            assert!(!matches!(answer(&mut body[..end].to_vec()), Answer::Tls));
        }
        let mut tls = [&(all | can::TLS).to_le_bytes()[..], &[0; 28]].concat();
        assert_eq!((answer(&mut tls), answer(&mut b"GET / HTTP/1.1\r\n".to_vec())), (Answer::Tls, Answer::Other));
        assert_eq!(change(b"me\0\x02pwshop\0\x1c\0rest"), Some(("shop".into(), 28)));
        assert!(is_unsafe(28) && is_unsafe(1024 + 13) && !is_unsafe(45));
    }
}
