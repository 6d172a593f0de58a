import java.sql.DriverManager;

/** A program for JDBC: 20 INSERTs with bound values in a transaction, 10 SELECTs. */
class Program {
    public static void main(String[] args) throws Exception {
        try (var db = DriverManager.getConnection("jdbc:sqlite:" + args[0])) {
            db.createStatement().execute("CREATE TABLE thing (id INTEGER PRIMARY KEY, name TEXT)");
            db.setAutoCommit(false);
            var insert = db.prepareStatement("INSERT INTO thing (name) VALUES (?)");
            for (int i = 0; i < 20; i++) {
                insert.setString(1, "thing " + i);
                insert.executeUpdate();
            }
            db.commit();
            var select = db.prepareStatement("SELECT name FROM thing WHERE id = ?");
            for (int i = 1; i <= 10; i++) {
                select.setInt(1, i);
                try (var rows = select.executeQuery()) {
                    while (rows.next()) {}
                }
            }
            var version = db.createStatement().executeQuery("SELECT sqlite_version()");
            version.next();
            System.out.println(version.getString(1));
            Thread.sleep(1000);
        }
    }
}
