<?php
// Prepared statements of MariaDB that a replay must repeat. mariadb_again.php PORT
mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
$db = new mysqli('127.0.0.1', 'me', 'geheim', 'shop', (int) $argv[1]);
$db->set_charset('utf8mb4');
$insert = $db->prepare('INSERT INTO event (account, note, data, at, amount) VALUES (?, ?, ?, ?, ?)');
foreach (range(1, 10) as $i) {
    $insert->execute([$i, "it's \\ é $i", "\xff\0" . $i, "2026-11-28 12:00:0$i", $i / 8]);
}
try {
    $insert->execute([999, null, null, null, null]);
    exit(1);
} catch (mysqli_sql_exception $why) {
    $why->getCode() === 1452 || exit(2);
}
try {
    $db->prepare('SELECT missing FROM account WHERE id = ?');
    exit(3);
} catch (mysqli_sql_exception $why) {
    $why->getCode() === 1054 || exit(4);
}
$large = $db->prepare('UPDATE account SET large = ? WHERE id = 3');
$large->execute(['18446744073709551615']);
$found = $db->prepare('SELECT id FROM event WHERE account < ?');
$found->execute([5]);
$found->get_result()->num_rows > 3 || exit(5);
