// A program for each driver of Go: 20 INSERTs with bound values in a transaction, 10 SELECTs.
package main

import (
	"database/sql"
	"fmt"
	"os"
	"time"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	db, err := sql.Open(driver, os.Args[1])
	must(err)
	db.SetMaxOpenConns(1)
	_, err = db.Exec("CREATE TABLE thing (id INTEGER PRIMARY KEY, name TEXT)")
	must(err)
	tx, err := db.Begin()
	must(err)
	for i := range 20 {
		_, err = tx.Exec("INSERT INTO thing (name) VALUES (?)", fmt.Sprint("thing ", i))
		must(err)
	}
	must(tx.Commit())
	var name, version string
	for i := range 10 {
		must(db.QueryRow("SELECT name FROM thing WHERE id = ?", i+1).Scan(&name))
	}
	must(db.QueryRow("SELECT sqlite_version()").Scan(&version))
	fmt.Println(version)
	time.Sleep(time.Second)
}
