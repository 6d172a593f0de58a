"""The second migration: columns come, change, get other names and go, and so does a table that another refers to."""

from django.db import migrations, models


def shorten(apps, editor):
    book = apps.get_model("shop", "Book")
    for row in book.objects.filter(pk__lte=5):
        row.isbn = f"isbn {row.pk}"
        row.save(update_fields=["isbn"])


class Migration(migrations.Migration):
    dependencies = [("shop", "0001_initial")]

    operations = [
        migrations.AddField("Book", "isbn", models.CharField(max_length=20, default="none")),
        migrations.AddField("Order", "author", models.ForeignKey("shop.Author", models.CASCADE, null=True)),
        migrations.RunPython(shorten, migrations.RunPython.noop),
        migrations.AlterField("Author", "name", models.CharField(max_length=150, unique=True)),
        migrations.AlterField("Book", "weight", models.FloatField(default=0.5)),
        migrations.RenameField("Order", "note", "remark"),
        migrations.RenameModel("Tag", "Label"),
        migrations.RemoveField("Book", "tags"),
        migrations.DeleteModel("Label"),
        migrations.RemoveConstraint("Book", "one_active"),
        migrations.AddIndex("Book", models.Index(fields=["published", "-price"], name="by_day")),
        # Its indexes are older: another process makes the table first.
        migrations.RenameModel("Order", "Purchase"),
    ]
