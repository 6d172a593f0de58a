<?php
// A client of MariaDB in PHP. mariadb.php PORT: prepared statements with values, long data, cursors, a new user.
mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
$db = new mysqli('127.0.0.1', 'me', 'geheim', 'shop', (int) $argv[1]);
$db->query('CREATE TABLE note (id bigint PRIMARY KEY, body text, price double, extra longblob)');
$insert = $db->prepare('INSERT INTO note VALUES (?, ?, ?, ?)');
for ($id = 0; $id < 25; $id++) {
    [$body, $price, $extra] = ["secret-note", $id / 4, null];
    $insert->bind_param('isdb', $id, $body, $price, $extra);
    if ($id % 5 == 0) {
        $insert->send_long_data(3, 'secret-long');
        $insert->send_long_data(3, '-data');
    }
    $insert->execute();
}
$id = 1;
try {
    $insert->execute();
    exit(1);
} catch (mysqli_sql_exception $why) {
    if ($why->getCode() != 1062) {
        exit(2);
    }
}
$insert->close();
$db->begin_transaction();
$update = $db->prepare('UPDATE note SET body = ? WHERE id < ?');
[$body, $id] = ['secret-update', 10];
$update->bind_param('si', $body, $id);
$update->execute();
$db->commit();
$select = $db->prepare('SELECT id FROM note ORDER BY id');
$select->attr_set(MYSQLI_STMT_ATTR_CURSOR_TYPE, MYSQLI_CURSOR_TYPE_READ_ONLY);
$select->attr_set(MYSQLI_STMT_ATTR_PREFETCH_ROWS, 1);
$select->execute();
$select->bind_result($id);
for ($rows = 0; $select->fetch(); $rows++);
$select->close();
if ($rows != 25) {
    exit(3);
}
$db->query('START TRANSACTION');
$db->query('DELETE FROM note WHERE id = 3');
$db->change_user('me', 'geheim', 'mysql');
if ($db->query('SELECT count(*) FROM shop.note')->fetch_row()[0] != 25) {
    exit(4);
}
$db->close();
$pdo = new PDO("mysql:host=127.0.0.1;port=$argv[1];dbname=shop", 'me', 'geheim', [PDO::ATTR_EMULATE_PREPARES => false]);
for ($id = 0; $id < 7; $id++) {
    $select = $pdo->prepare('SELECT body, price FROM note WHERE id = ?');
    $select->execute([$id]);
    if (count($select->fetchAll()) != 1) {
        exit(5);
    }
}
