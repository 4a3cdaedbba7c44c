"""Keys over HTTP: who is let in, what scopes allow, and that nothing of one owner is there for another."""

import json
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from httpx2 import Response
from sqlalchemy import event
from starlette.testclient import TestClient

from app.access import callers, keys
from app.core.db import Database
from app.core.method_comparisons import Planned
from app.core.settings import Settings
from app.core.tables import Comparison, Corpus, FrozenModel, ModelPart
from app.http import main
from app.page.api import KEY_COOKIE
from tests.app.http.answered_jobs import Given, add_job

JSON, FILE = "application/json", "application/octet-stream"
DOCUMENTS = [Given("a", "optics"), Given("b", category=2, probability=0.9, known_probability=0.1)]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Those of a service that takes requests at any rate."""
    return settings.model_copy(update={"rate_limit": "none", "failed_keys_limit": "none"})


@pytest.fixture(autouse=True)
def asked_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known of keys is known for no time."""
    monkeypatch.setattr(callers, "KEPT_SECONDS", 0.0)


def key(database: Database, owner: str, *scopes: str) -> dict[str, str]:
    """The header with a new key."""
    with database.sessions.begin() as session:
        return {"Authorization": f"Bearer {keys.create(session, owner, scopes or ('read', 'write'))}"}


def operations() -> list[tuple[str, str]]:
    """All operations that ask for keys, from the OpenAPI document."""
    paths = main.document()["paths"]
    return [(method, path) for path, methods in paths.items() for method, each in methods.items() if "security" in each]


class Theirs:
    """What somebody else has, one of each kind, and how it is found in paths and requests."""

    def __init__(self, database: Database) -> None:
        made = add_job(database, DOCUMENTS)
        self.job_id, self.corpus_id = made.job.rpartition("/")[2], made.corpus.rpartition("/")[2]
        self.comparison_id, self.model_id = str(uuid.uuid4()), str(uuid.uuid4())
        planned = Planned([], splits=1, seed=0, known=["optics"], labeled_share=0.5, n_true=2)._asdict()
        comparison = {"id": self.comparison_id, "corpus_id": self.corpus_id, "corpus_version": 1}
        with database.sessions.begin() as session:
            session.add(Comparison(**comparison, settings={**planned, "jobs": []}))
            facts = {"job": self.job_id, "categories": []}
            session.add(FrozenModel(id=self.model_id, n_bytes=1, digest="0" * 64, facts=facts))
            session.flush()
            session.add(ModelPart(model_id=self.model_id, number=0, data=b"0"))

    def ids(self) -> dict[str, str]:
        """The ids by the names that paths have for them."""
        names = ("job_id", "corpus_id", "comparison_id", "model_id")
        return {name: getattr(self, name) for name in names}


class Nobodys:
    """Ids that nothing has."""

    def __init__(self) -> None:
        self.made = {name: str(uuid.uuid4()) for name in ("job_id", "corpus_id", "comparison_id", "model_id")}

    def ids(self) -> dict[str, str]:
        """The ids by the names that paths have for them."""
        return self.made


def ask(
    client: TestClient, method: str, path: str, ids: dict[str, str], headers: Mapping[str, str | bytes]
) -> Response:
    """Ask for an operation, with these ids wherever one can stand and whatever body it takes."""
    others = {"key": "a", "name": "trace", "category": "0", "side_run": "extension", "category_id": "new-1"}
    operation = main.document()["paths"][path][method]
    query = {"compared_with": ids["job_id"]} if path.endswith("/comparison") else {}
    query |= {"corpus_id": ids["corpus_id"]} if path.endswith("/lineage") else {}
    taken = operation.get("requestBody", {"content": {}})["content"]
    kind = JSON if JSON in taken else FILE
    body = json.dumps(body_of(path, ids)) if kind == JSON and taken else '{"text": "a"}' if taken else None
    given = {**headers, **({"Content-Type": kind} if taken else {})}
    address = path.format(**{**others, **ids})
    return client.request(method.upper(), address, params=query, content=body, headers=given)


def body_of(path: str, ids: dict[str, str]) -> Any:
    """A body of an operation that takes JSON: an example with an id where it takes one, or an empty object."""
    schemas = {"/v1/jobs": "JobIn", "/v1/comparisons": "MethodComparisonIn"}
    if path not in schemas:
        return {}
    [example, *_] = main.document()["components"]["schemas"][schemas[path]]["examples"]
    return {**example, "corpus_id": ids["corpus_id"]}


@contextmanager
def counted(database: Database) -> Iterator[list[str]]:
    """The statements that requests send to the database within this context, in the threads that answer them."""
    seen: list[str] = []

    def note(_: Any, __: Any, statement: str, *rest: Any) -> None:
        if threading.current_thread().name.startswith("AnyIO"):  # not the service's own, which look for work at times
            seen.append(statement)

    event.listen(database.engine, "before_cursor_execute", note)
    yield seen
    event.remove(database.engine, "before_cursor_execute", note)


def told(answer: Response, ids: dict[str, str]) -> Any:
    """What an answer says, but for ids and times."""
    text = answer.text
    for name, value in ids.items():
        text = text.replace(value, name)
    body = json.loads(text) if text else None
    if isinstance(body, dict):
        body.pop("request_id", None)
    return answer.status_code, sorted(answer.headers), body


@pytest.mark.parametrize("kind", ["sqlite"])
def test_what_belongs_to_another_owner_is_not_there_whatever_is_asked_of_it(
    client: TestClient, database: Database
) -> None:
    theirs, nobodys, mine = Theirs(database), Nobodys(), key(database, "eve")
    of_ids = [each for each in operations() if "{" in each[1]]
    assert len(of_ids) > 60
    with counted(client.app.state.database) as seen:  # type: ignore[attr-defined]
        assert ask(client, "get", "/v1/jobs", {}, mine).status_code == 200
    assert len(seen) > 2, "statements are seen"
    for method, path in of_ids:
        ask(client, method, path, nobodys.ids(), mine)  # what is read once a process has been read then
        answers, statements = [], []
        for ids in (theirs.ids(), nobodys.ids()):
            with counted(client.app.state.database) as seen:  # type: ignore[attr-defined]
                answer = ask(client, method, path, ids, mine)
            assert answer.status_code == 404, (method, path, answer.text)
            answers.append(told(answer, ids))
            statements.append(seen)
        assert answers[0] == answers[1], "what is there for others is told in the words of what is not"
        assert statements[0] == statements[1], "and costs what that costs, so that time tells nothing"


@pytest.mark.parametrize("kind", ["sqlite"])
@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/comparisons"])
def test_nothing_is_made_of_the_corpus_of_another_owner(path: str, client: TestClient, database: Database) -> None:
    theirs, nobodys = Theirs(database), Nobodys()
    mine = key(database, "eve")
    answers = [told(ask(client, "post", path, each.ids(), mine), each.ids()) for each in (theirs, nobodys)]
    assert answers[0][0] == 404
    assert answers[0] == answers[1]
    owners = key(database, "local")
    assert ask(client, "post", path, theirs.ids(), owners).status_code != 404


def test_lists_have_what_belongs_to_the_caller_alone(client: TestClient, database: Database) -> None:
    Theirs(database)
    mine = key(database, "eve")
    made = client.post("/v1/corpora", json={"name": "mine"}, headers=mine)
    assert made.status_code == 201
    lists = {"corpora": 1, "jobs": 0, "comparisons": 0, "models": 0}
    for name, n_mine in lists.items():
        assert len(client.get(f"/v1/{name}", headers=mine).json()[name]) == n_mine, name
        assert len(client.get(f"/v1/{name}", headers=key(database, "local")).json()[name]) == 1, name
        assert len(client.get(f"/v1/{name}", headers=key(database, "root", "admin")).json()[name]) == 1 + n_mine, name


def test_an_administrator_reaches_what_belongs_to_anybody(client: TestClient, database: Database) -> None:
    theirs = Theirs(database)
    admin = key(database, "root", "admin")
    assert client.get(f"/v1/jobs/{theirs.job_id}", headers=admin).status_code == 200
    made = client.post("/v1/corpora", json={"name": "c"}, headers=admin).json()
    with database.readers.begin() as session:
        assert session.get_one(Corpus, made["id"]).owner == "root"


@pytest.mark.parametrize("kind", ["sqlite"])
def test_without_a_good_key_no_operation_says_more_than_that_one_is_needed(
    client: TestClient, database: Database
) -> None:
    theirs = Theirs(database)
    key(database, "somebody")
    wrong = ["Bearer nf_0", "Basic nf_0", "Bearer", "bearer  ", "Bearer \x80"]
    presented: list[dict[str, str | bytes]] = [{}, *({"Authorization": each.encode("latin-1")} for each in wrong)]
    presented += [{"Cookie": f"{KEY_COOKIE}=nf_0"}, {"Cookie": b"\x80;;="}]
    for method, path in operations():
        for headers in presented:
            answer = ask(client, method, path, theirs.ids(), headers)
            assert answer.status_code == 401, (method, path, headers)
            assert answer.headers["WWW-Authenticate"].startswith("Bearer")
            assert answer.headers["Content-Type"] == "application/problem+json"
            assert answer.json()["type"].endswith("key-missing")


@pytest.mark.parametrize("kind", ["sqlite"])
def test_a_key_that_only_reads_changes_nothing(client: TestClient, database: Database) -> None:
    theirs = Theirs(database)
    reader = key(database, "local", "read")
    for method, path in operations():
        status = ask(client, method, path, theirs.ids(), reader).status_code
        if method != "get" or path == "/metrics":
            assert status == 403, (method, path)
        else:
            assert status < 500 and status not in (401, 403), (method, path)


def test_health_needs_no_key(client: TestClient, database: Database) -> None:
    key(database, "somebody")
    assert client.get("/health").status_code == 200
    assert client.get("/livez").status_code == 204
    assert client.get("/openapi.json").status_code == 200


def test_a_key_of_idempotency_is_that_of_one_owner(client: TestClient, database: Database) -> None:
    first, second = key(database, "ada"), key(database, "eve")
    same = {"Idempotency-Key": "once"}
    made = [client.post("/v1/corpora", json={"name": "c"}, headers={**each, **same}) for each in (first, second, first)]
    assert made[0].json()["id"] == made[2].json()["id"] != made[1].json()["id"]
    assert "Idempotent-Replayed" in made[2].headers
    assert "Idempotent-Replayed" not in made[1].headers


def test_a_job_belongs_to_the_owner_of_its_corpus(client: TestClient, database: Database) -> None:
    theirs = Theirs(database)
    answer = client.post(f"/v1/jobs/{theirs.job_id}/continue", json={}, headers=key(database, "root", "admin"))
    assert answer.status_code == 202
    assert client.get(answer.headers["Location"], headers=key(database, "local")).status_code == 200
    assert client.get(answer.headers["Location"], headers=key(database, "root")).status_code == 404


def test_the_cookie_of_the_page_lets_in_but_no_other_site_with_it(client: TestClient, database: Database) -> None:
    cookie = {"Cookie": f"{KEY_COOKIE}={key(database, 'ada')['Authorization'].removeprefix('Bearer ')}"}
    assert client.get("/v1/corpora", headers=cookie).status_code == 200
    host = str(client.base_url).rstrip("/")
    ours = ({"Sec-Fetch-Site": "same-origin"}, {"Origin": host})
    for headers in ours:
        assert client.post("/v1/corpora", json={"name": "c"}, headers={**cookie, **headers}).status_code == 201
    foreign: list[dict[str, str]] = [{"Sec-Fetch-Site": site} for site in ("cross-site", "same-site", "none", "")]
    foreign += [{}, {"Origin": "https://elsewhere.example"}, {"Origin": "null"}, {"Origin": f"{host}.example"}]
    foreign += [{"Sec-Fetch-Site": "cross-site", "Origin": host}]
    for headers in foreign:
        answer = client.post("/v1/corpora", json={"name": "c"}, headers={**cookie, **headers})
        assert (answer.status_code, answer.json()["type"].rpartition(":")[2]) == (403, "cross-site"), headers


def test_a_key_in_the_header_counts_and_that_in_a_cookie_beside_it_does_not(
    client: TestClient, database: Database
) -> None:
    cookie = {"Cookie": f"{KEY_COOKIE}={key(database, 'ada')['Authorization'].removeprefix('Bearer ')}"}
    assert client.get("/v1/corpora", headers={**cookie, "Authorization": "Bearer nf_0"}).status_code == 401


def test_a_visitor_of_the_page_signs_in_with_a_key_and_out_again(client: TestClient, database: Database) -> None:
    secret = key(database, "ada")["Authorization"].removeprefix("Bearer ")
    asked = client.get("/?jobs_from=")
    assert asked.status_code == 401
    assert 'name="key"' in asked.text and 'value="/?jobs_from="' in asked.text
    refused = client.post("/sign-in", data={"key": "nf_0", "back_to": "/"})
    assert refused.status_code == 401 and "not an API key that is good" in refused.text
    assert "set-cookie" not in refused.headers
    entered = client.post("/sign-in", data={"key": f" {secret}\n", "back_to": "/?jobs_from="}, follow_redirects=False)
    assert (entered.status_code, entered.headers["Location"]) == (303, "/?jobs_from=")
    assert all(word in entered.headers["Set-Cookie"] for word in ("HttpOnly", "SameSite=lax", "Path=/"))
    home = client.get("/")
    assert home.status_code == 200 and "Sign out" in home.text and secret not in home.text
    assert client.post("/sign-out", follow_redirects=False).status_code == 303
    assert client.get("/").status_code == 401


@pytest.mark.parametrize("kind", ["sqlite"])
@pytest.mark.parametrize(
    "address", ["https://elsewhere.example/", "//elsewhere.example", "/\\elsewhere", "x", "", "/\n"]
)
def test_signing_in_leads_to_no_other_site(address: str, client: TestClient, database: Database) -> None:
    secret = key(database, "ada")["Authorization"].removeprefix("Bearer ")
    entered = client.post("/sign-in", data={"key": secret, "back_to": address}, follow_redirects=False)
    assert entered.headers["Location"] == "/"
