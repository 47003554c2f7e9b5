"""Pictures of how a job went, where a channel takes one; an alert never waits for its picture."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from email import message_from_bytes
from email.policy import default
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from dogwatch.channels.apprise import Apprise
from dogwatch.channels.discord import Discord
from dogwatch.channels.email import Email
from dogwatch.channels.picture import LEAST, PANELS_MOST, picture
from dogwatch.model import Curve, Message
from dogwatch.store.rows import channels as channel_rows
from dogwatch.store.rows import readings
from dogwatch.store.sqlite.location import open_store
from tests.alerts.conftest import Box, message
from tests.alerts.receiver import Receiver, answer
from tests.alerts.stage import NOON, Stage, gone

POINTS = tuple((1.8e9 + 30 * n, 10.0 * n) for n in range(200))


def with_curves(*curves: Curve) -> Message:
    return replace(message("stalled"), curves=curves or (Curve("train", "step", POINTS, 5000.0),))


def opened(png: bytes) -> Image.Image:
    """As another program reads it, checksums and all."""
    image = Image.open(io.BytesIO(png))
    image.load()
    return image


def colours(image: Image.Image) -> set[object]:
    return {index for _, index in image.getcolors() or ()}


def test_a_curve_is_drawn_up_to_its_last_point():
    """Axis, line, goal and words are there, and half of a way is half of the height."""
    png = picture(with_curves())
    assert png is not None
    image = opened(png)
    assert (image.format, image.size) == ("PNG", (640, 170))
    assert colours(image) == {0, 1, 2, 3, 4, 5}
    line = [(x, y) for x in range(96, 626) for y in range(170) if image.getpixel((x, y)) == 3]
    assert (min(x for x, _ in line), max(x for x, _ in line)) == (96, 625)
    assert 95 < min(y for _, y in line) < 104, "1,990 of 5,000 is two fifths of the way up"


def test_a_hole_in_the_watching_is_a_hole_in_the_line():
    """Nothing is claimed of a time in which nobody looked."""
    holed = tuple(point for n, point in enumerate(POINTS) if not 80 < n < 120)
    whole, broken = (opened(picture(with_curves(Curve("t", "step", one))) or b"") for one in (POINTS, holed))
    empty = [x for x in range(96, 626) if all(broken.getpixel((x, y)) != 3 for y in range(170))]
    assert len(empty) > 60
    assert all(any(whole.getpixel((x, y)) == 3 for y in range(170)) for x in range(96, 626))


@given(
    st.lists(
        st.builds(
            Curve,
            st.text(max_size=60),
            st.text(max_size=20),
            st.lists(st.tuples(st.floats(), st.floats()), max_size=40).map(tuple),
            st.none() | st.floats(),
        ),
        max_size=8,
    )
)
def test_no_number_is_too_strange_for_a_picture(curves):
    """It is drawn, bounded, or it is left out."""
    png = picture(replace(message(), curves=tuple(curves)))
    assert png is None or opened(png).size[1] in {170 * n for n in range(1, PANELS_MOST + 1)}


def test_what_is_too_little_or_broken_is_left_out_and_too_much_is_thinned():
    """Two points are no curve; a million are as small as a thousand."""
    assert picture(with_curves(Curve("t", "step", POINTS[: LEAST - 1]))) is None
    assert picture(with_curves(Curve("t", "step", "nonsense"))) is None  # type: ignore[arg-type]
    many = picture(with_curves(*[Curve("t", "step", tuple((n, n % 97) for n in range(100_000)))] * 9))
    assert many is not None
    assert len(many) < 100_000
    assert opened(many).size == (640, 170 * PANELS_MOST)


def test_a_mail_has_its_text_first_and_the_picture_below(box):
    """And where a server refuses the picture, the text goes without it."""
    handler, server = box
    assert Email("me@example.org", server).deliver(with_curves()).ok
    text, image = handler.mails[0].iter_parts()
    assert "stalled" in text.get_content()
    assert (image.get_content_type(), image.get_content_disposition()) == ("image/png", "inline")
    assert opened(image.get_content()).format == "PNG"
    assert handler.mails[0]["Message-ID"] == f"<{'k' * 32}@dogwatch>"


class Strict(Box):
    """A server that takes no pictures."""

    async def handle_DATA(self, server, session, envelope) -> str:
        if b"image/png" in envelope.content:
            return "554 5.7.1 attachments are not allowed here"
        return await super().handle_DATA(server, session, envelope)


@pytest.mark.parametrize("box", [Strict], indirect=True)
def test_a_server_that_takes_no_pictures_gets_the_text(box):
    """No alert is given up for an ornament."""
    handler, server = box
    assert Email("me@example.org", server).deliver(with_curves()).ok
    assert "stalled" in handler.mails[0].get_content()


def parts(body: bytes, kind: str) -> dict[str, Any]:
    """The parts of a form by name."""
    form = message_from_bytes(f"Content-Type: {kind}\r\n\r\n".encode() + body, policy=default)
    return {
        str(one.get_param("name", header="content-disposition")): one.get_payload(decode=True)
        for one in form.iter_parts()
    }


def test_discord_shows_the_picture_in_the_message(receiver: Receiver):
    """As a file of the same request; where it is refused, the words go alone."""
    assert Discord(receiver.url).deliver(with_curves()).ok
    found = parts(receiver.got[0].body, receiver.got[0].headers["content-type"])
    assert json.loads(found["payload_json"])["embeds"] == [{"image": {"url": "attachment://progress.png"}}]
    assert opened(found["files[0]"]).size == (640, 170)
    receiver.script = [answer(413, b"too large")]
    assert Discord(receiver.url).deliver(with_curves()).ok
    assert "embeds" not in receiver.got[2].json
    receiver.script = [answer(429, b"", Retry_After="3")]
    assert Discord(receiver.url).deliver(with_curves()).after == 3.0
    assert len(receiver.got) == 4


def test_apprise_attaches_the_picture_where_a_service_takes_one(receiver: Receiver):
    """And sends the words alone when that fails."""
    url = receiver.url.replace("http://", "json://")
    assert Apprise(url).deliver(with_curves()).ok
    (attached,) = receiver.got[0].json["attachments"]
    assert opened(base64.b64decode(attached["base64"])).format == "PNG"
    receiver.script = [answer(413)]
    assert Apprise(url).deliver(with_curves()).ok
    assert receiver.got[2].json["attachments"] == []
    assert Apprise(url).deliver(message()).ok


@pytest.fixture
def stage(home: Path, tmp_path: Path, receiver: Receiver) -> Iterator[Stage]:
    with open_store(str(home)) as store:
        made = Stage(store, tmp_path)
        made.hook("discord", receiver.url)
        (row,) = channel_rows.channels(store)
        channel_rows.change_channel(store, "discord", "discord", row.settings, {})
        yield made


def measure(stage: Stage, ref: str, count: int, since: float) -> None:
    """So many readings, half a minute apart, from then on."""
    with stage.store.writing() as tx:
        ((key,),) = tx.query("SELECT key FROM jobs WHERE ref = ?", ref)
        for n in range(count):
            readings.keep(tx, key, since + 30.0 * n, {"step": 10 * n, "rate": 0.3, "loss": 9.0 / (n + 3)})


def test_an_alert_shows_how_its_job_went_until_then(stage: Stage, receiver: Receiver):
    """The same picture at every try, whatever was measured meanwhile; a job without a history has none."""
    ref, bare = stage.job("train"), stage.job("bare")
    measure(stage, ref, 40, NOON - 1200)
    receiver.script = [answer(503, b"busy")]
    stage.find(gone(ref))
    stage.go(7)
    measure(stage, ref, 3, stage.clock.now())
    stage.clock.pass_(30)
    stage.go(120)
    first, second = receiver.got
    assert (first.body, first.key) == (second.body, second.key)
    found = parts(first.body, first.headers["content-type"])
    assert opened(found["files[0]"]).size == (640, 170 * 3)
    stage.find(gone(bare))
    stage.go(120)
    assert receiver.got[2].headers["content-type"] == "application/json"
