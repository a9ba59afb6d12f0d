-- Get URL directories
SELECT auction, bidder, price, channel, split_index(url, '/', 3) AS dir1, split_index(url, '/', 4) AS dir2, split_index(url, '/', 5) AS dir3
FROM bid;
