-- What the three largest shipped orders come to, from their lines: another way to the figure than the one askbus takes.
SELECT sum(amount)
  FROM (SELECT sum(l.amount) AS amount
          FROM orders o
          JOIN order_lines l ON l.order_id = o.id
         WHERE o.state = 'shipped'
         GROUP BY o.id
         ORDER BY amount DESC
         LIMIT 3) AS largest
