"""A bidding paddle over MQTT, on aiomqtt alone; docs/devices.md says what it relies on.

PADDLE_TOKEN=... python examples/paddle.py --name paddle-7 -- GID
Type `b 120.00` to bid that much, or `m 200.00` to let the house bid for you up to it. It ends when the auction does.
"""

import argparse, asyncio, json, os, random, re, secrets, ssl  # noqa: E401, I001  # the whole fits on a page
import aiomqtt
from paho.mqtt.properties import PacketTypes, Properties


class Paddle:
    def __init__(self, options):
        self.o, self.auction, self.me, self.hand = options, f"{options.prefix}auctions/{options.gid}", None, None
        self.lot, self.bids, self.answers = {"version": 0, "status": ""}, asyncio.Queue(), asyncio.Queue()

    def typed(self):
        text = os.read(0, 4096).decode() or asyncio.get_running_loop().remove_reader(0)
        who = {"token": os.environ["PADDLE_TOKEN"], "seenVersion": self.lot["version"] or None}
        for kind, money in re.findall(r"([bm]) +(\S+)", f"{text}"):
            self.bids.put_nowait({**who, "amount" if kind == "b" else "maximum": money})

    async def run(self):
        asyncio.get_running_loop().add_reader(0, self.typed)
        tls = ssl.create_default_context(cafile=self.o.ca_file) if self.o.ca_file else None
        settings = {"hostname": self.o.host, "port": self.o.port, "username": self.o.user, "tls_context": tls}
        settings |= {"password": os.environ.get("PADDLE_PASSWORD"), "protocol": aiomqtt.ProtocolVersion(4 + self.o.v5)}
        while self.lot["status"] not in ("closed", "cancelled"):
            try:
                async with aiomqtt.Client(**settings) as mqtt, asyncio.TaskGroup() as tasks:
                    await mqtt.subscribe(f"{self.auction}/state", 1)
                    bidding = tasks.create_task(self.bid(mqtt))
                    await self.listen(mqtt)
                    bidding.cancel()
            except* aiomqtt.MqttError as lost:
                print("NO CONNECTION:", *lost.exceptions)
                await asyncio.sleep(random.uniform(1, 3))

    async def listen(self, mqtt):
        while self.lot["status"] not in ("closed", "cancelled"):
            message = await anext(mqtt.messages)
            if message.topic.value == f"{self.auction}/state" and message.payload:
                self.show(json.loads(message.payload))
            elif self.hand and message.topic.value == f"{self.o.prefix}replies/{self.hand['id']}":
                self.answers.put_nowait(json.loads(message.payload))

    def show(self, lot):
        if lot["version"] > self.lot["version"]:  # an answer may be ahead of a state, and a state of an answer
            self.lot, bid = lot, f"{lot['currentBid']} by {lot['currentBidder']}" if lot["currentBid"] else "no bid yet"
            print(f"{lot['name']}: {bid}, next {lot['minimumBid'] or 'none'}, {lot['outcome'] or lot['status']}")
        if self.me not in (None, self.lot["currentBidder"]):
            self.me = print("OUTBID by", self.lot["currentBidder"])

    async def bid(self, mqtt):
        while self.lot["status"] not in ("closed", "cancelled"):  # one bid, one id, until it is answered
            self.hand = self.hand or {"id": f"{self.o.name}/{secrets.token_hex(8)}", **await self.bids.get()}
            answer_to, more = f"{self.o.prefix}replies/{self.hand['id']}", Properties(PacketTypes.PUBLISH)
            more.ResponseTopic, more.CorrelationData = answer_to, self.hand["id"].encode()
            await mqtt.subscribe(answer_to, 1)
            await mqtt.publish(f"{self.auction}/bids", json.dumps(self.hand), 1, properties=more if self.o.v5 else None)
            try:
                async with asyncio.timeout(5):
                    answer = await self.answers.get()
            except TimeoutError:  # lost on the way there or back
                answer = {"status": 503}
            if answer["status"] in (429, 500, 503):
                await asyncio.sleep(answer.get("retryAfter", 1) + random.random())
                continue
            self.hand = await mqtt.unsubscribe(answer_to)
            print("ANSWER", answer["status"], answer.get("message", "accepted"), *answer.get("changes", []))
            self.me = answer["auction"]["currentBidder"] if answer.get("leading") else self.me
            self.show(answer.get("auction", self.lot))


parser, texts = argparse.ArgumentParser(description=__doc__), {"name": "paddle", "prefix": "saleroom/"}
for flag, value in {"host": "127.0.0.1", "port": 1883, "user": None, "ca-file": None, **texts}.items():
    parser.add_argument(f"--{flag}", default=value, type=type(value or ""))
parser.add_argument("--v5", action="store_true")
parser.add_argument("gid")
asyncio.run(Paddle(parser.parse_args()).run())
