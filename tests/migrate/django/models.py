"""A model with a field of every kind that Django's database backend for SQLite stores in its own way."""

import uuid

from django.db import models


class Tag(models.Model):
    name = models.CharField(max_length=50, unique=True)

    class Meta:
        app_label = "shop"


class Item(models.Model):
    key = models.UUIDField(default=uuid.uuid4, unique=True)
    title = models.CharField(max_length=200, db_index=True)
    body = models.TextField(blank=True)
    price = models.DecimalField(max_digits=10, decimal_places=2)
    weight = models.FloatField(null=True)
    active = models.BooleanField(default=True)
    made = models.DateTimeField(auto_now_add=True)
    day = models.DateField(null=True)
    at = models.TimeField(null=True)
    took = models.DurationField(null=True)
    data = models.JSONField(default=dict)
    raw = models.BinaryField(null=True)
    ip = models.GenericIPAddressField(null=True)
    stock = models.PositiveIntegerField(default=0)
    tags = models.ManyToManyField(Tag)
    parent = models.ForeignKey("self", null=True, on_delete=models.CASCADE)

    class Meta:
        app_label = "shop"
        constraints = [
            models.CheckConstraint(condition=models.Q(price__gte=0), name="price_ok"),
            models.UniqueConstraint(fields=["title"], condition=models.Q(active=True), name="one_active"),
        ]
        indexes = [models.Index(fields=["-made"])]
