<?php
// Addresses of servers: docs/formats.md, Address of a server. They carry no password, only where one is found.

declare(strict_types=1);

final class Address
{
    public string $user;
    public string $database;
    public string $host = '';
    public int $port;
    /** The path of the socket itself. */
    public ?string $socket = null;
    public ?string $password = null;

    public function __construct(string $text, string $scheme, int $port)
    {
        if (!str_starts_with($text, "$scheme://")) {
            throw new FormatError("the address of this driver's server begins with $scheme://");
        }
        [$rest, $query] = explode('?', substr($text, strlen($scheme) + 3), 2) + [1 => ''];
        [$place, $database] = explode('/', $rest, 2) + [1 => ''];
        $at = strrpos($place, '@');
        if ($at === false || $at === 0) {
            throw new FormatError('the address of a server names the user: SCHEME://USER@HOST:PORT/DATABASE');
        }
        $user = substr($place, 0, $at);
        if (str_contains($user, ':')) {
            throw new FormatError('the address of a server must not carry a password; password_file or password_env say where it is');
        }
        [$this->user, $this->database, $this->port] = [self::decode($user), self::decode($database), $port];
        foreach (array_filter(explode('&', $query), fn ($pair) => $pair !== '') as $pair) {
            [$key, $value] = explode('=', $pair, 2) + [1 => ''];
            $this->parameter($key, self::decode($value));
        }
        if ($this->socket === null) {
            $this->place(substr($place, $at + 1));
        }
    }

    /** PHP would let a broken escape stand as it is, and another database be meant. */
    private static function decode(string $text): string
    {
        if (preg_match('/%(?![0-9A-Fa-f]{2})/', $text)) {
            throw new FormatError('a `%` in the address of a server without two hexadecimal digits after it');
        }
        $plain = rawurldecode($text);
        return preg_match('//u', $plain) ? $plain : throw new FormatError('the address of a server is not UTF-8');
    }

    private function parameter(string $key, string $value): void
    {
        switch ($key) {
            case 'socket':
                $this->socket = $value !== '' ? $value : throw new FormatError('socket= names no path');
                break;
            case 'password_file':
                if (!is_readable($value)) {
                    throw new FormatError("the password is to be in $value, which cannot be read");
                }
                $this->password = rtrim(explode("\n", file_get_contents($value), 2)[0], "\r");
                break;
            case 'password_env':
                $password = getenv($value);
                $this->password = $password !== false ? $password
                    : throw new FormatError("the password is to be in the variable $value, which is not set for the worker");
                break;
            default:
                throw new FormatError("`$key` is no part of a server's address; parts are socket, password_file and password_env");
        }
    }

    private function place(string $text): void
    {
        if (!preg_match('/\A(?:\[([^\]]*)\]|([^:]*))(?::([0-9]+))?\z/', $text, $found)) {
            throw new FormatError('the address of a server is not of the form SCHEME://USER@HOST:PORT/DATABASE');
        }
        $this->host = self::decode($found[1] !== '' ? $found[1] : $found[2]);
        if ($this->host === '') {
            throw new FormatError('the address of a server names a host or a socket');
        }
        if (isset($found[3])) {
            $this->port = number($found[3], 65535) ?: throw new FormatError('the port of the server is no number from 1 to 65535');
        }
    }
}
