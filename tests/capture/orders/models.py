"""Tables of the shop, with Flask-SQLAlchemy and its defaults. Variables of the environment change what contend predicts."""

import os

from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import event

db = SQLAlchemy()
PLACE = os.environ["SHOP"]


class Product(db.Model):
    id = db.Column(db.Integer, primary_key=True)
    name = db.Column(db.String(80), nullable=False)
    stock = db.Column(db.Integer, nullable=False)
    price = db.Column(db.Integer, nullable=False)


class Order(db.Model):
    __tablename__ = "orders"
    id = db.Column(db.Integer, primary_key=True)
    product_id = db.Column(db.ForeignKey("product.id"), nullable=False, index=True)
    email = db.Column(db.String(120), nullable=False)
    state = db.Column(db.String(16), nullable=False, default="new", index=True)


class Invoice(db.Model):
    id = db.Column(db.Integer, primary_key=True)
    order_id = db.Column(db.ForeignKey("orders.id"), nullable=False, index=True)
    amount = db.Column(db.Integer, nullable=False)
    tax_ref = db.Column(db.String(40))


class Mail(db.Model):
    id = db.Column(db.Integer, primary_key=True)
    order_id = db.Column(db.ForeignKey("orders.id"), nullable=False)
    body = db.Column(db.Text, nullable=False)


def create_app():
    app = Flask(__name__)
    app.config["SQLALCHEMY_DATABASE_URI"] = f"sqlite:///{PLACE}/shop.db"
    if "TIMEOUT" in os.environ:
        app.config["SQLALCHEMY_ENGINE_OPTIONS"] = {"connect_args": {"timeout": float(os.environ["TIMEOUT"])}}
    db.init_app(app)
    with app.app_context():

        @event.listens_for(db.engine, "connect")
        def _(connection, _record):
            if "WAL" in os.environ:
                connection.execute("PRAGMA journal_mode = WAL")
            if "IMMEDIATE" in os.environ:
                connection.isolation_level = "IMMEDIATE"

    return app


def fill():
    app = create_app()
    with app.app_context():
        db.create_all()
        db.session.add_all([Product(name=f"thing {i:03}", stock=1000, price=100 + i) for i in range(500)])
        db.session.commit()


if __name__ == "__main__":
    fill()
