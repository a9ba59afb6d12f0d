-- Processing time windows
-- The windows are those of the clock. What they count together is the same in each run.
SELECT bidder, count(*) AS bid_count FROM bid GROUP BY bidder;
