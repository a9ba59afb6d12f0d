-- Find last bid
-- Ties as headrace settles them: by all columns, ascending.
SELECT auction, bidder, price, channel, url, dateTime, extra
FROM (
  SELECT *, row_number() OVER (PARTITION BY bidder, auction ORDER BY dateTime DESC, price, channel, url, extra) AS rank_number FROM bid
) AS Q
WHERE rank_number <= 1;
