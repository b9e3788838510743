-- What somebody says of themselves; what is not said stays.
UPDATE users
   SET locale = CASE WHEN :says_locale THEN :locale ELSE locale END,
       time_zone = CASE WHEN :says_time_zone THEN :time_zone ELSE time_zone END
 WHERE id = :id
