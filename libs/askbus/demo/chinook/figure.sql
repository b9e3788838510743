-- What the three largest invoices come to.
SELECT sum(total) FROM (SELECT total FROM invoice ORDER BY total DESC LIMIT 3) AS largest
