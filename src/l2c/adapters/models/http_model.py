"""A classifier behind a URL, asked with JSON in batches."""

from __future__ import annotations

import json
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from l2c.adapters.frames import FrameShape
from l2c.adapters.frames.columns import decoded
from l2c.adapters.frames.stored import whole
from l2c.adapters.frames.storing import to_arrow
from l2c.adapters.models.frame_model import FrameModel, asked, two_columns
from l2c.core.blackbox import plain_labels
from l2c.core.types import Cells, Label, Probabilities
from l2c.errors import InputError, MissingExtraError, ModelError

FIRST_WAIT = 0.5
"""Seconds before the first question is repeated; each further wait is twice as long."""

AGAIN = (408, 425, 429)
"""Refusals that a later question may not meet, besides every failure of the server's own."""

Answered = tuple[Probabilities, tuple[Label, ...] | None]


class HttpModel:
    """A classifier behind a URL.

    A question is posted as JSON, with missing values as null and numbers, texts and booleans as themselves::

        {"columns": ["age", "job"], "rows": [[38, "clerk"], [52, null]]}

    and the answer has, for each row and in the same order, the probability of each class::

        {"probabilities": [[0.3, 0.7], [0.9, 0.1]], "classes": ["late", "paid"]}

    `classes` may be left out of the answer where they are named here, or are 0, 1, …. A connection that fails, no
    answer in time, and the statuses 408, 425, 429 and 5xx are tried again after a wait; other refusals are final.
    What the rows hold is told to that URL and to nobody else: errors say what broke, never what was sent or answered.

    Parameters
    ----------
    url
        Where to post.
    classes
        The labels, in the order of the probabilities; by default those that the answer names.
    batch
        The most rows to send at once.
    timeout
        Seconds to wait for a connection, and for each part of an answer.
    retries
        How often a question is tried again.
    headers
        Sent with every question, such as an authorization.
    sleep
        Waits for some seconds.
    """

    def __init__(
        self,
        url: str,
        classes: Sequence[Label] | None = None,
        batch: int = 10_000,
        timeout: float = 10.0,
        retries: int = 3,
        headers: Mapping[str, str] | None = None,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        problems = [
            f"{name} must be {least} or more, not {value!r}"
            for name, value, least in (("batch", batch, 1), ("retries", retries, 0))
            if value < least
        ]
        if not timeout > 0:
            problems.append(f"timeout must be more than 0 seconds, not {timeout!r}")
        if problems:
            raise InputError(problems)
        self.url, self.batch, self.timeout, self.retries, self.sleep = url, batch, timeout, retries, sleep
        self.where = f"the model at {_shown(url)}"
        self.named = None if classes is None else plain_labels(classes)
        self.client = _httpx().Client(timeout=timeout, headers={"Content-Type": "application/json", **(headers or {})})
        weakref.finalize(self, self.client.close)

    def blackbox(self, shape: FrameShape, examples: Cells) -> FrameModel:
        """Return the model as a black box for frames of this shape."""
        proba, told = asked(self._answers, shape.build(examples))[0]
        classes = self.named or told or tuple(range(proba.shape[1]))

        def answer(frame: Any) -> Probabilities:
            answers = self._answers(frame)
            for proba, told in answers:
                if told not in (None, classes) or proba.shape[1] != len(classes):
                    found = f"{proba.shape[1]} classes" if told is None else f"the classes {told}"
                    raise ModelError(f"{self.where} answered with {found}; expected {classes}")
            return np.concatenate([np.zeros((0, len(classes))), *(proba for proba, _ in answers)])

        return FrameModel(answer, shape, classes)

    def _answers(self, frame: Any) -> list[Answered]:
        """Return what each batch of a frame is answered with."""
        table = to_arrow(frame)
        batches = [table.slice(start, self.batch) for start in range(0, len(table), self.batch)]
        return [self._read(self._post(_question(batch)), len(batch)) for batch in batches]

    def _post(self, question: bytes) -> Any:
        """Return the response to a question, asked again where that may help."""
        trouble = ""
        for attempt in range(self.retries + 1):
            if attempt:
                self.sleep(FIRST_WAIT * 2 ** (attempt - 1))
            response, trouble = self._once(question)
            if response is not None:
                return response
        raise ModelError(f"{self.where} {trouble}{f', in each of {self.retries + 1} tries' if self.retries else ''}")

    def _once(self, question: bytes) -> tuple[Any | None, str]:
        """Return the response to a question, or what stood in its way and may pass; what will not pass is raised."""
        httpx = _httpx()
        try:
            response = self.client.post(self.url, content=question)
        except httpx.TimeoutException:
            return None, f"did not answer within {self.timeout:g} s"
        except httpx.TransportError as error:
            return None, f"cannot be reached ({type(error).__name__})"
        except httpx.RequestError as error:
            raise ModelError(f"{self.where} answered with what cannot be read ({type(error).__name__})") from error
        if response.status_code >= 500 or response.status_code in AGAIN:
            return None, f"answered with the status {response.status_code}"
        if not response.is_success:
            raise ModelError(f"{self.where} refused the question with the status {response.status_code}")
        return response, ""

    def _read(self, response: Any, rows: int) -> Answered:
        """Return the probabilities and classes that an answer holds, or raise naming what it lacks."""
        try:
            data = response.json()
        except ValueError:
            raise ModelError(f"{self.where} answered with something that is not JSON") from None
        if not isinstance(data, dict) or "probabilities" not in data:
            raise ModelError(
                f'{self.where} answered without "probabilities"; the help of l2c.HttpModel shows an answer'
            )
        try:
            proba = two_columns(data["probabilities"])
        except ModelError:
            raise ModelError(f"{self.where} answered with probabilities that are no array of numbers") from None
        if proba.ndim != 2 or len(proba) != rows:
            raise ModelError(f"{self.where} answered {rows} rows with probabilities of the shape {proba.shape}")
        told = data.get("classes")
        if told is not None and not (isinstance(told, list) and all(isinstance(label, Label) for label in told)):
            raise ModelError(f'{self.where} answered with "classes" that are no list of texts, numbers or booleans')
        return proba, None if told is None else tuple(told)


def _question(table: pa.Table) -> bytes:
    """Return some rows as JSON, which has no NaN: missing is null."""
    columns = [_values(whole(column)) for column in table.columns]
    return json.dumps({"columns": table.column_names, "rows": [*zip(*columns, strict=True)]}, allow_nan=False).encode()


def _values(column: pa.Array) -> list[Any]:
    plain = decoded(column)
    values = (plain.cast(pa.float64()) if pa.types.is_decimal(plain.type) else plain).to_pylist()
    return [None if value != value else value for value in values]


def _shown(url: str) -> str:
    """Return an address as it may be shown: without a password or a token.

    >>> _shown("https://me:secret@models.example/credit?token=secret")
    'https://models.example/credit'
    """
    httpx = _httpx()
    try:
        parts = httpx.URL(url)
    except (httpx.InvalidURL, TypeError):
        parts = None
    if parts is None or parts.scheme not in ("http", "https") or not parts.host:
        raise InputError("expected the address of a model, as in https://models.example/credit")
    return f"{parts.scheme}://{parts.netloc.decode()}{parts.path}"


def _httpx() -> Any:
    try:
        import httpx
    except ImportError as error:
        raise MissingExtraError("a model behind a URL", "httpx", "http") from error
    return httpx
