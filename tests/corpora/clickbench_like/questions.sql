-- 1
SELECT COUNT(*) FROM hits;
-- 2
SELECT COUNT(*) FROM hits WHERE AdvEngineID <> 0;
-- 3
SELECT SUM(AdvEngineID), COUNT(*), AVG(ResolutionWidth) FROM hits;
-- 4
SELECT AVG(CAST(ResolutionWidth AS DOUBLE)) FROM hits;
-- 5
SELECT COUNT(DISTINCT UserID) FROM hits;
-- 6
SELECT COUNT(DISTINCT SearchPhrase) FROM hits;
-- 7
SELECT MIN(EventDate), MAX(EventDate) FROM hits;
-- 8
SELECT AdvEngineID, COUNT(*) FROM hits WHERE AdvEngineID <> 0 GROUP BY AdvEngineID ORDER BY COUNT(*) DESC;
-- 9
SELECT RegionID, COUNT(DISTINCT UserID) AS u FROM hits GROUP BY RegionID ORDER BY u DESC LIMIT 10;
-- 10
SELECT RegionID, SUM(AdvEngineID), COUNT(*) AS c, AVG(ResolutionWidth), COUNT(DISTINCT UserID) FROM hits
GROUP BY RegionID ORDER BY c DESC LIMIT 10;
-- 11
SELECT MobilePhoneModel, COUNT(DISTINCT UserID) AS u FROM hits WHERE MobilePhoneModel <> '' GROUP BY MobilePhoneModel
ORDER BY u DESC LIMIT 10;
-- 12
SELECT MobilePhone, MobilePhoneModel, COUNT(DISTINCT UserID) AS u FROM hits WHERE MobilePhoneModel <> ''
GROUP BY MobilePhone, MobilePhoneModel ORDER BY u DESC LIMIT 10;
-- 13
SELECT SearchPhrase, COUNT(*) AS c FROM hits WHERE SearchPhrase <> '' GROUP BY SearchPhrase ORDER BY c DESC LIMIT 10;
-- 14
SELECT SearchPhrase, COUNT(DISTINCT UserID) AS u FROM hits WHERE SearchPhrase <> '' GROUP BY SearchPhrase
ORDER BY u DESC LIMIT 10;
-- 15
SELECT SearchEngineID, SearchPhrase, COUNT(*) AS c FROM hits WHERE SearchPhrase <> ''
GROUP BY SearchEngineID, SearchPhrase ORDER BY c DESC LIMIT 10;
-- 16: refused, one group for each user
SELECT UserID, COUNT(*) FROM hits GROUP BY UserID ORDER BY COUNT(*) DESC LIMIT 10;
-- 17: refused, one group for each user
SELECT UserID, SearchPhrase, COUNT(*) FROM hits GROUP BY UserID, SearchPhrase ORDER BY COUNT(*) DESC LIMIT 10;
-- 18: refused, one group for each user
SELECT UserID, SearchPhrase, COUNT(*) FROM hits GROUP BY UserID, SearchPhrase LIMIT 10;
-- 19: refused, one group for each user
SELECT UserID, EXTRACT(minute FROM EventTime) AS m, SearchPhrase, COUNT(*) FROM hits
GROUP BY UserID, m, SearchPhrase ORDER BY COUNT(*) DESC LIMIT 10;
-- 20: refused, returns rows
SELECT UserID FROM hits WHERE UserID = 435;
-- 21
SELECT COUNT(*) FROM hits WHERE URL LIKE '%google%';
-- 22: refused, a value of one row
SELECT SearchPhrase, MIN(URL), COUNT(*) AS c FROM hits WHERE URL LIKE '%google%' AND SearchPhrase <> ''
GROUP BY SearchPhrase ORDER BY c DESC LIMIT 10;
-- 23: refused, a value of one row
SELECT SearchPhrase, MIN(URL), MIN(Title), COUNT(*) AS c, COUNT(DISTINCT UserID) FROM hits
WHERE Title LIKE '%Google%' AND URL NOT LIKE '%.google.%' AND SearchPhrase <> ''
GROUP BY SearchPhrase ORDER BY c DESC LIMIT 10;
-- 24: refused, returns rows
SELECT * FROM hits WHERE URL LIKE '%google%' ORDER BY EventTime LIMIT 10;
-- 25: refused, returns rows
SELECT SearchPhrase FROM hits WHERE SearchPhrase <> '' ORDER BY EventTime LIMIT 10;
-- 26: refused, returns rows
SELECT SearchPhrase FROM hits WHERE SearchPhrase <> '' ORDER BY SearchPhrase LIMIT 10;
-- 27: refused, returns rows
SELECT SearchPhrase FROM hits WHERE SearchPhrase <> '' ORDER BY EventTime, SearchPhrase LIMIT 10;
-- 28
SELECT CounterID, AVG(LEAST(LENGTH(URL), 100)) AS l, COUNT(*) AS c FROM hits WHERE URL <> '' GROUP BY CounterID
HAVING COUNT(*) > 10 ORDER BY l DESC LIMIT 25;
-- 29
SELECT SPLIT_PART(Referer, '/', 3) AS k, AVG(LENGTH(LEFT(Referer, 50))) AS l, COUNT(*) AS c FROM hits
WHERE Referer <> '' GROUP BY k HAVING COUNT(*) > 10 ORDER BY l DESC LIMIT 25;
-- 30
SELECT SUM(ResolutionWidth), SUM(ResolutionWidth + 1), SUM(ResolutionWidth + 2), SUM(ResolutionWidth + 3),
       SUM(ResolutionWidth + 4), SUM(ResolutionWidth + 5) FROM hits;
-- 31
SELECT SearchEngineID, ClientIP, COUNT(*) AS c, SUM(IsRefresh), AVG(ResolutionWidth) FROM hits
WHERE SearchPhrase <> '' GROUP BY SearchEngineID, ClientIP ORDER BY c DESC LIMIT 10;
-- 32
SELECT ClientIP % 10 AS last, COUNT(*) AS c, SUM(IsRefresh), AVG(ResolutionWidth) FROM hits
WHERE SearchPhrase <> '' GROUP BY last ORDER BY c DESC LIMIT 10;
-- 33
SELECT ClientIP, COUNT(*) AS c, SUM(IsRefresh), AVG(ResolutionWidth) FROM hits GROUP BY ClientIP
ORDER BY c DESC LIMIT 10;
-- 34
SELECT URL, COUNT(*) AS c FROM hits GROUP BY URL ORDER BY c DESC LIMIT 10;
-- 35
SELECT 1 AS one, URL, COUNT(*) AS c FROM hits GROUP BY URL ORDER BY c DESC LIMIT 10;
-- 36
SELECT ClientIP, ClientIP - 1 AS a, ClientIP - 2 AS b, ClientIP - 3 AS d, COUNT(*) AS c FROM hits
GROUP BY ClientIP, ClientIP - 1, ClientIP - 2, ClientIP - 3 ORDER BY c DESC LIMIT 10;
-- 37
SELECT URL, COUNT(*) AS PageViews FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-01'
  AND EventDate <= '2013-07-31' AND DontCountHits = 0 AND IsRefresh = 0 AND URL <> ''
GROUP BY URL ORDER BY PageViews DESC LIMIT 10;
-- 38
SELECT Title, COUNT(*) AS PageViews FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-01'
  AND EventDate <= '2013-07-31' AND DontCountHits = 0 AND IsRefresh = 0 AND Title <> ''
GROUP BY Title ORDER BY PageViews DESC LIMIT 10;
-- 39
SELECT URL, COUNT(*) AS PageViews FROM hits WHERE CounterID = 62 AND IsRefresh = 0 AND IsLink <> 0 AND IsDownload = 0
GROUP BY URL ORDER BY PageViews DESC LIMIT 2 OFFSET 1;
-- 40
SELECT TraficSourceID, SearchEngineID, AdvEngineID,
       CASE WHEN SearchEngineID = 0 AND AdvEngineID = 0 THEN 'direct' ELSE 'other' END AS Src, COUNT(*) AS PageViews
FROM hits WHERE CounterID = 62 AND IsRefresh = 0 GROUP BY TraficSourceID, SearchEngineID, AdvEngineID, Src
ORDER BY PageViews DESC LIMIT 10 OFFSET 5;
-- 41
SELECT TraficSourceID, EventDate, COUNT(*) AS PageViews FROM hits WHERE CounterID = 62 AND IsRefresh = 0
  AND TraficSourceID IN (-1, 6) GROUP BY TraficSourceID, EventDate ORDER BY PageViews DESC LIMIT 10 OFFSET 2;
-- 42
SELECT WindowWidth, ResolutionWidth // 100 AS hundreds, COUNT(*) AS PageViews FROM hits WHERE CounterID = 62
GROUP BY WindowWidth, hundreds ORDER BY PageViews DESC LIMIT 10 OFFSET 10;
-- 43
SELECT DATE_TRUNC('hour', EventTime) AS M, COUNT(*) AS PageViews FROM hits
WHERE CounterID = 62 AND EventDate >= '2013-07-14' AND EventDate <= '2013-07-15' AND IsRefresh = 0
GROUP BY DATE_TRUNC('hour', EventTime) ORDER BY M LIMIT 10 OFFSET 3;
