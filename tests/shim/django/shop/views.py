"""Pages that read in the ways of Django's ORM, and one that writes in a transaction."""

import datetime

from django.db import IntegrityError, transaction
from django.db.models import Avg, Count, Exists, F, Max, Min, OuterRef, Prefetch, Q, Subquery, Sum
from django.db.models.functions import Coalesce, ExtractYear, Length, Lower, TruncMonth, Upper
from django.http import HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.csrf import csrf_exempt

from .models import Author, Book, Order, Tag


def text(rows):
    return HttpResponse("".join(f"{row!r}\n" for row in rows), content_type="text/plain")


def index(request):
    page = int(request.GET.get("page", 1))
    books = Book.objects.filter(active=True).select_related("author").prefetch_related("tags")
    rows = [
        (b.pk, b.title, b.author.name, b.price, b.published, b.reading, [t.name for t in b.tags.all()])
        for b in books.order_by("-published", "pk")[(page - 1) * 10 : page * 10]
    ]
    return text([("books", books.count()), *rows])


def book(request, pk):
    b = get_object_or_404(Book.objects.prefetch_related(Prefetch("order_set", Order.objects.order_by("pk"))), pk=pk)
    fields = [(f.name, getattr(b, f.attname)) for f in Book._meta.concrete_fields]
    return text([*fields, *((o.count, o.at, o.note) for o in b.order_set.all())])


def search(request):
    word = request.GET.get("q", "")
    found = Book.objects.filter(Q(title__icontains=word) | Q(author__name__istartswith=word)).distinct()
    return text(found.values_list("pk", "title", "author__name").order_by("pk"))


def report(request):
    newest = Book.objects.filter(author=OuterRef("pk")).order_by("-published", "pk")
    rows = [
        *Author.objects.annotate(n=Count("books"), most=Max("books__price"), stock=Coalesce(Sum("books__stock"), 0))
        .filter(n__gt=0)
        .order_by("-n", "name")
        .values_list("name", "n", "most", "stock"),
        *Author.objects.annotate(last=Subquery(newest.values("title")[:1])).order_by("name").values_list("name", "last"),
        *Author.objects.filter(Exists(newest.filter(stock__lt=5))).order_by(Lower("name")).values_list("name"),
        *Tag.objects.annotate(n=Count("book")).order_by("-n", "name").values_list("name", "n"),
        Book.objects.aggregate(Avg("weight"), Min("published"), Max("price"), Count("pk")),
        *Book.objects.annotate(size=Length("title"), loud=Upper("title")).order_by("-size", "title")[:5].values_list("loud", "size"),
        *Book.objects.filter(stock__gt=F("pk") % 7, price__range=(1, 50)).order_by("pk")[:7].values_list("pk", "price"),
        *Book.objects.exclude(tags__name="tag-1").filter(sequel_of__isnull=False).order_by("pk").values_list("pk")[:5],
        *Book.objects.filter(published__year=2023).order_by("pk").values_list("pk", "published")[:5],
        *Book.objects.dates("published", "month"),
        *Book.objects.annotate(month=TruncMonth("published")).values("month").annotate(n=Count("pk")).order_by("month"),
        *Book.objects.values(year=ExtractYear("published")).annotate(n=Count("pk")).order_by("year"),
        *Order.objects.values("book__author__name").annotate(n=Sum("count")).order_by("-n", "book__author__name"),
    ]
    return text(rows)


@csrf_exempt
def order(request):
    """Takes from the stock what is ordered: all of it, or nothing."""
    done, failed = [], []
    for item in request.POST.getlist("item"):
        pk, count = map(int, item.split(":"))
        try:
            with transaction.atomic():
                taken = Book.objects.filter(pk=pk).update(stock=F("stock") - count)
                order = Order.objects.create(
                    book_id=pk, count=count, at=datetime.datetime(2024, 5, 1, 12, tzinfo=datetime.UTC), note=f"{taken}",
                    extra={"count": count} if count > 1 else None,
                )
            done.append(order.pk)
        except IntegrityError as e:
            failed.append(str(e).split(":")[0])
    return JsonResponse({"done": done, "failed": failed})
