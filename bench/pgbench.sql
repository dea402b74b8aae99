\set auction random(1, :auctions)
\set bidder random(1, 10000)
WITH won AS (
  UPDATE auctions SET current_bid = current_bid + increment, bidder_id = :bidder, bid_count = bid_count + 1
  WHERE id = :auction AND ends_at > now() RETURNING id, bid_count, current_bid
), bid AS (
  INSERT INTO bids (auction_id, number, bidder_id, amount) SELECT id, bid_count, :bidder, current_bid FROM won
) INSERT INTO events (auction_id, type, payload)
  SELECT id, 'bid.placed', '{"auction":"k3X9mQ2vTa1_","bidder":"bidder-04711","amount":"' || current_bid ||
    '","number":' || bid_count || ',"at":"2026-01-01T12:00:00Z"}' FROM won;
