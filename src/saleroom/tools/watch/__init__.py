"""`saleroom watch`: a sale as it happens, in a terminal; over HTTP or MQTT, from outside the house."""
