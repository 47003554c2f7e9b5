"""The profiles of boxes as this user has them: ours, those of the configuration directory, and prices of their own."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from dogwatch import profiles, settings
from dogwatch.errors import DogwatchError
from dogwatch.store.rows import places

if TYPE_CHECKING:
    from dogwatch.model.job import Place, Rent
    from dogwatch.profiles import Profile
    from dogwatch.store.interface import Store


def folder() -> str:
    """Where this user's own profiles are, whether or not there are any."""
    return os.path.join(os.path.dirname(settings.path(os.environ)), "profiles")


def load(name: str) -> Profile:
    """The profile of that name."""
    return profiles.load(name, folder())


def of(place: Place) -> Profile | None:
    """The profile of a place, with the price that its owner gave; None where it has none."""
    name, price = place.transport.get("profile"), place.transport.get("price_per_hour")
    return profiles.priced(None if name is None else load(name), price)


def rent(place: Place) -> Rent:
    """What a place costs and what ends that; a profile that cannot be read costs no poll."""
    from dogwatch.errors import UsageError
    from dogwatch.model.job import Rent

    try:
        profile = of(place)
    except UsageError as error:
        return Rent(stop=str(error))
    return Rent() if profile is None else Rent(profile.price_per_hour.value, profiles.stop_command(profile))


def stop_commands(store: Store) -> dict[str, str]:
    """By place what ends its costs, where its profile says so."""
    found = {}
    for place in places.known_places(store):
        with contextlib.suppress(DogwatchError):  # `host ls` says of a profile that it is gone
            if (profile := of(place)) is not None:
                found[place.name] = profiles.stop_command(profile)
    return found
