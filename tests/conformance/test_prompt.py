"""The hour at which the kit asks for a prompt block once more."""

import datetime as dt

import pytest

from memproto.conformance.provider.extensions import prompt
from memproto.testing.instruments.walltime import KATHMANDU, LOS_ANGELES, SHANGHAI, Zone, time_zone

DAY = [dt.datetime(2026, 3, 14, hour, 20, tzinfo=dt.UTC) for hour in range(24)]


@pytest.mark.parametrize("zone", [KATHMANDU, LOS_ANGELES, SHANGHAI])
@pytest.mark.parametrize("now", DAY, ids=lambda now: f"{now:%H}")
def test_the_clock_is_moved_within_the_day_of_utc_and_of_the_zone(zone, now):
    with time_zone(zone):
        moment = prompt._another_hour(now)
        assert moment is not None
        for one, other in ((now, moment), (now.astimezone(), moment.astimezone())):
            assert one.date() == other.date()
            assert one.hour != other.hour
            assert one.minute != other.minute


def test_a_moment_between_two_midnights_leaves_no_hour_to_move_to():
    with time_zone(Zone("<-0130>1:30", "<-0130>1:30", 5_400)):
        assert prompt._another_hour(dt.datetime(2026, 3, 14, 0, 45, tzinfo=dt.UTC)) is None
