"""An author, books with a field of every kind that SQLite stores in its own way, and orders."""

import uuid

from django.db import models


class Author(models.Model):
    name = models.CharField(max_length=100, unique=True)
    born = models.DateField(null=True, blank=True)

    def __str__(self):
        return self.name


class Tag(models.Model):
    name = models.SlugField(unique=True)

    class Meta:
        # Without it MariaDB reads the tags from the index of their names.
        ordering = ["id"]

    def __str__(self):
        return self.name


class Book(models.Model):
    title = models.CharField(max_length=200, db_index=True)
    author = models.ForeignKey(Author, on_delete=models.CASCADE, related_name="books")
    key = models.UUIDField(default=uuid.uuid4, unique=True)
    price = models.DecimalField(max_digits=10, decimal_places=2)
    weight = models.FloatField(null=True, blank=True)
    active = models.BooleanField(default=True)
    published = models.DateTimeField()
    reading = models.DurationField(null=True, blank=True)
    data = models.JSONField(default=dict, blank=True)
    cover = models.BinaryField(null=True)
    stock = models.PositiveIntegerField(default=0)
    tags = models.ManyToManyField(Tag, blank=True)
    sequel_of = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL)

    class Meta:
        ordering = ["title"]
        constraints = [
            models.CheckConstraint(condition=models.Q(price__gte=0), name="price_ok"),
            models.UniqueConstraint(fields=["title"], condition=models.Q(active=True), name="one_active"),
        ]

    def __str__(self):
        return self.title


class Order(models.Model):
    book = models.ForeignKey(Book, on_delete=models.PROTECT)
    count = models.PositiveIntegerField()
    at = models.DateTimeField()
    note = models.TextField(blank=True)
    extra = models.JSONField(null=True)
