<?php
// A program for both extensions of PHP: 20 INSERTs with bound values in a transaction, 10 SELECTs.
[, $kind, $path] = $argv;
$db = $kind === 'pdo' ? new PDO("sqlite:$path") : new SQLite3($path);
$db->exec('CREATE TABLE thing (id INTEGER PRIMARY KEY, name TEXT)');
$db->exec('BEGIN');
$insert = $db->prepare('INSERT INTO thing (name) VALUES (?)');
for ($i = 0; $i < 20; $i++) {
    $insert->bindValue(1, "thing $i");
    $insert->execute();
    $kind === 'pdo' || $insert->reset();
}
$db->exec('COMMIT');
for ($i = 1; $i <= 10; $i++) {
    $kind === 'pdo'
        ? $db->query("SELECT name FROM thing WHERE id = $i")->fetchAll()
        : $db->querySingle("SELECT name FROM thing WHERE id = $i");
}
$version = 'SELECT sqlite_version()';
echo $kind === 'pdo' ? $db->query($version)->fetchColumn() : $db->querySingle($version), "\n";
sleep(1);
