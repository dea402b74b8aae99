"""A paddle for a live sale over MQTT, on aiomqtt alone: Enter bids the ask. docs/devices.md says what it relies on.

PADDLE_TOKEN=... python examples/evening_paddle.py --name paddle-7 -- SALE
It follows the sale from lot to lot, says whether its bid leads, and ends when the sale does.
"""

import argparse, asyncio, json, os, random, secrets, ssl  # noqa: E401, I001  # the whole fits on a page
import aiomqtt

OVER = ("closed", "cancelled")


class EveningPaddle:
    def __init__(self, options):
        self.o, self.sale, self.lot, self.me, self.hand = options, {"version": 0, "status": ""}, {}, None, None
        self.called, self.keys, self.answers, self.shown = None, asyncio.Event(), asyncio.Queue(), None

    def pressed(self):
        if not os.read(0, 4096):
            asyncio.get_running_loop().remove_reader(0)
        elif self.hand or self.sale["status"] == "paused" or not self.lot.get("stage"):
            print("NOT NOW:", "one bid at a time" if self.hand else self.sale["status"], self.lot.get("name", ""))
        else:  # the ask that the bidder sees, whatever it is when the bid arrives
            who = {"token": os.environ["PADDLE_TOKEN"], "id": f"{self.o.name}/{secrets.token_hex(8)}"}
            self.hand = (self.lot["gid"], {**who, "amount": self.lot["minimumBid"], "seenVersion": self.lot["version"]})
            self.keys.set()
            print("BID", self.lot["minimumBid"])

    async def run(self):
        asyncio.get_running_loop().add_reader(0, self.pressed)
        tls = ssl.create_default_context(cafile=self.o.ca_file) if self.o.ca_file else None
        settings = {"hostname": self.o.host, "port": self.o.port, "username": self.o.user, "tls_context": tls}
        while self.sale["status"] not in OVER:
            try:
                password = os.environ.get("PADDLE_PASSWORD")
                async with aiomqtt.Client(**settings, password=password) as mqtt, asyncio.TaskGroup() as tasks:
                    self.called = None  # a new session has no subscriptions; what is retained says what was missed
                    await mqtt.subscribe(f"{self.o.prefix}sales/{self.o.sale}/state", 1)
                    bidding = tasks.create_task(self.bid(mqtt))
                    await self.listen(mqtt)
                    bidding.cancel()
            except* aiomqtt.MqttError as lost:
                print("NO CONNECTION:", *lost.exceptions)
                await asyncio.sleep(random.uniform(1, 3))

    async def listen(self, mqtt):
        async for message in mqtt.messages:
            topic, found = message.topic.value.removeprefix(self.o.prefix), json.loads(message.payload or b"null")
            if topic == f"sales/{self.o.sale}/state" and found and found["version"] >= self.sale["version"]:
                if found["status"] != self.sale["status"]:
                    print(f"SALE {found['status']}: {found['title']}")
                self.sale = found
                if found["status"] in OVER:
                    return
                if found["called"] not in (None, self.called):  # follow this lot, and the one before no more
                    if self.called:
                        await mqtt.unsubscribe(f"{self.o.prefix}auctions/{self.called}/state")
                    self.called = found["called"]
                    await mqtt.subscribe(f"{self.o.prefix}auctions/{self.called}/state", 1)
            elif topic == f"auctions/{self.called}/state" and found:
                self.show(found)
            elif self.hand and topic == f"replies/{self.hand[1]['id']}":
                self.answers.put_nowait(found)

    def show(self, lot):
        if lot["gid"] != self.lot.get("gid"):
            self.lot, self.me, self.shown = {"version": 0}, None, None
        if lot["version"] > self.lot["version"]:  # an answer may be ahead of a state, and a state of an answer
            self.lot, stage = lot, lot["outcome"] or lot.get("stage") or "not on the block"
            if self.me not in (None, lot["currentBidder"]):
                self.me = print("OUTBID by", lot["currentBidder"])
            bid = f"{lot['currentBid']} by {lot['currentBidder']}" if lot["currentBid"] else "no bid yet"
            words = f"{lot['name']}: {bid}, ask {lot['minimumBid'] or 'none'}, {stage}"
            self.shown = words if words == self.shown else print(words) or words

    async def bid(self, mqtt):
        while True:  # one bid, one id, until it is answered; the same command again has no second effect
            if not self.hand:
                self.keys.clear()
                await self.keys.wait()
            gid, command = self.hand
            await mqtt.subscribe(f"{self.o.prefix}replies/{command['id']}", 1)
            await mqtt.publish(f"{self.o.prefix}auctions/{gid}/bids", json.dumps(command), 1)
            try:
                answer = await asyncio.wait_for(self.answers.get(), 5)
            except TimeoutError:  # lost on the way there or back
                continue
            if answer["status"] in (429, 500, 503):
                await asyncio.sleep(answer.get("retryAfter", 1) + random.random())
                continue
            self.hand = None
            more = {"ask_changed": "minimumBid", "beyond_limit": "left"}.get(answer.get("code"))
            print("ANSWER", answer["status"], answer.get("message", "sent"), *([more, answer[more]] if more else []))
            if answer.get("auction", {}).get("gid") == self.lot["gid"]:
                self.show(answer["auction"])
                self.me = self.lot["currentBidder"] if answer["leading"] else None
                print("YOU LEAD" if answer["leading"] else f"OUTBID by {self.lot['currentBidder']}")
            await mqtt.unsubscribe(f"{self.o.prefix}replies/{command['id']}")


parser, texts = argparse.ArgumentParser(description=__doc__), {"name": "paddle", "prefix": "saleroom/"}
for flag, value in {"host": "127.0.0.1", "port": 1883, "user": None, "ca-file": None, **texts}.items():
    parser.add_argument(f"--{flag}", default=value, type=type(value or ""))
parser.add_argument("sale")
asyncio.run(EveningPaddle(parser.parse_args()).run())
