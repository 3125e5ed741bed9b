import random

import pytest

from tierscope.analysis.plateaus import check_levels, plateaus

K, M, G = 1 << 10, 1 << 20, 1 << 30
SIZES = [4 * K << step for step in range(19)]  # 4 KiB to 1 GiB

# Sapphire Rapids virtual machine, THP, as measured on a quiet day.
REAL = [
    1.9, 1.9, 2.0, 2.0, 5.2, 6.1, 6.5, 6.8, 7.0, 16, 60, 122, 123, 124, 124, 128, 133, 138, 142,
]  # fmt: skip


def curve(latencies: list[float]) -> list[tuple[int, float]]:
    return list(zip(SIZES, latencies, strict=True))


def stairs(levels: list[tuple[int, float]], memory: float) -> list[tuple[int, float]]:
    return [(s, next((ns for end, ns in levels if s <= end), memory)) for s in SIZES]


def test_clean_stairs_are_found_exactly() -> None:
    found = plateaus(stairs([(32 * K, 1.5), (M, 5.0), (32 * M, 20.0)], 90.0))
    assert [(p.last_size, p.ends_by, p.latency) for p in found] == [
        (32 * K, 64 * K, 1.5),
        (M, 2 * M, 5.0),
        (32 * M, 64 * M, 20.0),
        (G, None, 90.0),
    ]


def test_a_flat_curve_is_one_plateau() -> None:
    found = plateaus(stairs([], 90.0))
    assert [(p.first_size, p.last_size) for p in found] == [(4 * K, G)]


def test_a_real_curve_has_two_caches_and_memory() -> None:
    found = plateaus(curve(REAL))
    assert [p.last_size for p in found] == [32 * K, M, G]
    assert found[1].ends_by == 4 * M  # where 7 ns becomes nearer to 126 ns
    assert found[0].latency == pytest.approx(1.95)


def test_a_cache_that_the_system_names_but_no_core_sees_is_unseen() -> None:
    checks = check_levels(
        plateaus(curve(REAL)), G, [("L1", 48 * K), ("L2", 2 * M), ("L3", 480 * M)]
    )
    assert [check.verdict for check in checks] == ["seen", "seen", "unseen"]


def test_a_cache_larger_than_the_sweep_is_beyond_it() -> None:
    checks = check_levels(plateaus(curve(REAL)), G, [("L4", G)])
    assert [check.verdict for check in checks] == ["beyond"]


@pytest.mark.parametrize("seed", range(20))
def test_noise_that_only_slows_does_not_move_the_levels(seed: int) -> None:
    rng = random.Random(seed)
    noisy = [
        (size, ns * (1 + rng.random() * 0.05) * (3.0 if rng.random() < 0.1 and size < G else 1.0))
        for size, ns in stairs([(32 * K, 1.5), (M, 5.0)], 90.0)
    ]
    found = plateaus(noisy)
    assert [p.last_size for p in found][-1] == G
    assert {32 * K, M} <= {p.last_size for p in found} | {p.last_size * 2 for p in found}


def test_two_caches_do_not_share_a_plateau() -> None:
    found = plateaus(stairs([(M, 5.0)], 90.0))
    checks = check_levels(found, G, [("L1", M), ("L2", M)])
    assert [check.verdict for check in checks] == ["seen", "unseen"]
