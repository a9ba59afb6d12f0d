-- Auction top-10 price
-- Ties as headrace settles them: by all columns, ascending.
SELECT *
FROM (
  SELECT *, row_number() OVER (PARTITION BY auction ORDER BY price DESC, bidder, channel, url, dateTime, extra) AS rank_number FROM bid
) AS Q
WHERE rank_number <= 10;
