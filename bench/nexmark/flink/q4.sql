-- Average price for a category
SELECT Q.category, avg(Q.`final`) AS average
FROM (
  SELECT max(B.price) AS `final`, A.category
  FROM auction AS A JOIN bid AS B ON A.id = B.auction
  WHERE B.`dateTime` BETWEEN A.`dateTime` AND A.expires
  GROUP BY A.id, A.category
) AS Q
GROUP BY Q.category;
