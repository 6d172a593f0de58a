from django.contrib import admin

from .models import Author, Book, Order, Tag


@admin.register(Author)
class AuthorAdmin(admin.ModelAdmin):
    list_display = ["name", "born"]
    search_fields = ["name"]


@admin.register(Book)
class BookAdmin(admin.ModelAdmin):
    list_display = ["title", "author", "price", "active", "published", "stock"]
    list_filter = ["active", "author", "published"]
    search_fields = ["title", "author__name"]
    date_hierarchy = "published"
    list_select_related = ["author"]


admin.site.register([Order, Tag])
