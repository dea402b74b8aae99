// Prints what redocly (recommended-strict) and spectral find in each document, as JSON: its name to a list of lines.
// node lint.mjs FOLDER-OF-node_modules DOCUMENT...
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [folder, ...documents] = process.argv.slice(2);
const require = createRequire(`${folder}/`);
const { createConfig, lintFromString } = require("@redocly/openapi-core");
const { Document, Spectral } = require("@stoplight/spectral-core");
const { Json } = require("@stoplight/spectral-parsers");
const { asyncapi, oas } = require("@stoplight/spectral-rulesets");

// In AsyncAPI the servers say what account they ask for; a stream, or the broker in the house, asks for none.
const config = await createConfig({ extends: ["recommended-strict"], async3Rules: { "security-defined": "off" } });
const spectral = new Spectral();
// 3.0 is the newest version of AsyncAPI that other tools read; and a house knows no mail address of those who run it.
const rules = { "asyncapi-latest-version": "off", "asyncapi-info-contact-properties": "off" };
spectral.setRuleset({ extends: [oas, asyncapi], rules });
const all = {};
for (const name of documents) {
  const found = (all[name] = []);
  const source = readFileSync(name, "utf8");
  for (const one of await lintFromString({ source, absoluteRef: name, config })) {
    found.push(`redocly ${one.ruleId} ${one.location[0]?.pointer}: ${one.message}`);
  }
  for (const one of await spectral.run(new Document(source, Json, name))) {
    found.push(`spectral ${one.code} ${one.path.join("/")}: ${one.message}`);
  }
}
process.stdout.write(JSON.stringify(all));
