import { createSdk, post } from "samekey";
import { sqliteStore } from "samekey/stores/sqlite";
import { scenario } from "./scenario.mjs";

await scenario({ createSdk, post, sqliteStore });
console.log(`import: ok on ${process.version}`);
