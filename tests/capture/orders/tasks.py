"""What the shop does later, with huey: mails and invoices."""

import os
import time
import urllib.request

from huey import SqliteHuey
from models import PLACE, Invoice, Mail, Order, Product, create_app, db

huey = SqliteHuey("shop", filename=f"{PLACE}/huey.db", results=False)
app = create_app()


def registered(order):
    """The number that the tax office gives to an invoice. Its service is sometimes slow."""
    with urllib.request.urlopen(f"{os.environ['TAX']}/register?order={order}") as answer:
        return answer.read().decode()


@huey.task(retries=2, retry_delay=1)
def send_mail(number):
    with app.app_context():
        order = db.session.get(Order, number)
        time.sleep(0.05)  # The mail server.
        db.session.add(Mail(order_id=order.id, body=f"Thank you for your order {number}"))
        db.session.commit()


@huey.task(retries=2, retry_delay=1)
def make_invoice(number):
    with app.app_context():
        order = db.session.get(Order, number)
        price = db.session.get(Product, order.product_id).price
        if "SHORT" in os.environ:
            db.session.commit()
            reference = registered(number)
            db.session.add(Invoice(order_id=number, amount=price, tax_ref=reference))
            db.session.get(Order, number).state = "invoiced"
        else:
            invoice = Invoice(order_id=order.id, amount=price)
            db.session.add(invoice)
            db.session.flush()  # For its number.
            invoice.tax_ref = registered(invoice.id)
            order.state = "invoiced"
        db.session.commit()
