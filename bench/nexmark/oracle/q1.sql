-- Currency conversion
SELECT auction, bidder, CAST(0.908 AS decimal(4, 3)) * CAST(price AS decimal(20, 0)) AS price, dateTime, extra FROM bid;
