"""Models behind a URL: what goes over the wire, and every way in which a server can fail."""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from adapters.models.people import DECLARED, GAPS, KINDS, LATE, ROWS, TEXTS, WORDS, answers_as, box_of, cells_of
from l2c.adapters.models import HttpModel
from l2c.errors import InputError, MissingExtraError, ModelError

JOBS = make_pipeline(
    make_column_transformer((OneHotEncoder(), ["job", "school"]), remainder="passthrough"),
    LogisticRegression(max_iter=1000),
).fit(TEXTS, WORDS)


class Server:
    """A server on this machine that answers with a model, or as `replies` says, one reply after the other."""

    def __init__(self) -> None:
        self.model: Any = JOBS
        self.tells_classes = True
        self.replies: list[Any] = []
        self.questions: list[dict[str, Any]] = []
        self.headers: list[Any] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.questions.append(json.loads(body))
                outer.headers.append(self.headers)
                outer.reply(self)

            def log_message(self, *_: object) -> None:
                pass

        self.httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.httpd.server_port}/score"
        self.thread = threading.Thread(target=self.httpd.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.thread.start()

    def reply(self, handler: BaseHTTPRequestHandler) -> None:
        reply = self.replies.pop(0) if self.replies else None
        if callable(reply):
            return reply(handler)
        status, body = reply or (200, self.scored(self.questions[-1]))
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)
        return None

    def scored(self, question: dict[str, Any]) -> dict[str, Any]:
        rows = pd.DataFrame(question["rows"], columns=question["columns"])
        for name in rows.columns.intersection(GAPS.columns[GAPS.dtypes == "category"]):
            rows[name] = rows[name].astype(GAPS[name].dtype)
        answer = {"probabilities": self.model.predict_proba(rows).tolist()}
        return answer | ({"classes": self.model.classes_.tolist()} if self.tells_classes else {})


@pytest.fixture
def server(monkeypatch) -> Iterator[Server]:
    # Whatever proxy this machine has, it stands between nobody and itself.
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    started = Server()
    yield started
    started.httpd.shutdown()
    started.httpd.server_close()
    started.thread.join()


class Waits(list[float]):
    """The seconds that were waited, none of them really."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def refusal(model: HttpModel, frame: Any = TEXTS) -> str:
    with pytest.raises(ModelError) as caught:
        box_of(model, frame)
    return str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("frame", [TEXTS, DECLARED], ids=["texts", "declared"])
def test_a_model_behind_a_url_answers_as_it_does_at_home(server, frame, kind):
    blackbox = answers_as(HttpModel(server.url), KINDS[kind](frame), JOBS.predict_proba(TEXTS))
    assert blackbox.classes == ("late", "paid")
    assert not blackbox.labels_only


@pytest.mark.parametrize("kind", KINDS)
def test_missing_values_are_null(server, kind):
    server.model = HistGradientBoostingClassifier(max_iter=5, categorical_features="from_dtype").fit(GAPS, LATE)
    blackbox = answers_as(HttpModel(server.url), KINDS[kind](GAPS), server.model.predict_proba(GAPS))
    assert blackbox.classes == (False, True)
    row = int((GAPS["job"].isna() & GAPS["the debt"].isna()).argmax())
    blackbox.proba(cells_of(GAPS)[[row]])
    assert server.questions[-1]["rows"][0][1:3] == [None, None]


def test_a_question_is_the_columns_and_the_rows_in_plain_json(server):
    box_of(HttpModel(server.url), TEXTS)
    assert server.questions[0] == {
        "columns": ["age", "the debt", "job", "school", "married"],
        "rows": [
            [int(age), float(debt), job, school, bool(married)]
            for age, debt, job, school, married in TEXTS[:8].itertuples(index=False)
        ],
    }
    assert server.headers[0]["Content-Type"] == "application/json"


def test_a_nan_of_polars_is_null_too(server):
    frame = pl.from_pandas(TEXTS)[:4].with_columns(pl.Series("the debt", [1.5, float("nan"), None, 2.5]))
    server.replies = [(200, {"probabilities": [[0.5, 0.5]] * 4})] * 2
    box_of(HttpModel(server.url), frame)
    assert [row[1] for row in server.questions[0]["rows"]] == [1.5, None, None, 2.5]


def test_headers_are_sent_with_every_question(server):
    box_of(HttpModel(server.url, headers={"Authorization": "Bearer me"}), TEXTS)
    assert [headers["Authorization"] for headers in server.headers] == ["Bearer me"] * 2


def test_rows_are_sent_in_batches_and_come_back_in_order(server):
    blackbox = box_of(HttpModel(server.url, batch=50), TEXTS)
    server.questions.clear()
    np.testing.assert_allclose(blackbox.proba(cells_of(TEXTS)), JOBS.predict_proba(TEXTS), rtol=0, atol=1e-9)
    assert [len(question["rows"]) for question in server.questions] == [50, 50, 50, ROWS - 150]
    server.questions.clear()
    assert blackbox.proba(cells_of(TEXTS)[:0]).shape == (0, 2)
    assert server.questions == []


def test_classes_may_be_named_here_or_are_counted_from_0(server):
    server.tells_classes = False
    assert box_of(HttpModel(server.url), TEXTS).classes == (0, 1)
    assert box_of(HttpModel(server.url, classes=("late", "paid")), TEXTS).classes == ("late", "paid")


def test_one_probability_a_row_is_that_of_class_1(server):
    server.replies = [(200, {"probabilities": [0.25] * 8})] * 3
    blackbox = box_of(HttpModel(server.url), TEXTS)
    assert blackbox.classes == (0, 1)
    assert blackbox.proba(cells_of(TEXTS)[:8]).tolist() == [[0.75, 0.25]] * 8


def test_classes_that_are_not_those_that_were_named_are_refused(server):
    assert refusal(HttpModel(server.url, classes=("paid", "late"))) == (
        f"the model at {server.url} answered with the classes ('late', 'paid'); expected ('paid', 'late')"
    )


def test_classes_that_change_are_refused(server):
    blackbox = box_of(HttpModel(server.url), TEXTS)
    for answer, told in (
        ({"probabilities": [[0.5, 0.5]], "classes": ["paid", "late"]}, "the classes ('paid', 'late')"),
        ({"probabilities": [[0.2, 0.3, 0.5]]}, "3 classes"),
    ):
        server.replies = [(200, answer)]
        with pytest.raises(ModelError) as caught:
            blackbox.proba(cells_of(TEXTS)[:1])
        assert str(caught.value) == f"the model at {server.url} answered with {told}; expected ('late', 'paid')"


@pytest.mark.parametrize("status", [500, 502, 503, 504, 429, 408, 425])
def test_a_failure_that_may_pass_is_tried_again_after_a_wait(server, status):
    waits = Waits()
    server.replies = [(status, b"busy"), (status, b"busy")]
    answers_as(HttpModel(server.url, sleep=waits), TEXTS, JOBS.predict_proba(TEXTS))
    assert waits == [0.5, 1.0]


def test_waits_grow_and_end(server):
    waits = Waits()
    server.replies = [(503, b"")] * 9
    told = refusal(HttpModel(server.url, retries=4, sleep=waits))
    assert told == f"the model at {server.url} answered with the status 503, in each of 5 tries"
    assert waits == [0.5, 1.0, 2.0, 4.0]
    assert len(server.questions) == 5


def test_without_retries_the_first_failure_is_the_last(server):
    server.replies = [(500, b"")]
    assert refusal(HttpModel(server.url, retries=0)) == f"the model at {server.url} answered with the status 500"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422, 302])
def test_a_refusal_is_final(server, status):
    waits = Waits()
    server.replies = [(status, b"no")]
    told = refusal(HttpModel(server.url, sleep=waits))
    assert told == f"the model at {server.url} refused the question with the status {status}"
    assert waits == []
    assert len(server.questions) == 1


def test_an_answer_that_comes_too_late_is_asked_for_again(server):
    def slowly(_: BaseHTTPRequestHandler) -> None:
        time.sleep(0.4)

    server.replies = [slowly, slowly]
    assert refusal(HttpModel(server.url, timeout=0.1, retries=1, sleep=Waits())) == (
        f"the model at {server.url} did not answer within 0.1 s, in each of 2 tries"
    )
    server.replies = [slowly]
    assert box_of(HttpModel(server.url, timeout=0.1, sleep=Waits()), TEXTS[:8]).classes == ("late", "paid")


def test_a_connection_that_breaks_is_tried_again(server):
    def hang_up(handler: BaseHTTPRequestHandler) -> None:
        handler.close_connection = True

    server.replies = [hang_up]
    waits = Waits()
    box_of(HttpModel(server.url, sleep=waits), TEXTS)
    assert waits == [0.5]


def test_a_server_that_is_not_there_is_told(server):
    server.httpd.shutdown()
    server.httpd.server_close()
    assert refusal(HttpModel(server.url, retries=1, sleep=Waits())) == (
        f"the model at {server.url} cannot be reached (ConnectError), in each of 2 tries"
    )


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"<html>welcome</html>", "answered with something that is not JSON"),
        (b"\xff\xfe", "answered with something that is not JSON"),
        ([[0.5, 0.5]] * 8, 'answered without "probabilities"; the help of l2c.HttpModel shows an answer'),
        ({"proba": []}, 'answered without "probabilities"; the help of l2c.HttpModel shows an answer'),
        ({"probabilities": "much"}, "answered with probabilities that are no array of numbers"),
        ({"probabilities": [[0.5], [0.5, 0.5]]}, "answered with probabilities that are no array of numbers"),
        ({"probabilities": [[0.5, 0.5]] * 7}, "answered 8 rows with probabilities of the shape (7, 2)"),
        ({"probabilities": 0.5}, "answered 8 rows with probabilities of the shape ()"),
        (
            {"probabilities": [[0.5, 0.5]] * 8, "classes": "late"},
            'answered with "classes" that are no list of texts, numbers or booleans',
        ),
        (
            {"probabilities": [[0.5, 0.5]] * 8, "classes": [["late"], "paid"]},
            'answered with "classes" that are no list of texts, numbers or booleans',
        ),
    ],
)
def test_an_answer_of_another_shape_is_told(server, body, told):
    server.replies = [(200, body)]
    assert refusal(HttpModel(server.url)) == f"the model at {server.url} {told}"


def test_an_answer_in_another_encoding_than_it_says_is_told(server):
    def garbled(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Encoding", "gzip")
        handler.send_header("Content-Length", "5")
        handler.end_headers()
        handler.wfile.write(b"plain")

    server.replies = [garbled]
    assert refusal(HttpModel(server.url)) == (
        f"the model at {server.url} answered with what cannot be read (DecodingError)"
    )


def test_what_is_no_probability_is_refused(server):
    server.replies = [(200, {"probabilities": [[0.5, 0.9]] * 8})] * 2
    assert refusal(HttpModel(server.url)) == "the model's probabilities do not add to 1: row 0 adds to 1.4"
    server.replies = [(200, b'{"probabilities": [' + b", ".join([b"[NaN, 1]"] * 8) + b"]}")] * 2
    assert refusal(HttpModel(server.url)) == "the model answered NaN for row 0"


def test_neither_logs_nor_errors_tell_what_the_rows_hold(server, caplog):
    frame = TEXTS.replace({"job": {"cook": "secretword"}})
    server.replies = [(500, b"secretword"), (400, b"secretword")]
    with caplog.at_level(logging.DEBUG):
        told = refusal(HttpModel(server.url, sleep=Waits()), frame)
    assert "secretword" in str(server.questions)
    assert "secretword" not in told + caplog.text


def test_an_address_is_shown_without_its_password_and_token(server):
    server.replies = [(400, b"")]
    address = server.url.replace("http://", "http://me:hidden@") + "?token=hidden"
    told = refusal(HttpModel(address))
    assert told == f"the model at {server.url} refused the question with the status 400"


@pytest.mark.parametrize(
    "url", ["", "models.example/credit", "ftp://models.example", "http://", "http://models.example:port"]
)
def test_what_is_no_address_is_refused(url):
    with pytest.raises(InputError) as caught:
        HttpModel(url)
    assert str(caught.value) == "expected the address of a model, as in https://models.example/credit"


def test_settings_that_make_no_sense_are_all_told():
    with pytest.raises(InputError) as caught:
        HttpModel("http://127.0.0.1/", batch=0, timeout=0, retries=-1)
    assert caught.value.problems == (
        "batch must be 1 or more, not 0",
        "retries must be 0 or more, not -1",
        "timeout must be more than 0 seconds, not 0",
    )


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingExtraError) as caught:
        HttpModel("http://127.0.0.1/")
    assert str(caught.value) == 'a model behind a URL needs httpx: pip install "l2c[http]"'
