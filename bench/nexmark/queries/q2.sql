-- Selection
SELECT auction, price FROM bid WHERE mod(auction, 123) = 0;
