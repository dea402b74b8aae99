// Prints what a browser reads of a message, by npm's http_ece.
// node decrypt.mjs FOLDER-OF-node_modules PRIVATE-KEY AUTH MESSAGE (in base64url; the key is the number of a P-256 key)
import { createECDH } from "node:crypto";
import { createRequire } from "node:module";

const [folder, key, auth, message] = process.argv.slice(2);
const ece = createRequire(`${folder}/`)("http_ece");
const privateKey = createECDH("prime256v1");
privateKey.setPrivateKey(Buffer.from(key, "base64url"));
const plain = ece.decrypt(Buffer.from(message, "base64url"), { version: "aes128gcm", privateKey, authSecret: auth });
process.stdout.write(plain);
