<?php
// The two ways of PHP to SQLite.
$pdo = new PDO("sqlite:" . $argv[1]);
$pdo->exec("CREATE TABLE thing (id INTEGER PRIMARY KEY, name TEXT)");
$insert = $pdo->prepare("INSERT INTO thing (name) VALUES (?)");
for ($i = 0; $i < 30; $i++) $insert->execute(["secret-$i"]);
$other = new SQLite3($argv[1]);
$select = $other->prepare("SELECT name FROM thing WHERE id = :id");
for ($i = 1; $i <= 20; $i++) {
    $select->bindValue(":id", $i);
    $select->execute()->fetchArray();
}
echo SQLite3::version()["versionString"], "\n";
