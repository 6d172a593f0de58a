<?php
$path = $argv[1];
$pdo = new PDO("sqlite:$path");
$pdo->setAttribute(PDO::ATTR_ERRMODE, PDO::ERRMODE_EXCEPTION);
$pdo->exec('CREATE TABLE thing (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, size REAL)');
$insert = $pdo->prepare('INSERT INTO thing (name, size) VALUES (:name, :size)');
foreach (['a' => 1.5, 'b' => null] as $name => $size) {
    $insert->execute([':name' => $name, ':size' => $size]);
    echo $pdo->lastInsertId(), "\n";
}
try {
    $insert->execute([':name' => 'a', ':size' => 1.5]);
} catch (PDOException $error) {
    echo $error->getMessage(), "\n";
}
foreach ($pdo->query('SELECT * FROM thing ORDER BY id', PDO::FETCH_ASSOC) as $row) {
    echo json_encode($row), "\n";
}
$pdo->beginTransaction();
echo $pdo->exec("UPDATE thing SET name = name || '!'"), "\n";
$pdo->rollBack();
echo $pdo->query('SELECT group_concat(name) FROM (SELECT name FROM thing ORDER BY id)')->fetchColumn(), "\n";
$pdo = null;
$db = new SQLite3($path);
$statement = $db->prepare('SELECT name FROM thing WHERE id = ?');
$statement->bindValue(1, 2, SQLITE3_INTEGER);
echo json_encode($statement->execute()->fetchArray(SQLITE3_NUM)), "\n";
$db->exec('DELETE FROM thing');
echo $db->changes(), ' ', json_encode($db->querySingle('SELECT count(*) AS n FROM thing', true)), "\n";
$db->close();
