"""The cost of each TLS primitive on a machine, as measured by `tlslab-load primitives`. Pure."""

from tlslab.contract.primitives import Primitive, Primitives


def cost_us(
    primitives: Primitives, algorithm: str, operation: str, size: int | None = None
) -> float | None:
    """The cost with the fastest library on this machine; None if no library was measured.

    The cost for a size in bytes is interpolated linearly through the two measured sizes.
    """
    by_library: dict[str, list[Primitive]] = {}
    for primitive in primitives.primitives:
        if (primitive.algorithm, primitive.operation) == (algorithm, operation):
            by_library.setdefault(primitive.backend, []).append(primitive)
    costs = [_cost(measured, size) for measured in by_library.values()]
    return min((cost for cost in costs if cost is not None), default=None)


def _cost(measured: list[Primitive], size: int | None) -> float | None:
    if size is None or not all(primitive.bytes is not None for primitive in measured):
        return measured[0].median_us
    points = sorted((primitive.bytes or 0, primitive.median_us) for primitive in measured)
    if len(points) < 2:
        return None
    (small, least), (large, most) = points[0], points[-1]
    per_byte = (most - least) / (large - small)
    return max(0.0, least + per_byte * (size - small))
