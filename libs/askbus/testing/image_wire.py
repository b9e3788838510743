"""The scripted model's pictures: `POST …/images/generations` as OpenAI answers it. Pure.

A prompt that holds the word `refuse` is refused, `garble` gets something else than a picture, `link` a link to one.
"""

import json

RED_DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"  # a PNG of one pixel


def answer_image(body: bytes) -> tuple[int, bytes]:
    """Status and body of the answer."""
    prompt = str(json.loads(body).get("prompt", ""))
    if "refuse" in prompt:
        error = {
            "message": "sk-secret: this prompt is against the rules",
            "type": "invalid_request_error",
            "code": "moderation_blocked",
        }
        return 400, json.dumps({"error": error}).encode()
    shown = {"b64_json": "Z2FyYmxlZA==" if "garble" in prompt else RED_DOT}
    data = [{"url": "https://elsewhere.example/picture.png"} if "link" in prompt else shown]
    usage = {
        "input_tokens": 11,
        "output_tokens": 272,
        "total_tokens": 283,
        "input_tokens_details": {"image_tokens": 0, "text_tokens": 11},
    }
    return 200, json.dumps({"created": 1, "data": data, "usage": usage}).encode()
