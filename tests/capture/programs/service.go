// A service in Go: notes over HTTP, with database/sql and its pool of connections.
package main

import (
	"database/sql"
	"encoding/json"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	_ "github.com/mattn/go-sqlite3"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	db, err := sql.Open("sqlite3", "file:notes.db?_busy_timeout=5000&_journal_mode=WAL&_txlock=immediate")
	must(err)
	_, err = db.Exec("CREATE TABLE IF NOT EXISTS note (id INTEGER PRIMARY KEY, author TEXT NOT NULL, body TEXT NOT NULL);" +
		"CREATE TABLE IF NOT EXISTS author (name TEXT PRIMARY KEY, notes INTEGER NOT NULL)")
	must(err)
	http.HandleFunc("POST /notes", func(w http.ResponseWriter, r *http.Request) {
		tx, err := db.BeginTx(r.Context(), nil)
		must(err)
		defer tx.Rollback()
		_, err = tx.Exec("INSERT INTO note (author, body) VALUES (?, ?)", r.FormValue("author"), r.FormValue("body"))
		must(err)
		_, err = tx.Exec("INSERT INTO author VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET notes = notes + 1", r.FormValue("author"))
		must(err)
		must(tx.Commit())
	})
	http.HandleFunc("GET /notes/{author}", func(w http.ResponseWriter, r *http.Request) {
		rows, err := db.Query("SELECT id, body FROM note WHERE author = ? ORDER BY id DESC LIMIT 20", r.PathValue("author"))
		must(err)
		defer rows.Close()
		found := map[int64]string{}
		for rows.Next() {
			var id int64
			var body string
			must(rows.Scan(&id, &body))
			found[id] = body
		}
		must(json.NewEncoder(w).Encode(found))
	})
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	go func() { must(http.ListenAndServe(os.Args[1], nil)) }()
	<-end
	must(db.Close())
}
