"""The pages of the shop."""

import tasks
from flask import jsonify, request
from models import Order, Product, create_app, db
from sqlalchemy import func, select, update

app = create_app()


@app.get("/products")
def products():
    found = db.session.execute(select(Product).order_by(Product.name).limit(20)).scalars()
    return jsonify([{"id": product.id, "name": product.name, "stock": product.stock} for product in found])


@app.get("/report")
def report():
    sums = select(Order.state, func.count(), func.sum(Product.price))
    sums = sums.join(Product, Product.id == Order.product_id).group_by(Order.state)
    return jsonify([list(row) for row in db.session.execute(sums)])


@app.post("/orders")
def order():
    product = int(request.form["product"])
    db.session.execute(update(Product).where(Product.id == product).values(stock=Product.stock - 1))
    made = Order(product_id=product, email=request.form["email"])
    db.session.add(made)
    db.session.commit()
    number = made.id
    tasks.send_mail(number)
    if number % 4 == 0:
        tasks.make_invoice(number)
    return jsonify(id=number)
