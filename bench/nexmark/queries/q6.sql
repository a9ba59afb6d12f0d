-- Average selling price by seller
-- The published order, completed, so that there is one answer.
SELECT Q.seller,
  avg(Q.price) OVER (PARTITION BY Q.seller ORDER BY Q.dateTime, Q.id ROWS BETWEEN 10 PRECEDING AND CURRENT ROW) AS average
FROM (
  SELECT A.id, A.seller, B.price, B.dateTime,
    row_number() OVER (PARTITION BY A.id, A.seller ORDER BY B.price DESC, B.dateTime) AS rank_number
  FROM auction AS A JOIN bid AS B ON A.id = B.auction
  WHERE B.dateTime BETWEEN A.dateTime AND A.expires
) AS Q
WHERE Q.rank_number <= 1;
