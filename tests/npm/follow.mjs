// Follows a stream with npm's eventsource, and prints `open`, then the id and the type of each event, one on a line.
// node follow.mjs FOLDER-OF-node_modules ADDRESS
import { createRequire } from "node:module";

const [folder, address] = process.argv.slice(2);
const { EventSource } = createRequire(`${folder}/`)("eventsource");
const source = new EventSource(address);
source.onopen = () => console.log("open");
source.onmessage = (message) => console.log(message.lastEventId, JSON.parse(message.data).type);
