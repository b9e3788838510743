-- The W3C trace contexts in which this entity, or what belongs to it, came to be and was moved.
SELECT trace FROM change_log WHERE (entity_id = :id OR parent_id = :id) AND trace IS NOT NULL
UNION SELECT trace FROM questions WHERE id = :id AND trace IS NOT NULL
UNION SELECT trace FROM turns WHERE id = :id AND trace IS NOT NULL
UNION SELECT trace FROM actions WHERE id = :id AND trace IS NOT NULL
