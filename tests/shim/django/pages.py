"""What a project shows: `pages.py fill` makes rows, `read` prints pages, `write` changes rows through pages and the ORM,
`rows` prints all tables, `functions` compares what Django's functions in SQL return."""

import os
import sys

os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
import django  # noqa: E402

django.setup()

import datetime  # noqa: E402
import decimal  # noqa: E402
import re  # noqa: E402
import uuid  # noqa: E402

from django.contrib.admin.models import LogEntry  # noqa: E402
from django.contrib.auth.hashers import make_password  # noqa: E402
from django.contrib.auth.models import User  # noqa: E402
from django.db import IntegrityError, OperationalError, connection, transaction  # noqa: E402
from django.test import Client  # noqa: E402
from shop.models import Author, Book, Order, Tag  # noqa: E402


LONG_AGO = datetime.datetime(2024, 5, 1, tzinfo=datetime.UTC)


def fill():
    eve = User.objects.create_superuser("eve", "eve@example.org", "pw")
    # The admin shows when a user came, and the salt of the password.
    User.objects.filter(pk=eve.pk).update(date_joined=LONG_AGO, password=make_password("pw", "salt"))
    authors = Author.objects.bulk_create(
        Author(name=f"Author {i}", born=datetime.date(1900 + i, 1, 1)) for i in range(8)
    )
    tags = [Tag.objects.create(name=f"tag-{i}") for i in range(4)]
    before = None
    for i in range(60):
        book = Book.objects.create(
            title=f"Book {i:02} of Ünï" if i % 9 else f"100%_{i}",
            author=authors[i % 7],
            key=uuid.UUID(int=i),
            price=decimal.Decimal(i * 199) / 100,
            weight=i / 7 if i % 5 else None,
            active=i % 3 > 0,
            published=datetime.datetime(2022, 12, 28, 22, 30, 5, tzinfo=datetime.UTC) + datetime.timedelta(days=i * 11, microseconds=i),
            reading=datetime.timedelta(minutes=i * 7) if i % 2 else None,
            data={"i": i, "list": [1, None, "ü"], "of": {"x": i / 4}},
            cover=bytes([i, 0, 255]),
            stock=i % 9,
            sequel_of=before,
        )
        book.tags.set(tags[: i % 4])
        before = book if i % 6 == 0 else before


def client():
    c = Client()
    eve = User.objects.filter(username="eve")
    c.force_login(eve.get())
    # The pages must not show when they were read.
    eve.update(last_login=LONG_AGO)
    return c


def show(c, url):
    answer = c.get(url)
    # A token is drawn for each page.
    body = re.sub(r'(csrfmiddlewaretoken" value=")[^"]*', r"\1", answer.content.decode())
    print(f"=== {url} {answer.status_code} {answer.headers.get('Location', '')}\n{body}")


def read():
    c = client()
    for url in (
        "/ /?page=2 /?page=9 /books/1/ /books/7/ /books/999/ /search/?q=BOOK+1 /search/?q=%25_ /search/?q=author+3 /report/ "
        "/admin/ /admin/shop/ /admin/shop/book/ /admin/shop/book/?q=Book+1&active__exact=1 /admin/shop/book/?o=-3.1&p=1 "
        "/admin/shop/book/?published__year=2023&published__month=4 /admin/shop/book/3/change/ /admin/shop/book/3/delete/ "
        "/admin/shop/book/3/history/ /admin/shop/author/?q=3 /admin/shop/author/8/delete/ /admin/shop/order/ "
        "/admin/auth/user/ /admin/auth/user/1/change/ /admin/auth/group/add/"
    ).split():
        show(c, url)


def post(c, url, data):
    answer = c.post(url, data)
    said = answer.content.decode() if answer.headers["Content-Type"] == "application/json" else ""
    errors = re.findall(r'errorlist[^>]*>(.*?)</ul>', answer.content.decode(), re.S)
    print(f"=== POST {url} {answer.status_code} {answer.headers.get('Location', '')} {said}{errors}")


def write():
    c = client()
    post(c, "/order/", {"item": ["2:1", "3:3", "5:2", "3:1", "999:1"]})
    post(c, "/admin/shop/author/add/", {"name": "Zoë", "born": "1970-02-03"})
    post(c, "/admin/shop/author/add/", {"name": "Zoë", "born": ""})
    post(c, "/admin/shop/tag/add/", {"name": "new"})
    book = Book.objects.get(pk=4)
    form = {
        "title": "Changed", "author": "9", "key": str(book.key), "price": "12.50", "weight": "1.5", "active": "on",
        "published_0": "2024-02-29", "published_1": "12:34:56", "reading": "1 02:03:04", "data": '{"a": [1, 2.5, null]}',
        "stock": "4", "tags": ["1", "5"], "sequel_of": "1",
    }
    post(c, "/admin/shop/book/4/change/", form)
    post(c, "/admin/shop/book/4/change/", {**form, "price": "-1"})
    post(c, "/admin/shop/book/add/", {**form, "title": "Added", "key": str(uuid.UUID(int=1000))})
    post(c, "/admin/shop/book/12/delete/", {"post": "yes"})
    post(c, "/admin/shop/book/", {"action": "delete_selected", "_selected_action": ["13", "14"], "post": "yes"})
    with transaction.atomic():
        outer = Tag.objects.create(name="outer")
        with transaction.atomic():
            Tag.objects.create(name="inner")
            transaction.set_rollback(True)
        print(Tag.objects.get_or_create(name="outer")[1], Tag.objects.update_or_create(name="outer", defaults={"name": "out"})[1])
    # PostgreSQL's counters do not take keys back: no row is made behind one that is undone.
    for name, wrong in (
        ("unique", lambda: Author.objects.create(name="Author 1")),
        ("check", lambda: Book.objects.filter(pk=1).update(price=-1)),
        ("stock", lambda: Book.objects.filter(pk=1).update(stock=-1)),
        ("null", lambda: Author.objects.create(name=None)),
        ("active", lambda: Book.objects.filter(pk=5).update(title="Book 01 of Ünï")),
    ):
        try:
            with transaction.atomic():
                Tag.objects.create(name=f"undone-{name}")
                wrong()
        except IntegrityError as e:
            print(name, type(e).__name__)
    try:
        with transaction.atomic():
            Order.objects.create(book_id=777, count=1, at=LONG_AGO)
    except IntegrityError as e:
        print("reference", e)
    print(outer.pk, sorted(Tag.objects.values_list("name", flat=True)), Author.objects.count(), Book.objects.count())
    # The pages must not show when they were written.
    for entry in LogEntry.objects.all():
        LogEntry.objects.filter(pk=entry.pk).update(action_time=LONG_AGO + datetime.timedelta(minutes=entry.pk))


def rows():
    """All rows of all tables but two: a session's key is drawn, and migrations have the time at which they ran."""
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            if table not in ("django_session", "django_migrations"):
                cursor.execute(f'SELECT * FROM "{table}"')
                found = sorted(cursor.fetchall(), key=repr)
                print(table, [column[0] for column in cursor.description], *found, sep="\n")


def functions():
    """What Django's functions return for moments and numbers from a table."""
    moments = ["2024-02-29 23:59:59.999999", "2023-01-01 00:00:00", "2021-01-03 12:30:05.5", "1999-12-31 01:02:03.000001"]
    moments += ["0999-07-04 10:00:00", "2020-12-28", "2026-01-01", "9999-12-31", None]
    times = ["00:00:00", "23:59:59.999999", "12:34:56.5", None]
    parts = "year iso_year quarter month week week_day iso_week_day day hour minute second microsecond".split()
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE moments (id integer PRIMARY KEY, m datetime, t time)")
        for at in range(len(moments)):
            time = times[at] if at < len(times) else None
            cursor.execute("INSERT INTO moments VALUES (%s, %s, %s)", [at, moments[at], time])

        def show(call, values, where="1 = 1"):
            try:
                cursor.execute(f"SELECT {call} FROM moments WHERE {where} ORDER BY id", values)
                print(call, values, cursor.fetchall())
            except OperationalError:
                print(call, values, "fails")

        whole, date = "length(m) > 10", "length(m) = 10"
        for part in parts:
            for zone in (None, "UTC"):
                show("django_datetime_extract(%s, m, %s, %s)", [part, zone, zone], whole)
                show("django_datetime_trunc(%s, m, %s, %s)", [part, zone, zone], whole)
                show("django_date_trunc(%s, m, %s, %s)", [part, zone, zone], whole)
                show("django_date_trunc(%s, m, %s, %s)", [part, zone, zone], date)
                show("django_datetime_trunc(%s, m, %s, %s)", [part, zone, zone], date)
                show("django_time_trunc(%s, t, %s, %s)", [part, zone, zone], "t IS NOT NULL")
                show("django_time_trunc(%s, m, %s, %s)", [part, zone, zone], whole)
            show("django_date_extract(%s, m)", [part], date)
            show("django_date_extract(%s, m)", [part], whole)
            show("django_time_extract(%s, t)", [part], "t IS NOT NULL")
        for zone in (None, "UTC"):
            show("django_datetime_cast_date(m, %s, %s), django_datetime_cast_time(m, %s, %s)", [zone] * 4, whole)
            show("django_datetime_cast_time(m, %s, %s)", [zone] * 2, date)
            show("django_datetime_cast_date(m, %s, %s)", [zone] * 2, "m IS NULL")
        show("django_time_diff(t, '01:02:03.000004'), django_time_diff('01:02:03.000004', t)", [])
        show("django_timestamp_diff(m, '2001-02-03 04:05:06.789012')", [], whole)
        show("django_timestamp_diff('2001-02-03', m)", [], date)
        show("django_timestamp_diff('2001-02-03', m)", [], whole)
        show("LPAD(m, 30, 'xy'), RPAD(m, 12, 'ä'), LPAD(m, -3, 'x'), REPEAT(m, 2), REVERSE(m), MD5(m), SHA224(m), SHA256(m), SHA384(m), SHA512(m)", [])
        show("SIGN(id - 2), BITXOR(id, 5), COT(id + 1)", [])
        show("SQRT(id), POWER(id, 3), CEILING(id / 2.0), FLOOR(id), MOD(id, 3), LN(id), LOG(2, id), DEGREES(id), ACOS(id), PI()", [])
        # Python reads these, the server does not.
        for call in ("django_datetime_trunc('day', m, 'Europe/Berlin', 'UTC')", "django_date_extract('day', '2024-2-3')"):
            try:
                cursor.execute(f"SELECT {call} FROM moments WHERE id < 4")
                is_read = True
            except OperationalError:
                is_read = False
            assert is_read == ("CONTEND_SHIM" not in os.environ), call


{"fill": fill, "read": read, "write": write, "rows": rows, "functions": functions}[sys.argv[1]]()
