"""The Spark session: Java, interpreter and settings, each with its reason."""

from stratalog.spark.arrow import from_arrow, map_in_arrow
from stratalog.spark.failures import translate
from stratalog.spark.java import java_home
from stratalog.spark.settings import parse_conf
from stratalog.spark.start import active, checked, is_local, session, stop

__all__ = [
    "active",
    "checked",
    "from_arrow",
    "is_local",
    "java_home",
    "map_in_arrow",
    "parse_conf",
    "session",
    "stop",
    "translate",
]
