"""Questions over HTTP."""

from askbus.testing.composed import Composed
from askbus.testing.people import Company, give_token
from askbus.db.pool import Pool


async def test_an_agent_asks_and_a_person_answers(questions: Composed, company: Company, pool: Pool) -> None:
    """The whole way: asked with a token, seen by a member, answered, read by the asker."""
    agent = await give_token(pool, company["mia"])
    async with questions.client(agent) as robot, questions.client(company["max"]) as max_:
        asked = await robot.post("/v1/questions", json={"project_id": str(company.north), "text": "Ship it?", "options": ["yes", "no"]})
        assert asked.status_code == 201, asked.text
        question_id = asked.json()["id"]
        answered = await max_.post(f"/v1/questions/{question_id}/answer", json={"answer": "yes"})
        assert answered.status_code == 200, answered.text
        seen = (await robot.get(f"/v1/questions/{question_id}")).json()
        assert (seen["state"], seen["answer"], seen["settled_by_name"]) == ("answered", "yes", "max")
