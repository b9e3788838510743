"""What the documents say of states and settings is what the code says."""

import pytest
from tests.docs.render import DOCUMENTS, ROOT


@pytest.mark.parametrize("path", DOCUMENTS)
def test_a_generated_document_is_up_to_date(path: str) -> None:
    """`python -m tests.docs.render` makes it so."""
    assert (ROOT / path).read_text("utf-8") == DOCUMENTS[path]()
