"""Uploading, looking at and deleting files, over HTTP."""

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import httpx2
import pytest
from starlette.requests import Request

from askbus.attachments import verbs
from askbus.attachments.model import MOST_UNUSED
from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db.pool import Pool, open_pool
from askbus.errors import TooLarge
from askbus.runtime.settings import Settings
from askbus.testing.composed import Composed, compose
from askbus.testing.files import pdf, picture, upload, uploaded
from askbus.testing.people import Company, give_token
from askbus.testing.servers import Server, TestDatabase
from askbus_gateway.app import make_app as make_gateway
from askbus_gateway.http.attachments import Attachments
from askbus_gateway.http.gate import Gate

pytestmark = pytest.mark.requirement("C14")


@pytest.fixture
async def gateway(database: TestDatabase, nats_server: Server, company: Company) -> AsyncIterator[Composed]:
    """The gateway alone, which takes no text of more than 2 KiB."""
    await provision(nats_server.url, ack_wait=1)
    async with compose(database, nats_server.url, [(Service.GATEWAY, make_gateway)], attachment_text_bytes=2048) as running:
        yield running


@pytest.fixture
async def mia(gateway: Composed, company: Company) -> AsyncIterator[httpx2.AsyncClient]:
    """Mia's browser."""
    async with gateway.client(company["mia"]) as client:
        yield client


async def test_a_file_comes_back_as_it_went_and_can_do_nothing(mia: httpx2.AsyncClient, company: Company) -> None:
    """Its own type, no sniffing, a sandbox; pictures may be shown, everything else is saved under its name."""
    red = picture()
    made = (await upload(mia, company, red, 'röd "x".png', "image/png")).json()
    assert (made["kind"], made["media_type"], made["name"], made["size"]) == ("image", "image/png", 'röd "x".png', len(red))
    assert made["expires_at"] is not None
    assert (await mia.get(f"/v1/attachments/{made['id']}")).json() == made
    content = await mia.get(f"/v1/attachments/{made['id']}/content")
    assert content.content == red
    assert content.headers["content-type"] == "image/png"
    assert content.headers["x-content-type-options"] == "nosniff"
    assert content.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert content.headers["content-disposition"] == "inline; filename*=UTF-8''r%C3%B6d%20%22x%22.png"
    again = await mia.get(f"/v1/attachments/{made['id']}/content", headers={"if-none-match": content.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    text = await uploaded(mia, company, b"<b>not markup</b>", "note.txt", "text/plain")
    sent = await mia.get(f"/v1/attachments/{text}/content")
    assert sent.headers["content-type"] == "text/plain"
    assert sent.headers["content-disposition"].startswith("attachment; ")


async def test_a_file_is_its_uploaders_alone(gateway: Composed, mia: httpx2.AsyncClient, company: Company, pool: Pool) -> None:
    """To a colleague, an owner, a stranger and a token without the project it does not exist; nor to herself once she left."""
    file_id = await uploaded(mia, company, picture(), "x.png")
    await pool.execute("INSERT INTO project_members VALUES ($1, $2, $3)", company.workspace_id, company.south, company["mia"].id)
    narrow = await give_token(pool, company["mia"], projects=(company.south,))
    made_up = await mia.get(f"/v1/attachments/{uuid4()}")
    for who in (company["max"], company["owner"], company["stranger"], narrow):
        async with gateway.client(who) as other:
            for method, path in (("GET", ""), ("GET", "/content"), ("DELETE", "")):
                refused = await other.request(method, f"/v1/attachments/{file_id}{path}", headers={"x-askbus": "1"})
                assert (refused.status_code, refused.text) == (404, made_up.text), (who, method, path)
    await pool.execute("DELETE FROM project_members WHERE user_id = $1", company["mia"].id)
    assert (await mia.get(f"/v1/attachments/{file_id}/content")).status_code == 404


async def test_who_may_not_chat_uploads_nothing(gateway: Composed, mia: httpx2.AsyncClient, company: Company, pool: Pool) -> None:
    """A viewer, a page without the header, a project that one does not see."""
    async with gateway.client(company["viewer"]) as viewer:
        assert (await upload(viewer, company, picture(), "x.png")).status_code == 403
    params = {"project_id": str(company.north), "name": "x.png"}
    forged = await mia.post("/v1/attachments", params=params, content=picture(), headers={"content-type": "image/png"})
    assert forged.status_code == 403
    hidden = await mia.post(
        "/v1/attachments", params={**params, "project_id": str(company.south)}, content=picture(), headers={"x-askbus": "1"}
    )
    assert (hidden.status_code, hidden.json()["message"]) == (404, "There is no such project.")
    assert await pool.fetchval("SELECT count(*) FROM attachments") == 0


async def test_a_file_past_its_kinds_cap_is_refused(mia: httpx2.AsyncClient, company: Company) -> None:
    """By what its type says, announced or not, and by what it turned out to be; a file of just the cap is taken."""

    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(9):
            yield b"x" * 1024

    params = {"project_id": str(company.north), "name": "x.txt"}
    headers = {"content-type": "text/plain", "x-askbus": "1"}
    for content in (b"x" * 2049, chunks()):
        refused = await mia.post("/v1/attachments", params=params, content=content, headers=headers)
        assert (refused.status_code, refused.json()["details"]) == (413, {"most": 2048})
    undeclared = await upload(mia, company, b"x" * 2049, "x")
    assert (undeclared.status_code, undeclared.json()["code"]) == (413, "too_large")
    assert (await upload(mia, company, b"x" * 2048, "x.txt", "text/plain")).status_code == 201
    assert (await upload(mia, company, pdf("x" * 9_000), "x.pdf", "application/pdf")).status_code == 201


async def test_the_door_reads_no_further_than_the_cap() -> None:
    """A body without end costs as much memory as the largest file, and one chunk."""
    given = 0

    async def endless() -> dict[str, object]:
        nonlocal given
        given += 1024
        return {"type": "http.request", "body": b"x" * 1024, "more_body": True}

    settings = Settings.load(database_url="postgresql://nowhere", nats_url="nats://nowhere", attachment_text_bytes=2048)
    door = Attachments(Gate(None, None, "http://localhost", limits=None, proxies=None), settings)  # type: ignore[arg-type]  # reading asks neither
    scope = {"type": "http", "method": "POST", "headers": []}
    with pytest.raises(TooLarge):
        await door.read(Request(scope, endless), "text/csv; charset=utf-8")
    assert given == 3 * 1024


async def test_what_a_file_is_not_is_said(mia: httpx2.AsyncClient, company: Company) -> None:
    """400 with a sentence; a name with a line break or none at all is refused as well."""
    wrong = await upload(mia, company, picture("GIF"), "x.png", "image/png")
    assert (wrong.status_code, wrong.json()["code"]) == (400, "invalid_input")
    assert "image/gif" in wrong.json()["message"]
    for name in ("", " ", "a\r\nb", "x" * 201):
        assert (await upload(mia, company, picture(), name)).status_code == 400


async def test_an_upload_sent_twice_counts_once(mia: httpx2.AsyncClient, company: Company, pool: Pool) -> None:
    """The same key finds the first file; somebody else's key finds nothing of hers."""
    key = str(uuid4())
    first, second = [await upload(mia, company, picture(), "x.png", **{"idempotency-key": key}) for _ in range(2)]
    assert first.json() == second.json()
    assert await pool.fetchval("SELECT count(*) FROM attachment_contents") == 1


async def test_too_many_waiting_files_are_refused(mia: httpx2.AsyncClient, company: Company, pool: Pool) -> None:
    """Nobody fills the disk with what goes nowhere; deleting one makes room."""
    one = await uploaded(mia, company, b"x", "x.txt")
    await pool.execute(
        "INSERT INTO attachments (id, workspace_id, project_id, user_id, kind, media_type, name, size, encoding, has_text, command_id)"
        " SELECT uuidv7(), workspace_id, project_id, user_id, kind, media_type, name, size, encoding, has_text, uuidv7()"
        " FROM attachments, generate_series(2, $1)",
        MOST_UNUSED,
    )
    assert (await upload(mia, company, b"x", "x.txt")).status_code == 429
    assert (await mia.delete(f"/v1/attachments/{one}", headers={"x-askbus": "1"})).status_code == 204
    assert (await mia.get(f"/v1/attachments/{one}")).status_code == 404
    assert (await upload(mia, company, b"x", "x.txt")).status_code == 201


async def test_an_upload_that_nobody_used_is_gone_after_its_time(
    mia: httpx2.AsyncClient, company: Company, pool: Pool, database: TestDatabase
) -> None:
    """Refused at once, and deleted by expiry's own role, content and all; what is not due stays."""
    due, kept = [await uploaded(mia, company, b"x", f"{name}.txt") for name in ("due", "kept")]
    await pool.execute("UPDATE attachments SET expires_at = now() WHERE id = $1", due)
    assert (await mia.get(f"/v1/attachments/{due}")).status_code == 404
    async with open_pool(database.role_url(Service.EXPIRY), size=1, name="expiry") as expiry:
        assert [str(gone) for gone in await verbs.expire_due(expiry, batch=10)] == [due]
        assert await verbs.expire_due(expiry, batch=10) == []
    assert [str(row[0]) for row in await pool.fetch("SELECT attachment_id FROM attachment_contents")] == [kept]


async def test_uploads_at_once_are_each_looked_into(mia: httpx2.AsyncClient, company: Company) -> None:
    """The door goes on answering meanwhile."""
    large = picture("PNG", (3000, 3000))
    made = await asyncio.gather(*(upload(mia, company, large, f"{n}.png") for n in range(4)), mia.get("/v1/me"))
    assert [response.status_code for response in made] == [201, 201, 201, 201, 200]
