"""The log to an MQTT broker, and requests from devices."""
