-- Calculation
SELECT auction, bidder, CAST(0.908 AS decimal(4, 3)) * CAST(price AS decimal(20, 0)) AS price,
  CASE
    WHEN hour(dateTime) >= 8 AND hour(dateTime) <= 18 THEN 'dayTime'
    WHEN hour(dateTime) <= 6 OR hour(dateTime) >= 20 THEN 'nightTime'
    ELSE 'otherTime'
  END AS bidTimeType,
  dateTime, extra, length(extra) - length(replace(extra, 'c', '')) AS c_counts
FROM bid
WHERE CAST(0.908 AS decimal(4, 3)) * CAST(price AS decimal(20, 0)) > 1000000 AND CAST(0.908 AS decimal(4, 3)) * CAST(price AS decimal(20, 0)) < 50000000;
