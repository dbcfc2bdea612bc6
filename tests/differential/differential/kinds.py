"""All kinds of operations, by name."""

from __future__ import annotations

from .chapters import collectives, combined, environment, objects, point_to_point
from .code import Kind

KINDS: dict[str, Kind] = {
    kind.name: kind for chapter in (point_to_point, collectives, combined, environment, objects) for kind in chapter.KINDS
}
