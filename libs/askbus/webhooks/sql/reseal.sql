-- The same secrets under another key, unless somebody has made new ones meanwhile.
UPDATE webhooks SET secret = :secret, old_secret = :old_secret
 WHERE id = :id AND secret = :from_secret AND old_secret IS NOT DISTINCT FROM :from_old_secret
