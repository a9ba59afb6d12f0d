-- Bounded side input join
-- The published one looks the side table up as of processing time, which Flink's files source cannot; this joins the same rows.
SELECT B.auction, B.bidder, B.price, B.`dateTime`, S.`value`
FROM bid AS B JOIN side_input AS S ON mod(B.auction, 10000) = S.`key`;
