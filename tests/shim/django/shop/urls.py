from django.contrib import admin
from django.urls import path

from . import views

urlpatterns = [
    path("admin/", admin.site.urls),
    path("", views.index),
    path("books/<int:pk>/", views.book),
    path("search/", views.search),
    path("report/", views.report),
    path("order/", views.order),
]
