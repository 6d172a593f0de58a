//! Addresses of services over HTTP.

/// Checks the address of a service. The error does not show an address that may contain a password.
///
/// # Errors
/// The reason, and how to correct it.
pub fn check_url(url: &str) -> Result<(), String> {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let (place, path) = rest.split_once(['/', '?', '#']).unwrap_or((rest, ""));
    // A password may contain a slash.
    if rest.contains('@') {
        return Err("an address has no user or password, as it is part of every record; log in with a request of the \
                    scenario, and see \"Passwords\" in docs/http.md"
            .to_string());
    }
    if scheme != "http" && scheme != "https" {
        return Err(format!("{url}: an address is http://HOST:PORT or https://HOST:PORT"));
    }
    if let Some((_, port)) = place.rsplit_once(':').filter(|(_, port)| !port.contains(']'))
        && !port.parse::<u16>().is_ok_and(|port| port > 0)
    {
        return Err(format!("{url}: a port is a number from 1 to 65535, not `{port}`"));
    }
    let trailing = rest.len() - place.len() <= 1 && !rest.ends_with(['?', '#']);
    let nameless = place.is_empty() || place.starts_with(':');
    if nameless || !path.is_empty() || !trailing || place.contains(char::is_whitespace) {
        return Err(format!("{url}: an address is http://HOST:PORT; paths belong to the scenario's requests"));
    }
    Ok(())
}

/// The first name in the query of an address that says that its value is secret.
pub fn secret_in_query(address: &str) -> Option<&str> {
    const SECRET: [&str; 6] = ["key", "token", "secret", "password", "passwd", "pwd"];
    let (_, query) = address.split_once('?')?;
    let names = query.split('&').filter_map(|pair| Some(pair.split_once('=')?.0));
    let is_secret = |name: &&str| SECRET.iter().any(|word| name.to_ascii_lowercase().ends_with(word));
    names.into_iter().find(is_secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_in_a_query_is_found_by_its_name() {
        for (address, found) in [
            ("http://a/items?page=1&api_key=x", Some("api_key")),
            ("http://a/items?accessToken=x", Some("accessToken")),
            ("http://a/items?page=1&keyword=x&token", None),
            ("http://a/password=x", None),
        ] {
            assert_eq!(secret_in_query(address), found, "{address}");
        }
    }

    #[test]
    fn addresses_are_host_and_port_and_nothing_secret() {
        for url in ["http://127.0.0.1:80", "http://[::1]:80/", "http://[::1]", "http://localhost", "https://a"] {
            assert_eq!(check_url(url), Ok(()));
        }
        for (url, said) in [
            ("http://eve:geheim@a:80", "no user or password"),
            ("https://eve:ge/heim@a:80", "no user or password"),
            ("eve:geheim@a", "no user or password"),
            ("a:80", "http://HOST:PORT"),
            ("http://", "http://HOST:PORT"),
            ("http://a/b", "paths belong"),
            ("http://a?", "paths belong"),
            ("http://a b", "http://HOST:PORT"),
            ("http://:80", "http://HOST:PORT"),
            ("http://a:99999", "from 1 to 65535"),
            ("http://a:0", "from 1 to 65535"),
            ("http://a:", "from 1 to 65535"),
            ("http://[::1]:x", "from 1 to 65535"),
        ] {
            let error = check_url(url).unwrap_err();
            assert!(error.contains(said) && !error.contains("heim"), "{url}: {error}");
        }
    }
}
