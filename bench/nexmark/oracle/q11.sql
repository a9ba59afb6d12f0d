-- User sessions
WITH marked AS (
  SELECT bidder, dateTime, dateTime - lag(dateTime) OVER (PARTITION BY bidder ORDER BY dateTime) > INTERVAL 10 SECOND AS begins FROM bid
), numbered AS (
  SELECT bidder, dateTime, count(*) FILTER (WHERE begins) OVER (PARTITION BY bidder ORDER BY dateTime) AS session FROM marked
)
SELECT bidder, count(*) AS bid_count, min(dateTime) AS starttime, max(dateTime) + INTERVAL 10 SECOND AS endtime
FROM numbered
GROUP BY bidder, session;
