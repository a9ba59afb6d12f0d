-- Monitor new users
SELECT P.id, P.name, P.window_start AS starttime
FROM (
  SELECT id, name, window_start, window_end
  FROM TUMBLE(TABLE person, DESCRIPTOR(dateTime), INTERVAL '10' SECOND)
  GROUP BY id, name, window_start, window_end
) AS P
JOIN (
  SELECT seller, window_start, window_end
  FROM TUMBLE(TABLE auction, DESCRIPTOR(dateTime), INTERVAL '10' SECOND)
  GROUP BY seller, window_start, window_end
) AS A
ON P.id = A.seller AND P.window_start = A.window_start AND P.window_end = A.window_end;
