"""A Django project in one file: `project.py DATABASE COMMAND...`. DATABASE is a file, or a port of PostgreSQL."""

import datetime
import decimal
import sys

import django
from django.conf import settings

database = {"ENGINE": "django.db.backends.sqlite3", "NAME": sys.argv[1]}
if sys.argv[1].isdigit():
    server = {"NAME": "postgres", "USER": "me", "PASSWORD": "geheim", "HOST": "127.0.0.1", "PORT": sys.argv[1]}
    database = {"ENGINE": "django.db.backends.postgresql", **server}
apps = ["admin", "auth", "contenttypes", "messages", "sessions"]
settings.configure(
    DATABASES={"default": database},
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    INSTALLED_APPS=["shop", *(f"django.contrib.{app}" for app in apps)],
    SECRET_KEY="of a test",
    USE_TZ=True,
)
django.setup()

from django.contrib.auth.models import Group, User  # noqa: E402
from django.core.management import call_command  # noqa: E402
from shop.models import Item, Tag  # noqa: E402


def fill():
    User.objects.create_superuser("eve", "eve@example.org", "pw")
    Group.objects.create(name="staff")
    tags = [Tag.objects.create(name=f"tag {i}") for i in range(5)]
    parent = None
    for i in range(200):
        item = Item.objects.create(
            title=f"Item {i}",
            price=decimal.Decimal(i * 199) / 100,
            weight=i / 7,
            active=i % 3 > 0,
            day=datetime.date(2024, 1, 1) + datetime.timedelta(i),
            at=datetime.time(i % 24, i % 60),
            took=datetime.timedelta(seconds=i),
            data={"i": i, "list": [1, None, "ü"]},
            raw=bytes([i, 0, 255]),
            ip=f"10.0.0.{i}",
            parent=parent,
        )
        item.tags.set(tags[: i % 5])
        parent = item if i % 10 == 0 else parent


def more():
    """New rows, by Django's own backend; the keys they got."""
    print(Group.objects.create(name="more").pk, Tag.objects.create(name="more").pk)


if sys.argv[2] == "fill":
    fill()
elif sys.argv[2] == "more":
    more()
else:
    call_command(*sys.argv[2:])
