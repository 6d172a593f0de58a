"""A small shop on Flask and SQLite, as many are written: one connection a request, BEGIN, read, decide, write.

`flask run` serves it, and so does `gunicorn -w 4 --threads 4 app:app`.
"""

import os
import sqlite3
import time

from flask import Flask, g, jsonify, request

app = Flask(__name__)
DATABASE = os.environ.get("SHOP", "shop.db")


def db():
    if "db" not in g:
        g.db = sqlite3.connect(DATABASE, isolation_level=None)
        g.db.row_factory = sqlite3.Row
    return g.db


@app.teardown_appcontext
def close(_):
    if "db" in g:
        g.db.close()


def prepare():
    con = sqlite3.connect(DATABASE)
    con.execute(
        "CREATE TABLE IF NOT EXISTS item"
        " (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price REAL NOT NULL, stock INTEGER NOT NULL)"
    )
    con.execute(
        "CREATE TABLE IF NOT EXISTS purchase"
        " (id INTEGER PRIMARY KEY, item INTEGER NOT NULL REFERENCES item (id), buyer TEXT NOT NULL)"
    )
    con.execute("CREATE INDEX IF NOT EXISTS purchase_item ON purchase (item)")
    if not con.execute("SELECT 1 FROM item").fetchone():
        goods = [(f"item {i}", i * 1.5, 1000) for i in range(1, 501)]
        con.executemany("INSERT INTO item (name, price, stock) VALUES (?, ?, ?)", goods)
    con.commit()
    con.close()


@app.get("/")
def index():
    rows = db().execute("SELECT id, name, price FROM item WHERE stock > 0 ORDER BY id LIMIT 20").fetchall()
    return jsonify([dict(row) for row in rows])


@app.get("/item/<int:item>")
def show(item):
    row = db().execute("SELECT * FROM item WHERE id = ?", (item,)).fetchone()
    if row is None:
        return "not found", 404
    sold = db().execute("SELECT count(*) FROM purchase WHERE item = ?", (item,)).fetchone()[0]
    return jsonify(dict(row, sold=sold))


@app.post("/buy/<int:item>")
def buy(item):
    con = db()
    con.execute("BEGIN")
    try:
        stock = con.execute("SELECT stock FROM item WHERE id = ?", (item,)).fetchone()["stock"]
        if stock < 1:
            con.execute("ROLLBACK")
            return "sold out", 409
        # Asks another service for the price.
        time.sleep(0.005)
        con.execute("UPDATE item SET stock = ? WHERE id = ?", (stock - 1, item))
        con.execute("INSERT INTO purchase (item, buyer) VALUES (?, ?)", (item, request.args["buyer"]))
        con.execute("COMMIT")
    except sqlite3.OperationalError:
        if con.in_transaction:
            con.execute("ROLLBACK")
        raise
    return "bought"


prepare()
