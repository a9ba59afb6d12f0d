-- Winning bids
SELECT id, itemName, description, initialBid, reserve, `dateTime`, expires, seller, category, extra,
  auction, bidder, price, bid_dateTime, bid_extra
FROM (
  SELECT A.*, B.auction, B.bidder, B.price, B.`dateTime` AS bid_dateTime, B.extra AS bid_extra,
    row_number() OVER (PARTITION BY A.id ORDER BY B.price DESC, B.`dateTime`) AS rank_number
  FROM auction AS A JOIN bid AS B ON A.id = B.auction
  WHERE B.`dateTime` BETWEEN A.`dateTime` AND A.expires
) AS Q
WHERE rank_number <= 1;
