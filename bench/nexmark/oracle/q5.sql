-- Hot items
WITH counted AS (
  SELECT auction, count(*) AS num, window_start
  FROM (SELECT auction, time_bucket(INTERVAL 2 SECOND, dateTime) - to_seconds(2 * unnest(range(5))) AS window_start FROM bid)
  GROUP BY auction, window_start
)
SELECT auction, num FROM counted QUALIFY num = max(num) OVER (PARTITION BY window_start);
