"""What an entry of the table is (table.py)."""
import collections

Fault = collections.namedtuple("Fault", "name kind file old new near ops", defaults=("", ()))
