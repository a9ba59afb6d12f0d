-- Average selling price by seller
-- Flink cannot run it: its OVER aggregates take no rows that are taken away.
SELECT Q.seller,
  avg(Q.price) OVER (PARTITION BY Q.seller ORDER BY Q.`dateTime` ROWS BETWEEN 10 PRECEDING AND CURRENT ROW) AS average
FROM (
  SELECT A.id, A.seller, B.price, B.`dateTime`,
    row_number() OVER (PARTITION BY A.id, A.seller ORDER BY B.price DESC, B.`dateTime`) AS rank_number
  FROM auction AS A JOIN bid AS B ON A.id = B.auction
  WHERE B.`dateTime` BETWEEN A.`dateTime` AND A.expires
) AS Q
WHERE Q.rank_number <= 1;
