-- Highest bid
SELECT B.auction, B.bidder, B.price, B.`dateTime`, B.extra
FROM bid AS B
JOIN (
  SELECT max(price) AS maxprice, window_end
  FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))
  GROUP BY window_start, window_end
) AS B1
ON B.price = B1.maxprice
WHERE B.`dateTime` BETWEEN B1.window_end - INTERVAL '10' SECOND AND B1.window_end;
