"""A Django project in one directory, on its SQLite backend: `manage.py COMMAND...`, with the database in SHOP_DB."""

import os
import sys

from django.core.management import execute_from_command_line

os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
execute_from_command_line(sys.argv)
